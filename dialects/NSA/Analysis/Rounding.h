//===- Rounding.h - What results keep of values -----------------*- C++ -*-===//

#ifndef NSACC_NSA_ANALYSIS_ROUNDING_H
#define NSACC_NSA_ANALYSIS_ROUNDING_H

#include "NSA/IR/NSAOps.h"

namespace nsacc::nsa {

/// Whether values are bf16, and all that is made of the output is rounded to
/// bf16: 11 bits of an element are enough for what others read of it.
bool isRoundedToBF16(AttendOp op);

} // namespace nsacc::nsa

#endif // NSACC_NSA_ANALYSIS_ROUNDING_H
