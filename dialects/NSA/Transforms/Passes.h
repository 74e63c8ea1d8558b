//===- Passes.h - Passes over the nsa dialect -------------------*- C++ -*-===//

#ifndef NSACC_NSA_TRANSFORMS_PASSES_H
#define NSACC_NSA_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace nsacc::nsa {

/// Attribute of a kernel: the sizes it is specialized for, by dimension.
constexpr llvm::StringLiteral kSizesAttrName = "nsa.sizes";

class KernelOp;

/// Names of the dimensions whose sizes compiled programs rely on: heads and
/// channels, which come after tokens in the kernel's tensors.
llvm::SmallVector<llvm::StringRef> getSpecializedDims(KernelOp kernel);

#define GEN_PASS_DECL
#include "NSA/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "NSA/Transforms/Passes.h.inc"

} // namespace nsacc::nsa

#endif // NSACC_NSA_TRANSFORMS_PASSES_H
