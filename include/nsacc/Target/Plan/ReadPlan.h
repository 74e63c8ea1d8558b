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
  /// The reader's name in messages: "the CPU target".
  llvm::StringRef target;
  /// The most dimensions of a buffer; none: any number.
  std::optional<int64_t> maxRank = {};
  /// Names of dimensions, and sizes to check; may be null.
  const Signature *signature = nullptr;
};

struct KernelPlan {
  /// The plan's arguments: inputs, then results.
  std::vector<rt::Parameter> parameters;
  rt::Plan plan;
};

/// Reads a plan. Ops that the target can't run are reported as diagnostics.
/// Launches are in the order of their ops, without the GPU's fields.
mlir::FailureOr<KernelPlan> readPlan(nsatile::PlanOp plan,
                                     const PlanOptions &options);

/// The assertions of a lowered module's programs, as convert-nsatile-to-vector
/// numbers them.
std::vector<rt::Assertion> readAssertions(mlir::ModuleOp module);

} // namespace nsacc

#endif // NSACC_TARGET_PLAN_READPLAN_H
