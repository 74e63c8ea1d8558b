//===- Lowering.cpp - Tile programs to the LLVM dialect -------------------===//

#include "nsacc/Target/CUDA/Lowering.h"
#include "NSATile/IR/NSATileOps.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "nsacc/Conversion/NSATileToNVVM/NSATileToNVVM.h"
#include "nsacc/GPU/Codes.h"

using namespace mlir;
using namespace nsacc;

void cuda::registerLowering(DialectRegistry &registry) {
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  registerConvertNVVMToLLVMInterface(registry);
  ub::registerConvertUBToLLVMInterface(registry);
  registerConvertToLLVMDependentDialectLoading(registry);
}

/// Adds the passes that load tiles ahead, each by the feature that it uses.
static void addLoads(OpPassManager &passes, const gpu::Device &device) {
  const gpu::Code &code = device.code;
  if (code.hasBulkCopies)
    passes.addPass(nsatile::createNSATileSpecializeWarps());
  // Programs without warps that load.
  if (!code.hasWarpgroupProducts && code.hasAsyncCopies)
    passes.addNestedPass<nsatile::ProgramOp>(
        nsatile::createNSATilePipelineLoads(
            {device.limits.sharedBytesOfBlock}));
  passes.addNestedPass<nsatile::ProgramOp>(
      nsatile::createNSATileDeferProducts({device.limits.sharedBytesOfBlock}));
  if (code.hasWarpgroupProducts) {
    passes.addPass(nsatile::createNSATileNarrowKeyLoops());
    passes.addPass(nsatile::createNSATilePrefetchEntries());
    passes.addPass(nsatile::createNSATileSchedulePipeline());
    passes.addPass(nsatile::createNSATileExpandPipeline());
  }
}

void cuda::buildTilePipeline(OpPassManager &passes, const gpu::Device &device) {
  const gpu::Limits &limits = device.limits;
  passes.addPass(nsatile::createNSATileLowerDomains());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addNestedPass<nsatile::ProgramOp>(
      nsatile::createNSATileCombineEarly());
  passes.addPass(nsatile::createNSATileAssumeFinite());
  passes.addPass(nsatile::createNSATileBitonicTopK());
  passes.addPass(
      nsatile::createNSATileExpandSoftmax({/*keepApproximate=*/true}));
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addNestedPass<nsatile::ProgramOp>(
      nsatile::createNSATileAssignLayouts());
  passes.addPass(createCSEPass());
  addLoads(passes, device);
  passes.addPass(nsatile::createNSATileLowerFolds());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  if (device.code.hasWarpgroupProducts) {
    passes.addPass(nsatile::createNSATileOperandsInRegisters(
        {limits.registersOfMultiprocessor}));
    passes.addPass(
        nsatile::createNSATilePersistPrograms({limits.sharedBytesOfBlock}));
    passes.addPass(createCanonicalizerPass());
    passes.addPass(createCSEPass());
  }
  passes.addNestedPass<nsatile::ProgramOp>(
      nsatile::createNSATileOrderSoftmax());
}

void cuda::buildKernelPipeline(OpPassManager &passes,
                               const gpu::Device &device) {
  passes.addPass(createConvertNSATileToNVVM(
      {device.limits.sharedBytesOfBlock,
       device.limits.registersOfMultiprocessor, device.code.parameterBytes,
       device.code.hasDependentLaunches, gpu::canMoveRegisters(device.code)}));
  OpPassManager &kernel = passes.nest<LLVM::LLVMFuncOp>();
  kernel.addPass(createCSEPass());
  kernel.addPass(nsatile::createNSATileExpandMath());
  kernel.addPass(arith::createArithExpandOpsPass());
  kernel.addPass(createCSEPass());
  passes.addPass(nsatile::createNSATileLowerControl());
  passes.addPass(createConvertToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  // PTX, and profilers, get the program's lines; with more debug information,
  // ptxas wouldn't optimize.
  LLVM::DIScopeForLLVMFuncOpPassOptions lines;
  lines.emissionKind = LLVM::DIEmissionKind::DebugDirectivesOnly;
  passes.addPass(LLVM::createDIScopeForLLVMFuncOpPass(lines));
}
