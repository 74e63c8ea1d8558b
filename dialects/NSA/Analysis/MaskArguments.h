//===- MaskArguments.h - Arguments of a mask region -------------*- C++ -*-===//

#ifndef NSACC_NSA_ANALYSIS_MASKARGUMENTS_H
#define NSACC_NSA_ANALYSIS_MASKARGUMENTS_H

namespace nsacc::nsa {

/// The arguments by their meaning, in order.
enum MaskArgument { kBatchRow, kHead, kQueryRow, kPosition, kKey };

} // namespace nsacc::nsa

#endif // NSACC_NSA_ANALYSIS_MASKARGUMENTS_H
