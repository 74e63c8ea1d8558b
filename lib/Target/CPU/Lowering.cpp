//===- Lowering.cpp - Tile programs to the LLVM dialect -------------------===//

#include "NSATile/Transforms/Passes.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "nsacc/Conversion/NSATileToVector/NSATileToVector.h"
#include "nsacc/Target/CPU/CPU.h"

using namespace mlir;
using namespace nsacc;

void cpu::registerLowering(DialectRegistry &registry) {
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertFuncToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  registerConvertMemRefToLLVMInterface(registry);
  ub::registerConvertUBToLLVMInterface(registry);
  vector::registerConvertVectorToLLVMInterface(registry);
  registerConvertToLLVMDependentDialectLoading(registry);
}

void cpu::buildVectorPipeline(OpPassManager &passes, unsigned vectorBits) {
  ConvertNSATileToVectorOptions vectors;
  vectors.vectorBits = vectorBits;
  passes.addPass(nsatile::createNSATileLowerDomains({/*peel=*/true}));
  passes.addPass(nsatile::createNSATileLowerFolds({/*peel=*/true}));
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(nsatile::createNSATileExpandSoftmax());
  passes.addPass(createConvertNSATileToVector(vectors));
}

void cpu::buildLoweringPipeline(OpPassManager &passes, unsigned vectorBits) {
  buildVectorPipeline(passes, vectorBits);
  OpPassManager &function = passes.nest<func::FuncOp>();
  function.addPass(createCanonicalizerPass());
  function.addPass(nsatile::createNSATileExpandMath());
  // Without it, conversions of bf16 would be library calls.
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  function.addPass(arith::createArithExpandOpsPass(expand));
  function.addPass(memref::createExpandStridedMetadataPass());
  function.addPass(createLowerAffinePass());
  function.addPass(createCSEPass());
  function.addPass(createLoopInvariantCodeMotionPass());
  passes.addPass(nsatile::createNSATileLowerControl());
  passes.addPass(createConvertVectorToLLVMPass());
  passes.addPass(createConvertToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
}

namespace {

struct LoweringOptions : PassPipelineOptions<LoweringOptions> {
  Option<unsigned> vectorBits{*this, "vector-bits",
                              llvm::cl::desc("width of a vector register"),
                              llvm::cl::init(512)};
};

} // namespace

void cpu::registerLoweringPipeline() {
  PassPipelineRegistration<LoweringOptions>(
      "nsacc-cpu-lowering", "Tile programs to the LLVM dialect for the CPU",
      [](OpPassManager &passes, const LoweringOptions &options) {
        buildLoweringPipeline(passes, options.vectorBits);
      });
}
