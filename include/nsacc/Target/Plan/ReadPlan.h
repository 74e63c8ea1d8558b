//===- ReadPlan.h - From a plan's ops to data -------------------*- C++ -*-===//

#ifndef NSACC_TARGET_PLAN_READPLAN_H
#define NSACC_TARGET_PLAN_READPLAN_H

#include "mlir/IR/BuiltinOps.h"
#include "nsacc/RT/Plan.h"
#include "nsacc/Tensor/Signature.h"

namespace nsacc::nsatile {
class PlanOp;
} // namespace nsacc::nsatile

namespace nsacc {

struct PlanOptions {
  /// Who can't run what isn't read: "the CPU target".
  llvm::StringRef target;
  /// Dimensions of a buffer at most; none: any number.
  std::optional<int64_t> maxRank = {};
  /// Names of dimensions, and sizes to check; may be null.
  const Signature *signature = nullptr;
};

struct KernelPlan {
  /// The plan's arguments: inputs, then results.
  std::vector<rt::Parameter> parameters;
  rt::Plan plan;
};

/// Reads a plan. What the target can't run is told by diagnostics. Launches
/// stand in the order of their ops, without what is of a GPU.
mlir::FailureOr<KernelPlan> readPlan(nsatile::PlanOp plan,
                                     const PlanOptions &options);

/// What the programs of a lowered module can fail for, as
/// convert-nsatile-to-vector numbers it.
std::vector<rt::Assertion> readAssertions(mlir::ModuleOp module);

} // namespace nsacc

#endif // NSACC_TARGET_PLAN_READPLAN_H
