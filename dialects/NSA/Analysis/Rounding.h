//===- Rounding.h - What results keep of values -----------------*- C++ -*-===//

#ifndef NSACC_NSA_ANALYSIS_ROUNDING_H
#define NSACC_NSA_ANALYSIS_ROUNDING_H

#include "NSA/IR/NSAOps.h"

namespace nsacc::nsa {

/// Whether values are bf16, and all that is made of the output are sums of it,
/// times numbers that a row's elements share, which are rounded to bf16. Then
/// 11 bits of an element are enough for what others read of it, and none of one
/// that is 2^-39 of its row's greatest. What had a factor for each channel
/// could make that one the greatest.
bool isRoundedToBF16(AttendOp op);

} // namespace nsacc::nsa

#endif // NSACC_NSA_ANALYSIS_ROUNDING_H
