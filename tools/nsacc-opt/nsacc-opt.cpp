//===- nsacc-opt.cpp - Runs passes over nsacc's IR ------------------------===//

#include "NSA/IR/NSADialect.h"
#include "NSA/Transforms/Passes.h"
#include "NSATile/IR/NSATileDialect.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "nsacc/Conversion/NSATileToNVVM/NSATileToNVVM.h"
#include "nsacc/Conversion/NSATileToVector/NSATileToVector.h"
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h"
#include "nsacc/Pipelines/Phases.h"
#include "nsacc/Target/CPU/CPU.h"
#include "nsacc/Target/CUDA/Lowering.h"
#ifdef NSACC_INCLUDE_TESTS
#include "TileTest/TileTestDialect.h"
#endif

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  // All that dumps of phases contain, up to the LLVM dialect.
  registry.insert<mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect,
                  mlir::func::FuncDialect, mlir::LLVM::LLVMDialect,
                  mlir::math::MathDialect, mlir::memref::MemRefDialect,
                  mlir::NVVM::NVVMDialect, mlir::scf::SCFDialect,
                  mlir::ub::UBDialect, mlir::vector::VectorDialect,
                  nsacc::nsa::NSADialect, nsacc::nsatile::NSATileDialect>();

#ifdef NSACC_INCLUDE_TESTS
  nsacc::tiletest::registerTileTestDialect(registry);
#endif

  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  nsacc::cpu::registerLowering(registry);
  nsacc::cpu::registerLoweringPipeline();
  nsacc::cuda::registerLowering(registry);
  nsacc::nsatile::registerNSATilePasses();
  nsacc::registerNSATileToNVVMPasses();
  nsacc::registerNSATileToVectorPasses();
  nsacc::registerPhasePipelines();
  nsacc::nsa::registerNSAPasses();
  nsacc::registerNSAToNSATilePasses();

  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "nsacc optimizer driver\n", registry));
}
