//===- ResultSlices.h - Results that stand in memory in parts ---*- C++ -*-===//

#ifndef NSACC_SCHEDULE_RESULTSLICES_H
#define NSACC_SCHEDULE_RESULTSLICES_H

#include "nsacc/Schedule/QueryShape.h"

namespace nsacc::schedule {

/// Attentions with programs of their own whose readers need a token's results
/// for that token alone. A call is computed in slices of batch rows and tokens:
/// the results of one stand in memory at a time, and everything that is
/// computed from them is computed before the next one's.
struct ResultSlices {
  /// In the kernel's order, all of the same batch rows and tokens.
  llvm::SmallVector<nsa::AttendOp> attends;
  /// Null where there are no attentions.
  QueryDims dims;
  /// Their results, and all that is computed from these.
  llvm::DenseSet<mlir::Value> values;
};

/// The part of a schedule that tells what can be cut.
struct ProgramUses {
  /// Whether the op has a program of its own.
  llvm::function_ref<bool(mlir::Operation *)> isOwn;
  /// Whether programs have a tile of keys each, and walk queries.
  llvm::function_ref<bool(nsa::AttendOp)> isKeyMajor;
};

ResultSlices findResultSlices(nsa::KernelOp kernel, const ProgramUses &uses);

} // namespace nsacc::schedule

#endif // NSACC_SCHEDULE_RESULTSLICES_H
