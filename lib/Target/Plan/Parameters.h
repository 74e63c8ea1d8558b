//===- Parameters.h - A plan's inputs and results ---------------*- C++ -*-===//

#ifndef NSACC_LIB_TARGET_PLAN_PARAMETERS_H
#define NSACC_LIB_TARGET_PLAN_PARAMETERS_H

#include "PlanNumbers.h"
#include "nsacc/Target/Plan/ReadPlan.h"

namespace nsacc {

std::optional<DType> getDType(mlir::Type type);

/// Fails if the target has no buffers with as many dimensions as `tensor`.
mlir::LogicalResult checkRank(mlir::Value buffer, const llvm::Twine &tensor,
                              const PlanOptions &options);

/// The plan's arguments as inputs and results.
mlir::FailureOr<std::vector<rt::Parameter>>
readParameters(nsatile::PlanOp plan, const PlanOptions &options);

/// Checks of sizes that follow from others, as the number of blocks of so many
/// tokens.
std::vector<rt::Check> makeChecks(const Signature &signature,
                                  llvm::ArrayRef<rt::Parameter> parameters,
                                  PlanNumbers &numbers);

} // namespace nsacc

#endif // NSACC_LIB_TARGET_PLAN_PARAMETERS_H
