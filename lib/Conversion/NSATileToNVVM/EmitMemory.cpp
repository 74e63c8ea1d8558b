//===- EmitMemory.cpp - Loads and stores of global memory -----------------===//

#include "NSATile/IR/NSATileUses.h"
#include "TileAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

Type nsacc::getMemoryType(Type type) {
  return type.isInteger(1) ? IntegerType::get(type.getContext(), 8) : type;
}

int64_t nsacc::getMemoryBytes(Type type) {
  return type.isIndex() ? 8 : llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}

Value KernelEmitter::loadGlobal(Type type, Value pointer, int64_t align) {
  Value value = make<LLVM::LoadOp>(getMemoryType(type), pointer, align);
  if (type.isInteger(1))
    value = make<arith::TruncIOp>(type, value);
  return value;
}

void KernelEmitter::storeGlobal(Value value, Value pointer, int64_t align) {
  if (value.getType().isInteger(1))
    value = make<arith::ExtUIOp>(builder.getI8Type(), value);
  LLVM::StoreOp::create(builder, loc, value, pointer, align);
}

Value KernelEmitter::getPointer(const Buffer &buffer, ValueRange indices) {
  Value offset = i64(0);
  for (auto [index, stride] : llvm::zip_equal(indices, buffer.strides))
    offset = add(offset, mul(extend(index), stride));
  return make<LLVM::GEPOp>(buffer.pointer.getType(),
                           getMemoryType(buffer.type.getElementType()),
                           buffer.pointer, ValueRange{offset});
}

/// Threads meet before they read what others wrote, or write what others read.
void KernelEmitter::beforeGlobal(Value buffer, bool isWrite) {
  bool mustWait = llvm::any_of(globals.pending, [&](const auto &access) {
    return access.buffer == buffer && (access.isWrite || isWrite);
  });
  if (mustWait)
    barrier();
  if (isStoredTo(buffer))
    globals.pending.push_back({buffer, isWrite});
}

//===----------------------------------------------------------------------===//
// Tiles in registers
//===----------------------------------------------------------------------===//

LogicalResult KernelEmitter::emitLoad(LoadOp op) {
  RankedTensorType type = getTile(op.getTile());
  if (type.getElementType().isIndex())
    return reject(op);
  beforeGlobal(op.getBuffer(), /*isWrite=*/false);
  const TileLayout &layout = getLayout(type);
  TileAccess access(*this, op.getBuffer(), op.getOffsets(), op.getLimits(),
                    op.getDims(), op.getSteps().value_or(ArrayRef<int64_t>()),
                    type.getShape());
  Type element = type.getElementType();
  int64_t bytes = getMemoryBytes(element);
  SmallVector<RegisterGroup> groups =
      getGroups(layout, bytes, access.isContiguous && !element.isInteger(1));
  Value none = zero(element);

  auto loadVectors = [&] {
    SmallVector<Value> values;
    for (RegisterGroup group : groups) {
      if (layout.isPadding(group.first)) {
        values.append(group.count, none);
        continue;
      }
      Value pointer =
          access.getPointer(getCoordinates(*this, layout, group.first));
      SmallVector<Value> parts = branch(
          getInside(layout, group.first),
          SmallVector<Type>(group.count, element),
          [&] {
            if (group.count == 1)
              return SmallVector<Value>{loadGlobal(element, pointer, bytes)};
            Value vector = loadGlobal(VectorType::get({group.count}, element),
                                      pointer, group.count * bytes);
            SmallVector<Value> loaded;
            for (int64_t i = 0; i < group.count; ++i)
              loaded.push_back(this->element(vector, i));
            return loaded;
          },
          [&] { return SmallVector<Value>(group.count, none); });
      values.append(parts);
    }
    return values;
  };
  auto loadElements = [&] {
    SmallVector<Value> values;
    for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
      if (layout.isPadding(index)) {
        values.push_back(none);
        continue;
      }
      SmallVector<IndexSum> coordinates = getCoordinates(*this, layout, index);
      Value inside =
          both(getInside(layout, index), access.getInside(coordinates));
      Value pointer = access.getPointer(coordinates);
      values.push_back(branch(
          inside, element,
          [&] {
            return SmallVector<Value>{loadGlobal(element, pointer, bytes)};
          },
          [&] { return SmallVector<Value>{none}; })[0]);
    }
    return values;
  };

  int64_t vectorBytes = groups.front().count * bytes;
  Value isFast = access.getAllInside();
  if (groups.front().count > 1)
    isFast = both(isFast, access.getAligned(vectorBytes));
  // Few elements aren't worth two ways.
  bool isSmall = groups.front().count == 1 && groups.size() <= 2;
  SmallVector<Type> types(layout.getNumRegisters(), element);
  access.forgetNested();
  setRegisters(op.getTile(), isSmall ? loadElements()
                                     : branch(
                                           isFast, types,
                                           [&] {
                                             auto values = loadVectors();
                                             access.forgetNested();
                                             return values;
                                           },
                                           loadElements));
  return success();
}

