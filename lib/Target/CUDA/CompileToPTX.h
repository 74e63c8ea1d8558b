//===- CompileToPTX.h - Tile programs as PTX --------------------*- C++ -*-===//

#ifndef NSACC_LIB_TARGET_CUDA_COMPILETOPTX_H
#define NSACC_LIB_TARGET_CUDA_COMPILETOPTX_H

#include "nsacc/Target/CUDA/CUDA.h"
#include "nsacc/Target/Parts/ModuleParts.h"

namespace nsacc::cuda {

/// Lowers a module behind phase `tile` to LLVM IR with a kernel for each
/// program. What a package needs to know beside it stays in the module: plans,
/// on each program `nsatile.kernel`, and `nsacc.assertions` on the module, as
/// convert-nsatile-to-vector has it.
llvm::Expected<ModuleParts> lowerToLLVM(mlir::ModuleOp module,
                                        const Options &options);

struct PTX {
  std::string text;
  size_t longestRun; ///< of instructions of LLVM without effects
};

/// Some of its kernels as PTX. Any thread may call it.
llvm::Expected<PTX> compileToPTX(const ModuleParts &code,
                                 llvm::ArrayRef<std::string> kernels,
                                 const gpu::Device &device);

} // namespace nsacc::cuda

#endif // NSACC_LIB_TARGET_CUDA_COMPILETOPTX_H
