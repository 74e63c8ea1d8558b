//===- PackageParameters.h - What a package says of tensors -----*- C++ -*-===//

#ifndef NSACC_LIB_TARGET_CUDA_PACKAGEPARAMETERS_H
#define NSACC_LIB_TARGET_CUDA_PACKAGEPARAMETERS_H

#include "PlanNumbers.h"
#include "nsacc/Runtime/Signature.h"

namespace nsacc::cuda {

std::optional<rt::DType> getDType(mlir::Type type);

/// The plan's arguments as inputs and results. The signature, which may be
/// null, has the names of dimensions.
mlir::FailureOr<std::vector<rt::Parameter>>
readParameters(nsatile::PlanOp plan, const Signature *signature);

/// Sizes that follow from others, as the number of blocks of so many tokens.
std::vector<rt::Check> makeChecks(const Signature &signature,
                                  llvm::ArrayRef<rt::Parameter> parameters,
                                  PlanNumbers &numbers);

} // namespace nsacc::cuda

#endif // NSACC_LIB_TARGET_CUDA_PACKAGEPARAMETERS_H
