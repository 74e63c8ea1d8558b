//===- NSATileToNVVM.cpp - Tile programs as GPU kernels -------------------===//

#include "nsacc/Conversion/NSATileToNVVM/NSATileToNVVM.h"
#include "BlockRoom.h"
#include "Instructions.h"
#include "KernelEmitter.h"
#include "KernelParameters.h"
#include "NSATile/IR/Assertions.h"
#include "NSATile/IR/BlocksPerSM.h"
#include "NSATile/IR/WarpRoles.h"
#include "NamedBarriers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace nsacc {
#define GEN_PASS_DEF_CONVERTNSATILETONVVM
#include "nsacc/Conversion/NSATileToNVVM/NSATileToNVVM.h.inc"
} // namespace nsacc

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

/// Threads of the program's layouts, or of code without tiles in registers.
static FailureOr<int64_t> getThreads(ProgramOp program) {
  int64_t threads = 0;
  WalkResult result = program.walk([&](Operation *op) {
    for (Value value : op->getResults()) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (!type || isShared(type))
        continue;
      std::optional<TileLayout> layout = TileLayout::get(type);
      if (!layout) {
        op->emitOpError("has a tile without a layout: ")
            << type << "; run nsatile-assign-layouts first";
        return WalkResult::interrupt();
      }
      if (threads != 0 && threads != layout->getNumThreads()) {
        op->emitOpError("expected tiles of ")
            << threads << " threads, found " << layout->getNumThreads();
        return WalkResult::interrupt();
      }
      threads = layout->getNumThreads();
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return threads == 0 ? kWarpSize : threads;
}

namespace {

struct ConvertNSATileToNVVM
    : nsacc::impl::ConvertNSATileToNVVMBase<ConvertNSATileToNVVM> {
  using Base::Base;

  void runOnOperation() override {
    for (auto plan :
         llvm::make_early_inc_range(getOperation().getOps<PlanOp>()))
      plan.erase();
    numberAssertions(getOperation());
    OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
    auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
    LLVM::GlobalOp::create(builder, getOperation().getLoc(), bytes,
                           /*isConstant=*/false, LLVM::Linkage::External,
                           "nsacc_shared", Attribute(), /*alignment=*/1024,
                           /*addrSpace=*/3);
    for (auto program :
         llvm::make_early_inc_range(getOperation().getOps<ProgramOp>()))
      if (failed(convert(program)))
        return signalPassFailure();
  }

  LogicalResult convert(ProgramOp program) {
    FailureOr<int64_t> threads = getThreads(program);
    if (failed(threads))
      return failure();
    program.walk([&](WarpSpecializeOp) { *threads += kProducerThreads; });
    if (failed(checkRoom(program, *threads, registers, movesRegisters)))
      return failure();
    OpBuilder builder(program);
    KernelParameters parameters(program);
    if (int64_t bytes = parameters.countBytes(); bytes > parameterBytes) {
      InFlightDiagnostic error =
          program.emitError("the program reads and writes ")
          << llvm::count_if(program.getBody().getArgumentTypes(),
                            [](Type type) { return isa<MemRefType>(type); })
          << " tensors, whose sizes and strides take " << bytes
          << " bytes of a kernel's parameters: the target has "
          << parameterBytes.getValue();
      error.attachNote() << "put tensors of one shape into one input with a "
                            "dimension more, or use fewer in one result";
      return error;
    }
    auto function = LLVM::LLVMFuncOp::create(
        builder, program.getLoc(), program.getSymName(),
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()),
                                    parameters.types));
    parameters.setAttributes(function);
    Block *entry = function.addEntryBlock(builder);
    int64_t mostShared = getSharedBytesOfBlock(program, sharedBytes);
    Kernel kernel(entry, program, mostShared, registers, movesRegisters);
    parameters.map(kernel, entry->getArguments());
    kernel.threads.enter({nvvm::getThread(kernel.b), *threads});
    if (dependentLaunches && parameters.raises)
      nvvm::letNextLaunchStart(kernel.b);
    if (dependentLaunches && parameters.repairs)
      nvvm::waitForLaunchBefore(kernel.b);
    KernelEmitter emitter(kernel);
    if (failed(emitter.emitBlock(program.getBody().front())))
      return failure();
    LLVM::ReturnOp::create(kernel.b, ValueRange());
    int64_t shared = kernel.shared.getPeak();
    setAttributes(function, parameters, *threads, shared,
                  getBlocksPerSM(program));
    if (shared > mostShared) {
      InFlightDiagnostic error = program.emitError("the program takes ")
                                 << shared
                                 << " bytes of shared memory, and a block of "
                                    "the target has "
                                 << mostShared;
      if (int64_t blocks = getBlocksPerSM(program); blocks > 1)
        error << " where " << blocks << " share a multiprocessor";
      error.attachNote() << "most of them are " << kernel.shared.describePeak();
      program->setAttr(kNoRoomAttrName, builder.getUnitAttr());
      return error;
    }
    program.erase();
    return success();
  }

  void setAttributes(LLVM::LLVMFuncOp function, KernelParameters &parameters,
                     int64_t threads, int64_t shared, int64_t blocksPerSM) {
    OpBuilder builder(&getContext());
    function->setAttr("nvvm.kernel", builder.getUnitAttr());
    function->setAttr("nvvm.reqntid", builder.getDenseI32ArrayAttr(
                                          {static_cast<int32_t>(threads)}));
    function->setAttr("nvvm.minctasm", builder.getI32IntegerAttr(blocksPerSM));
    function->setAttr("nsatile.kernel",
                      KernelAttr::get(&getContext(), threads, shared,
                                      /*cluster=*/1,
                                      dependentLaunches && parameters.repairs,
                                      parameters.getHostParameters()));
  }
};

} // namespace
