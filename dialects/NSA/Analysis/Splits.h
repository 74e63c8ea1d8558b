//===- Splits.h - Dimensions that are computed apart ------------*- C++ -*-===//

#ifndef NSA_ANALYSIS_SPLITS_H
#define NSA_ANALYSIS_SPLITS_H

#include "NSA/IR/NSAOps.h"

namespace nsacc::nsa {

/// Names of dimensions that a kernel may be cut along together, as its query
/// heads and key heads.
using Split = llvm::SmallVector<llvm::StringRef, 2>;

/// The sets of dimensions that a kernel computes apart: called with the n-th of
/// p equal parts of all inputs that have a dimension of the set, and the whole
/// of all others, it gives the n-th part of each result that has one, and the
/// whole of all others. Batch and heads are such dimensions where nothing mixes
/// them, and no scalar code depends on which of them, or of how many, it is at,
/// but in tables that are cut alike.
llvm::SmallVector<Split> findSplits(KernelOp kernel);

} // namespace nsacc::nsa

#endif // NSA_ANALYSIS_SPLITS_H
