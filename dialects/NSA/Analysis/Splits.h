//===- Splits.h - Dimensions that a kernel can be split along ---*- C++ -*-===//

#ifndef NSA_ANALYSIS_SPLITS_H
#define NSA_ANALYSIS_SPLITS_H

#include "NSA/IR/NSAOps.h"

namespace nsacc::nsa {

/// Names of dimensions that have to be cut together, as query heads and key
/// heads.
using Split = llvm::SmallVector<llvm::StringRef, 2>;

/// The sets of dimensions along which a kernel can be split. Divide each input
/// that has a dimension of the set into p equal parts, and keep the other
/// inputs whole: then the n-th parts give the n-th part of each result that has
/// a dimension of the set, and all of the other results. Batch and heads are
/// such dimensions if no op mixes them, and if scalar code uses their indices
/// and sizes only to read tables that are cut in the same way.
llvm::SmallVector<Split> findSplits(KernelOp kernel);

} // namespace nsacc::nsa

#endif // NSA_ANALYSIS_SPLITS_H
