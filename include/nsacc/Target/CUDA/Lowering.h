//===- Lowering.h - Tile programs to the LLVM dialect -----------*- C++ -*-===//

#ifndef NSACC_TARGET_CUDA_LOWERING_H
#define NSACC_TARGET_CUDA_LOWERING_H

#include "nsacc/GPU/Device.h"

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace nsacc::cuda {

/// What the passes need to know of dialects.
void registerLowering(mlir::DialectRegistry &registry);
/// Layouts, and what else a GPU needs of tile programs.
void buildTilePipeline(mlir::OpPassManager &passes, const gpu::Device &device);
/// From there to kernels in the LLVM dialect.
void buildKernelPipeline(mlir::OpPassManager &passes,
                         const gpu::Device &device);

} // namespace nsacc::cuda

#endif // NSACC_TARGET_CUDA_LOWERING_H
