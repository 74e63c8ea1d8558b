//===- EmitMemory.cpp - Loads and stores of global memory -----------------===//

#include "BulkStore.h"
#include "NSATile/IR/NSATileUses.h"
#include "TileAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

static Type getMemoryType(Type type) {
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
// Elements of a tile in a buffer
//===----------------------------------------------------------------------===//

TileAccess::TileAccess(KernelEmitter &emitter, Value buffer, ValueRange offsets,
                       ValueRange limits, ArrayRef<int64_t> dims,
                       ArrayRef<int64_t> steps, ArrayRef<int64_t> shape)
    : emitter(emitter), buffer(emitter.getBuffer(buffer)), shape(shape) {
  for (Value offset : offsets)
    origin.push_back(emitter.lookup(offset));
  for (auto [index, dim] : llvm::enumerate(dims)) {
    Dim each;
    each.offset = origin[dim];
    each.limit = emitter.lookup(limits[index]);
    each.stride = this->buffer.strides[dim];
    each.step = steps.empty() ? 1 : steps[index];
    each.isInside = isAlwaysInside(offsets[dim], limits[index],
                                   (shape[index] - 1) * each.step);
    // Unsigned, a negative index is beyond every limit.
    if (!each.isInside)
      each.bound = emitter.make<arith::MaxSIOp>(each.limit, emitter.i32(0));
    tileDims.push_back(each);
  }
  pointer = emitter.getPointer(this->buffer, origin);
  lastDim = dims.empty() ? -1 : dims.back();
  auto [strides, offset] = this->buffer.type.getStridesAndOffset();
  isContiguous =
      !dims.empty() && strides[dims.back()] == 1 && tileDims.back().step == 1;
}

bool TileAccess::isAlwaysInside(Value offset, Value limit, int64_t last) {
  std::optional<int64_t> first = getConstantIntValue(offset);
  std::optional<int64_t> bound = getConstantIntValue(limit);
  return first && bound && *first >= 0 && *first + last < *bound;
}

Value TileAccess::getInside(unsigned dim, const IndexSum &coordinate) {
  Dim &each = tileDims[dim];
  if (each.isInside)
    return {};
  Value &first = each.firsts[coordinate.base];
  if (!first) {
    first = each.offset;
    if (coordinate.base)
      first = emitter.add(first,
                          emitter.mul(coordinate.base, emitter.i32(each.step)));
  }
  Value index = first;
  if (coordinate.offset != 0)
    index = emitter.add(first, emitter.i32(coordinate.offset * each.step));
  return emitter.make<arith::CmpIOp>(arith::CmpIPredicate::ult, index,
                                     each.bound);
}

Value TileAccess::getInside(ArrayRef<IndexSum> coordinates) {
  Value inside;
  for (auto [dim, coordinate] : llvm::enumerate(coordinates))
    inside = emitter.both(inside, getInside(dim, coordinate));
  return inside;
}

Value TileAccess::getAllInside() {
  Value inside;
  for (unsigned dim = 0; dim < tileDims.size(); ++dim) {
    inside = emitter.both(inside, getInside(dim, {Value(), 0}));
    inside = emitter.both(inside, getInside(dim, {Value(), shape[dim] - 1}));
  }
  return inside;
}

Value TileAccess::getPointer(ArrayRef<IndexSum> coordinates) {
  Value offset;
  for (auto [dim, coordinate] : llvm::zip_equal(tileDims, coordinates)) {
    auto term = [&](Value index) {
      Value part = emitter.mul(index, dim.stride);
      offset = offset ? emitter.add(offset, part) : part;
    };
    if (coordinate.base) {
      Value &base = dim.bases[coordinate.base];
      if (!base) {
        base = emitter.extend(coordinate.base);
        if (dim.step != 1)
          base = emitter.mul(base, emitter.i64(dim.step));
      }
      term(base);
    }
    if (coordinate.offset != 0)
      term(emitter.i64(coordinate.offset * dim.step));
  }
  if (!offset)
    return pointer;
  return emitter.make<LLVM::GEPOp>(pointer.getType(),
                                   getMemoryType(buffer.type.getElementType()),
                                   pointer, ValueRange{offset});
}

Value TileAccess::getAligned(int64_t bytes) {
  int64_t elementBytes = getMemoryBytes(buffer.type.getElementType());
  Value bits =
      emitter.make<LLVM::PtrToIntOp>(emitter.builder.getI64Type(), pointer);
  for (const Dim &dim : ArrayRef(tileDims).drop_back())
    bits = emitter.make<arith::OrIOp>(
        bits, emitter.mul(dim.stride, emitter.i64(elementBytes * dim.step)));
  bits = emitter.make<arith::AndIOp>(bits, emitter.i64(bytes - 1));
  return emitter.make<arith::CmpIOp>(arith::CmpIPredicate::eq, bits,
                                     emitter.i64(0));
}

Value TileAccess::getAlwaysAligned(int64_t bytes) {
  int64_t elementBytes = getMemoryBytes(buffer.type.getElementType());
  Value none = emitter.i64(0), size = emitter.i64(elementBytes);
  Value bits = emitter.make<LLVM::PtrToIntOp>(emitter.builder.getI64Type(),
                                              buffer.pointer);
  for (auto [index, stride] : llvm::enumerate(buffer.strides)) {
    if (static_cast<int64_t>(index) == lastDim)
      continue;
    Value distance = emitter.mul(stride, size);
    // Rows that aren't there have addresses, too.
    bool isAcross =
        llvm::any_of(llvm::zip_equal(tileDims, shape), [&](const auto &entry) {
          const auto &[dim, tileSize] = entry;
          return dim.stride == stride && tileSize > 1;
        });
    if (!isAcross) {
      Value isMany = emitter.make<arith::CmpIOp>(
          arith::CmpIPredicate::sgt, buffer.sizes[index], emitter.i64(1));
      distance = emitter.select(isMany, distance, none);
    }
    bits = emitter.make<arith::OrIOp>(bits, distance);
  }
  Value last = emitter.extend(tileDims.back().offset);
  bits = emitter.make<arith::OrIOp>(bits, emitter.mul(last, size));
  bits = emitter.make<arith::AndIOp>(bits, emitter.i64(bytes - 1));
  return emitter.make<arith::CmpIOp>(arith::CmpIPredicate::eq, bits, none);
}

Value TileAccess::advance(Value from, Value elements) {
  return emitter.make<LLVM::GEPOp>(from.getType(),
                                   getMemoryType(buffer.type.getElementType()),
                                   from, ValueRange{elements});
}

//===----------------------------------------------------------------------===//
// Tiles in registers
//===----------------------------------------------------------------------===//

namespace {

/// Registers that hold neighbours of a row.
struct Group {
  int64_t first, count;
};

} // namespace

static SmallVector<IndexSum> getCoordinates(KernelEmitter &emitter,
                                            const TileLayout &layout,
                                            int64_t index) {
  SmallVector<IndexSum> coordinates;
  for (AffineExpr expr : layout.getCoordinates(index))
    coordinates.push_back(emitter.getCoordinate(expr));
  return coordinates;
}

static bool areNeighbours(const TileLayout &layout, int64_t index) {
  auto left = layout.getCoordinates(index);
  auto right = layout.getCoordinates(index + 1);
  return !left.empty() && left.drop_back() == right.drop_back() &&
         left.back() + 1 == right.back();
}

/// Groups of the most registers whose elements are aligned to their size, up to
/// 16 bytes; the same size for all.
static SmallVector<Group> getGroups(const TileLayout &layout, int64_t bytes,
                                    bool isContiguous) {
  int64_t count = layout.getNumRegisters(), size = 1;
  int64_t last = layout.getShape().empty() ? 1 : layout.getShape().back();
  auto fits = [&](int64_t candidate) {
    if (!isContiguous || count % candidate != 0 || last % candidate != 0 ||
        candidate * bytes > 16)
      return false;
    for (int64_t first = 0; first < count; first += candidate) {
      for (int64_t i = 0; i + 1 < candidate; ++i)
        if (!areNeighbours(layout, first + i))
          return false;
      if (layout.getCoordinates(first).back().getLargestKnownDivisor() %
          candidate)
        return false;
    }
    return true;
  };
  while (fits(2 * size))
    size *= 2;
  SmallVector<Group> groups;
  for (int64_t first = 0; first < count; first += size)
    groups.push_back({first, size});
  return groups;
}

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
  SmallVector<Group> groups =
      getGroups(layout, bytes, access.isContiguous && !element.isInteger(1));
  Value none = zero(element);

  auto loadVectors = [&] {
    SmallVector<Value> values;
    for (Group group : groups) {
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

LogicalResult KernelEmitter::emitStore(StoreOp op) {
  if (getTile(op.getTile()).getElementType().isIndex())
    return reject(op);
  beforeGlobal(op.getBuffer(), /*isWrite=*/true);
  std::optional<BulkStore> bulk = BulkStore::get(op);
  if (!bulk || shared.getPeak() + bulk->getBytes() > sharedLimit) {
    storeRegisters(op);
    return success();
  }
  hasBulkStores = true;
  emitBulkStore(op, *bulk, shared.allocate(bulk->getBytes()),
                [&] { storeRegisters(op); });
  return success();
}

void KernelEmitter::storeRegisters(StoreOp op) {
  RankedTensorType type = getTile(op.getTile());
  const TileLayout &layout = getLayout(type);
  TileAccess access(*this, op.getBuffer(), op.getOffsets(), op.getLimits(),
                    op.getDims(), {}, type.getShape());
  Type element = type.getElementType();
  int64_t bytes = getMemoryBytes(element);
  SmallVector<Group> groups =
      getGroups(layout, bytes, access.isContiguous && !element.isInteger(1));
  ArrayRef<Value> values = getRegisters(op.getTile());

  auto storeVectors = [&] {
    for (Group group : groups) {
      if (layout.isPadding(group.first))
        continue;
      Value pointer =
          access.getPointer(getCoordinates(*this, layout, group.first));
      when(getOwned(layout, group.first), [&] {
        if (group.count == 1)
          return storeGlobal(values[group.first], pointer, bytes);
        Value vector =
            make<LLVM::PoisonOp>(VectorType::get({group.count}, element));
        for (int64_t i = 0; i < group.count; ++i)
          vector = make<LLVM::InsertElementOp>(vector, values[group.first + i],
                                               i32(i));
        storeGlobal(vector, pointer, group.count * bytes);
      });
    }
  };
  auto storeElements = [&] {
    for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
      if (layout.isPadding(index))
        continue;
      SmallVector<IndexSum> coordinates = getCoordinates(*this, layout, index);
      Value pointer = access.getPointer(coordinates);
      when(both(getOwned(layout, index), access.getInside(coordinates)),
           [&] { storeGlobal(values[index], pointer, bytes); });
    }
  };

  Value isFast = access.getAllInside();
  if (groups.front().count > 1)
    isFast = both(isFast, access.getAligned(groups.front().count * bytes));
  access.forgetNested();
  branch(
      isFast, {},
      [&] {
        storeVectors();
        access.forgetNested();
        return SmallVector<Value>();
      },
      [&] {
        storeElements();
        return SmallVector<Value>();
      });
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
