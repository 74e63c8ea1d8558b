//===- ResultSlices.h - Results that stand in memory in parts ---*- C++ -*-===//

#ifndef NSACC_SCHEDULE_RESULTSLICES_H
#define NSACC_SCHEDULE_RESULTSLICES_H

#include "nsacc/Schedule/QueryShape.h"

namespace nsacc::schedule {

/// Attentions that have their own programs, if readers need only the results of
/// their own token. A call is computed in slices of batch rows and tokens: one
/// slice's results stand in memory at a time, and everything that needs them is
/// computed before the next slice.
struct ResultSlices {
  /// Attentions in the kernel's order, all over the same batch rows and tokens.
  llvm::SmallVector<nsa::ScoringOpInterface> attends;
  /// Null where there are no attentions.
  QueryDims dims;
  /// Results of the attentions, and all values computed from them.
  llvm::DenseSet<mlir::Value> values;
  /// Whether no results are cut because a program merges states of lists
  /// (`key_major` of a selection), which have slices of their own.
  bool areListsMerged = false;
};

/// Part of a schedule that decides which results can be cut.
struct ProgramUses {
  /// Whether the op has its own program.
  llvm::function_ref<bool(mlir::Operation *)> isOwn;
  /// Whether each program of an attention has a tile of keys and walks queries.
  llvm::function_ref<bool(nsa::ScoringOpInterface)> isKeyMajor;
};

ResultSlices findResultSlices(nsa::KernelOp kernel, const ProgramUses &uses);

} // namespace nsacc::schedule

#endif // NSACC_SCHEDULE_RESULTSLICES_H
