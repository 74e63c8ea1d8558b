//===- NSATileToNVVM.cpp - Tile programs as GPU kernels -------------------===//

#include "nsacc/Conversion/NSATileToNVVM/NSATileToNVVM.h"
#include "Instructions.h"
#include "KernelEmitter.h"
#include "NSATile/IR/NSATileUses.h"
#include "NamedBarriers.h"
#include "TensorMaps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "nsacc/Conversion/NSATileToVector/NSATileToVector.h"

namespace nsacc {
#define GEN_PASS_DEF_CONVERTNSATILETONVVM
#include "nsacc/Conversion/NSATileToNVVM/NSATileToNVVM.h.inc"
} // namespace nsacc

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

/// Threads of the program's layouts; none where it has no tiles in registers.
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
  return threads == 0 ? 32 : threads;
}

namespace {

/// A kernel's parameters: those of a program's arguments, taken apart.
class Parameters {
public:
  explicit Parameters(ProgramOp program) : program(program) {
    MLIRContext *context = program.getContext();
    Type wide = IntegerType::get(context, 64);
    for (Value argument : program.getBody().getArguments()) {
      auto buffer = dyn_cast<MemRefType>(argument.getType());
      if (!buffer) {
        bool isIndex = argument.getType().isIndex();
        types.push_back(isIndex ? wide : argument.getType());
        continue;
      }
      if (!isStoredTo(argument))
        readOnly.push_back(types.size());
      types.push_back(LLVM::LLVMPointerType::get(context, 1));
      types.append(2 * buffer.getRank(), wide);
    }
    program.walk([&](RequireOp) { hasRequirements = true; });
    if (hasRequirements)
      types.push_back(LLVM::LLVMPointerType::get(context, 1));
    bool hasTiles = false;
    program.walk([&](Operation *op) {
      hasTiles |= isa<TilesOp>(op);
      raises |= isa<RaiseOp>(op);
      repairs |= isa<RepairOp>(op);
    });
    hasCounter = hasTiles || repairs;
    hasRaised = raises || repairs;
    types.append(hasCounter + hasRaised,
                 LLVM::LLVMPointerType::get(context, 1));
    // Without roles all threads copy.
    program.walk([&](FillOp fill) {
      if (fill->getParentOfType<RolesOp>())
        tensorMaps.insert(getTensorMap(fill));
    });
    program.walk([&](StoreOp store) {
      if (std::optional<BulkStore> bulk = BulkStore::get(store))
        tensorMaps.insert(bulk->map);
    });
    types.append(tensorMaps.size(), LLVM::LLVMPointerType::get(context));
  }

  void map(Kernel &kernel, ValueRange values) {
    CodeBuilder &b = kernel.b;
    auto take = [&] {
      Value value = values.front();
      values = values.drop_front();
      return value;
    };
    for (Value argument : program.getBody().getArguments()) {
      auto type = dyn_cast<MemRefType>(argument.getType());
      if (!type) {
        Value value = take();
        if (argument.getType().isIndex())
          value = b.make<arith::TruncIOp>(b.getI32Type(), value);
        kernel.program.map(argument, value);
        continue;
      }
      Buffer buffer;
      buffer.type = type;
      buffer.pointer = take();
      auto takeAll = [&](ArrayRef<int64_t> known,
                         SmallVectorImpl<Value> &found) {
        for (int64_t size : known) {
          Value value = take();
          found.push_back(ShapedType::isDynamic(size) ? value : b.i64(size));
        }
      };
      takeAll(type.getShape(), buffer.sizes);
      takeAll(type.getStridesAndOffset().first, buffer.strides);
      kernel.program.mapBuffer(argument, std::move(buffer));
    }
    if (hasRequirements)
      kernel.host.failureRecord = take();
    if (hasCounter)
      kernel.host.tileCounter = take();
    if (hasRaised)
      kernel.host.raised = take();
    for (TensorMapAttr map : tensorMaps)
      kernel.host.tensorMaps[map] = take();
  }

