//===- CompileToPTX.h - Tile programs as PTX --------------------*- C++ -*-===//

#ifndef NSACC_LIB_TARGET_CUDA_COMPILETOPTX_H
#define NSACC_LIB_TARGET_CUDA_COMPILETOPTX_H

#include "nsacc/Target/CUDA/CUDA.h"
#include "nsacc/Target/Parts/ModuleParts.h"

namespace nsacc::cuda {

/// Lowers a module after phase `tile` to LLVM IR with a kernel for each
/// program. Other information for a package stays in the module: plans,
/// `nsatile.kernel` on each program, and `nsacc.assertions` on the module, as
/// in convert-nsatile-to-vector.
llvm::Expected<ModuleParts> lowerToLLVM(mlir::ModuleOp module,
                                        const Options &options);

struct PTX {
  std::string text;
  size_t longestRun; ///< in instructions of LLVM without effects
};

/// Compiles some of its kernels to PTX. Any thread may call it.
llvm::Expected<PTX> compileToPTX(const ModuleParts &code,
                                 llvm::ArrayRef<std::string> kernels,
                                 const gpu::Device &device);

} // namespace nsacc::cuda

#endif // NSACC_LIB_TARGET_CUDA_COMPILETOPTX_H
