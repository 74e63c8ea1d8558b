//===- TileAccess.cpp - Where elements of a tile are in a buffer ----------===//

#include "TileAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

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
// Registers
//===----------------------------------------------------------------------===//

SmallVector<IndexSum> nsacc::getCoordinates(KernelEmitter &emitter,
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

SmallVector<RegisterGroup> nsacc::getGroups(const TileLayout &layout,
                                            int64_t bytes, bool isContiguous) {
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
  SmallVector<RegisterGroup> groups;
  for (int64_t first = 0; first < count; first += size)
    groups.push_back({first, size});
  return groups;
}