  SmallVector<Type> types;
  /// Parameters that are buffers which the kernel doesn't write.
  SmallVector<unsigned> readOnly;
  bool hasRequirements = false, hasCounter = false, hasRaised = false;
  bool raises = false, repairs = false;
  llvm::SetVector<TensorMapAttr> tensorMaps;

private:
  ProgramOp program;
};

struct ConvertNSATileToNVVM
    : nsacc::impl::ConvertNSATileToNVVMBase<ConvertNSATileToNVVM> {
  using Base::Base;

  void runOnOperation() override {
    for (auto plan :
         llvm::make_early_inc_range(getOperation().getOps<PlanOp>()))
      plan.erase();
    numberRequirements();
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

  /// Notes what stands in messages for the one who runs the programs.
  void numberRequirements() {
    OpBuilder builder(&getContext());
    SmallVector<Attribute> requirements;
    getOperation().walk([&](RequireOp op) {
      op->setAttr(kFailureIdAttrName,
                  builder.getI64IntegerAttr(requirements.size()));
      requirements.push_back(builder.getArrayAttr(
          {op.getMessageAttr(),
           builder.getI64IntegerAttr(op.getValues().size())}));
    });
    if (!requirements.empty())
      getOperation()->setAttr(kRequirementsAttrName,
                              builder.getArrayAttr(requirements));
  }

  LogicalResult convert(ProgramOp program) {
    FailureOr<int64_t> threads = getThreads(program);
    if (failed(threads))
      return failure();
    program.walk([&](RolesOp) { *threads += kProducerThreads; });
    OpBuilder builder(program);
    Parameters parameters(program);
    auto function = LLVM::LLVMFuncOp::create(
        builder, program.getLoc(), program.getSymName(),
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()),
                                    parameters.types));
    for (unsigned index : parameters.readOnly) {
      function.setArgAttr(index, LLVM::LLVMDialect::getNoAliasAttrName(),
                          builder.getUnitAttr());
      function.setArgAttr(index, LLVM::LLVMDialect::getReadonlyAttrName(),
                          builder.getUnitAttr());
    }
    auto mapBytes = LLVM::LLVMArrayType::get(builder.getI64Type(), 16);
    unsigned firstMap = parameters.types.size() - parameters.tensorMaps.size();
    for (unsigned i = firstMap; i < parameters.types.size(); ++i) {
      function.setArgAttr(i, LLVM::LLVMDialect::getByValAttrName(),
                          TypeAttr::get(mapBytes));
      function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                          builder.getI64IntegerAttr(64));
      function.setArgAttr(i, "nvvm.grid_constant", builder.getUnitAttr());
    }
    Block *entry = function.addEntryBlock(builder);
    Kernel kernel(entry, program, sharedBytes, registers);
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
    setAttributes(function, parameters, *threads, shared);
    if (shared > sharedBytes)
      return program.emitError("the program takes ")
             << shared << " bytes of shared memory, and a block of the target "
             << "has " << sharedBytes.getValue();
    program.erase();
    return success();
  }

  void setAttributes(LLVM::LLVMFuncOp function, const Parameters &parameters,
                     int64_t threads, int64_t shared) {
    OpBuilder builder(&getContext());
    function->setAttr("nvvm.kernel", builder.getUnitAttr());
    function->setAttr("nvvm.reqntid", builder.getDenseI32ArrayAttr(
                                          {static_cast<int32_t>(threads)}));
    function->setAttr("nvvm.minctasm", builder.getI32IntegerAttr(1));
    SmallVector<Attribute> more;
    if (parameters.hasRequirements)
      more.push_back(
          HostParameterAttr::get(&getContext(), HostParameter::Failures));
    if (parameters.hasCounter)
      more.push_back(
          HostParameterAttr::get(&getContext(), HostParameter::Counter));
    if (parameters.hasRaised)
      more.push_back(
          HostParameterAttr::get(&getContext(), HostParameter::Raised));
    llvm::append_range(more, parameters.tensorMaps);
    ArrayAttr extra;
    if (!more.empty())
      extra = builder.getArrayAttr(more);
    function->setAttr("nsatile.kernel",
                      KernelAttr::get(&getContext(), threads, shared,
                                      /*cluster=*/1,
                                      dependentLaunches && parameters.repairs,
                                      extra));
  }
};

} // namespace
