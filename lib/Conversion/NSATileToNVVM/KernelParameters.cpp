//===- KernelParameters.cpp - Parameters of a kernel ----------------------===//

#include "KernelParameters.h"
#include "NSATile/IR/NSATileUses.h"
#include "TensorMaps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

KernelParameters::KernelParameters(ProgramOp program) : program(program) {
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
  addHostParameters();
}

void KernelParameters::addHostParameters() {
  bool hasTiles = false;
  program.walk([&](Operation *op) {
    hasAssertions |= isa<AssertOp>(op);
    hasTiles |= isa<TilesOp>(op);
    auto id = dyn_cast<ProgramIdOp>(op);
    hasFirstZ |= id && id.getAxis() == 2;
    raises |= isa<RaiseOp>(op);
    repairs |= isa<RepairOp>(op);
  });
  hasCounter = hasTiles || repairs;
  // A counter hands out the points: the grid has no z to begin with.
  hasFirstZ &= !hasCounter;
  hasRaised = raises || repairs;
  // No map is needed where threads copy themselves: in programs that aren't
  // warp-specialized, and for listed rows and vectors.
  program.walk([&](ProducerLoadOp load) {
    if (load->getParentOfType<WarpSpecializeOp>() && isBulkCopy(load))
      tensorMaps.insert(getTensorMap(load));
  });
  program.walk([&](StoreOp store) {
    if (std::optional<BulkStore> bulk = BulkStore::get(store))
      tensorMaps.insert(bulk->map);
  });
  MLIRContext *context = program.getContext();
  types.append(hasAssertions + hasCounter + hasRaised,
               LLVM::LLVMPointerType::get(context, 1));
  if (hasFirstZ)
    types.push_back(IntegerType::get(context, 32));
  types.append(tensorMaps.size(), LLVM::LLVMPointerType::get(context));
}

int64_t KernelParameters::countBytes() const {
  // Maps come last, and their size is a multiple of their alignment.
  constexpr int64_t pointerBytes = 8, mapBytes = 128;
  int64_t bytes = 0, numMaps = tensorMaps.size();
  for (Type type : ArrayRef(types).drop_back(numMaps)) {
    int64_t size = type.isIntOrFloat()
                       ? llvm::divideCeil(type.getIntOrFloatBitWidth(), 8)
                       : pointerBytes;
    bytes = llvm::alignTo(bytes, size) + size;
  }
  return numMaps == 0 ? bytes
                      : llvm::alignTo(bytes, mapBytes) + numMaps * mapBytes;
}

void KernelParameters::map(Kernel &kernel, ValueRange values) {
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
    auto takeAll = [&](ArrayRef<int64_t> known, SmallVectorImpl<Value> &found) {
      for (int64_t size : known) {
        Value value = take();
        found.push_back(ShapedType::isDynamic(size) ? value : b.i64(size));
      }
    };
    takeAll(type.getShape(), buffer.sizes);
    takeAll(type.getStridesAndOffset().first, buffer.strides);
    kernel.program.mapBuffer(argument, std::move(buffer));
  }
  if (hasAssertions)
    kernel.host.failureRecord = take();
  if (hasCounter)
    kernel.host.tileCounter = take();
  if (hasRaised)
    kernel.host.raised = take();
  if (hasFirstZ)
    kernel.host.firstZ = take();
  for (TensorMapAttr map : tensorMaps)
    kernel.host.tensorMaps[map] = take();
}

void KernelParameters::setAttributes(LLVM::LLVMFuncOp function) {
  Builder builder(function.getContext());
  for (unsigned index : readOnly) {
    function.setArgAttr(index, LLVM::LLVMDialect::getNoAliasAttrName(),
                        builder.getUnitAttr());
    function.setArgAttr(index, LLVM::LLVMDialect::getReadonlyAttrName(),
                        builder.getUnitAttr());
  }
  auto mapBytes = LLVM::LLVMArrayType::get(builder.getI64Type(), 16);
  for (unsigned i = types.size() - tensorMaps.size(); i < types.size(); ++i) {
    function.setArgAttr(i, LLVM::LLVMDialect::getByValAttrName(),
                        TypeAttr::get(mapBytes));
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                        builder.getI64IntegerAttr(64));
    function.setArgAttr(i, "nvvm.grid_constant", builder.getUnitAttr());
  }
}

ArrayAttr KernelParameters::getHostParameters() {
  MLIRContext *context = program.getContext();
  SmallVector<Attribute> parameters;
  auto add = [&](HostParameter parameter) {
    parameters.push_back(HostParameterAttr::get(context, parameter));
  };
  if (hasAssertions)
    add(HostParameter::Failures);
  if (hasCounter)
    add(HostParameter::Counter);
  if (hasRaised)
    add(HostParameter::Raised);
  if (hasFirstZ)
    add(HostParameter::FirstZ);
  llvm::append_range(parameters, tensorMaps);
  return parameters.empty() ? ArrayAttr() : ArrayAttr::get(context, parameters);
}
