//===- Memory.h - Memory check for a run's tensors --------------*- C++ -*-===//

#ifndef NSACC_TENSOR_MEMORY_H
#define NSACC_TENSOR_MEMORY_H

#include "nsacc/Tensor/Signature.h"

namespace nsacc {

/// Fails if inputs and results take more than the machine's memory: the system
/// would kill the process without a message.
llvm::Error checkMemory(const Signature &signature, const DimSizes &sizes);

} // namespace nsacc

#endif // NSACC_TENSOR_MEMORY_H
