//===- Rounding.h - Precision that results need -----------------*- C++ -*-===//

#ifndef NSACC_NSA_ANALYSIS_ROUNDING_H
#define NSACC_NSA_ANALYSIS_ROUNDING_H

#include "NSA/IR/NSAOps.h"

namespace nsacc::nsa {

/// Whether values are bf16, and everything computed from the output consists of
/// sums of it, times numbers that a row's elements share, rounded to bf16. Then
/// 11 bits of an element are enough for readers of the results, and elements
/// below 2^-39 of their row's greatest may be 0. With a factor for each
/// channel, such an element could become the greatest.
bool isRoundedToBF16(ScoringOpInterface op);

} // namespace nsacc::nsa

#endif // NSACC_NSA_ANALYSIS_ROUNDING_H
