//===- Targets.h - The programs of each target ------------------*- C++ -*-===//

#ifndef NSACC_LIB_DRIVER_TARGETS_H
#define NSACC_LIB_DRIVER_TARGETS_H

#include "ModuleImage.h"
#include "nsacc/Driver/CompiledProgram.h"
#include "nsacc/Target/CUDA/CUDA.h"
#include <chrono>

namespace nsacc {

llvm::Expected<std::unique_ptr<CompiledProgram>>
createOracleProgram(const ModuleImage &image, std::vector<Signature> signatures,
                    const CompileOptions &options);

llvm::Expected<std::unique_ptr<CompiledProgram>>
createCPUProgram(mlir::ModuleOp module, ModuleImage image,
                 std::vector<Signature> signatures,
                 const CompileOptions &options);

/// Starts to compile for a GPU, as cuda::Compilation::start does.
using CompilationStarter =
    std::function<llvm::Expected<std::unique_ptr<cuda::Compilation>>(
        mlir::ModuleOp, const cuda::Options &, CompilerThreads &)>;

llvm::Expected<std::unique_ptr<CompiledProgram>>
createCUDAProgram(mlir::ModuleOp module, ModuleImage image,
                  std::vector<Signature> signatures,
                  const CompileOptions &options,
                  CompilationStarter starter = cuda::Compilation::start);

inline double getSecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

/// Fails if a run asks for options that only the oracle has. `what` lacks them:
/// "target 'cpu'".
llvm::Error refuseOracleOptions(const RunOptions &options,
                                const llvm::Twine &what);

inline bool hasNoElements(const Tensor &tensor) {
  return tensor.getNumElements() == 0;
}

} // namespace nsacc

#endif // NSACC_LIB_DRIVER_TARGETS_H
