//===- Lowering.h - Tile programs to the LLVM dialect -----------*- C++ -*-===//

#ifndef NSACC_TARGET_CUDA_LOWERING_H
#define NSACC_TARGET_CUDA_LOWERING_H

#include "nsacc/GPU/Device.h"

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace nsacc::cuda {

/// Registers the dialects and interfaces that the passes need.
void registerLowering(mlir::DialectRegistry &registry);
/// Assigns layouts and prepares tile programs for a GPU.
void buildTilePipeline(mlir::OpPassManager &passes, const gpu::Device &device);
/// Lowers the result to kernels in the LLVM dialect.
void buildKernelPipeline(mlir::OpPassManager &passes,
                         const gpu::Device &device);

} // namespace nsacc::cuda

#endif // NSACC_TARGET_CUDA_LOWERING_H