//===----------------------------------------------------------------------===//
// Single elements
//===----------------------------------------------------------------------===//

LogicalResult KernelEmitter::emitGather(GatherOp op) {
  beforeGlobal(op.getBuffer(), /*isWrite=*/false);
  RankedTensorType type = getTile(op.getResult());
  const TileLayout &layout = getLayout(type);
  const Buffer &buffer = getBuffer(op.getBuffer());
  Type element = type.getElementType();
  // Nothing can be read of an empty buffer.
  Value isAny;
  SmallVector<Value> lasts;
  for (Value size : buffer.sizes) {
    Value count = make<arith::TruncIOp>(builder.getI32Type(), size);
    lasts.push_back(add(count, i32(-1)));
    isAny = both(isAny,
                 make<arith::CmpIOp>(arith::CmpIPredicate::sgt, count, i32(0)));
  }
  SmallVector<Value> values;
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    SmallVector<Value> indices;
    for (auto [tile, last] : llvm::zip_equal(op.getIndices(), lasts)) {
      Value clamped = make<arith::MinSIOp>(getRegisters(tile)[index], last);
      indices.push_back(make<arith::MaxSIOp>(clamped, i32(0)));
    }
    values.push_back(branch(
        both(isAny, getInside(layout, index)), element,
        [&] {
          return SmallVector<Value>{loadGlobal(
              element, getPointer(buffer, indices), getMemoryBytes(element))};
        },
        [&] { return SmallVector<Value>{zero(element)}; })[0]);
  }
  setRegisters(op.getResult(), std::move(values));
  return success();
}

LogicalResult KernelEmitter::emitScalarLoad(Operation *op) {
  auto load = cast<memref::LoadOp>(op);
  Type type = load.getType();
  if (type.isIndex())
    return reject(op);
  beforeGlobal(load.getMemRef(), /*isWrite=*/false);
  SmallVector<Value> indices;
  for (Value index : load.getIndices())
    indices.push_back(lookup(index));
  Value pointer = getPointer(getBuffer(load.getMemRef()), indices);
  mapScalar(load.getResult(), loadGlobal(type, pointer, getMemoryBytes(type)));
  return success();
}

LogicalResult KernelEmitter::emitScalarStore(Operation *op) {
  auto store = cast<memref::StoreOp>(op);
  Type type = store.getValueToStore().getType();
  if (type.isIndex())
    return reject(op);
  beforeGlobal(store.getMemRef(), /*isWrite=*/true);
  SmallVector<Value> indices;
  for (Value index : store.getIndices())
    indices.push_back(lookup(index));
  Value isFirst =
      make<arith::CmpIOp>(arith::CmpIPredicate::eq, scope.thread, i32(0));
  when(isFirst, [&] {
    storeGlobal(lookup(store.getValueToStore()),
                getPointer(getBuffer(store.getMemRef()), indices),
                getMemoryBytes(type));
  });
  return success();
}
