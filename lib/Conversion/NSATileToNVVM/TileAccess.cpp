//===- TileAccess.cpp - Elements of a tile in a buffer --------------------===//

#include "TileAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

Value nsacc::getElementPointer(CodeBuilder &b, const Buffer &buffer,
                               ValueRange indices) {
  Value offset = b.i64(0);
  for (auto [index, stride] : llvm::zip_equal(indices, buffer.strides))
    offset = b.add(offset, b.mul(b.extend(index), stride));
  return b.make<LLVM::GEPOp>(buffer.pointer.getType(),
                             getMemoryType(buffer.type.getElementType()),
                             buffer.pointer, ValueRange{offset});
}

TileAccess::TileAccess(CodeBuilder &b, const ProgramValues &program, AtOp at)
    : b(b), buffer(program.getBuffer(at.getBuffer())),
      origin(program.lookupAll(at.getOffsets())), shape(at.getShape()),
      divisor(at.getDivisor()) {
  if (at.isListed()) {
    list = &program.getBuffer(at.getList());
    entry = program.lookupAll(at.getEntry());
  }
  ArrayRef<int64_t> dims = at.getDims();
  for (auto [index, dim] : llvm::enumerate(dims)) {
    Dim each;
    each.offset = origin[dim];
    each.limit = program.lookup(at.getLimits()[index]);
    each.stride = buffer.strides[dim];
    each.step = at.getStep(index);
    each.isInside = isAlwaysInside(at.getOffsets()[dim], at.getLimits()[index],
                                   (shape[index] - 1) * each.step);
    if (list && index == 0) {
      each.offset = entry.back();
      each.isInside = false;
    }
    // Unsigned, a negative index is beyond every limit.
    if (!each.isInside)
      each.bound = b.make<arith::MaxSIOp>(each.limit, b.i32(0));
    tileDims.push_back(each);
  }
  pointer = getElementPointer(b, buffer, origin);
  lastDim = dims.empty() ? -1 : dims.back();
  auto [strides, offset] = buffer.type.getStridesAndOffset();
  isContiguous =
      !dims.empty() && strides[dims.back()] == 1 && tileDims.back().step == 1;
}

bool TileAccess::isAlwaysInside(Value offset, Value limit, int64_t last) {
  std::optional<int64_t> first = getConstantIntValue(offset);
  std::optional<int64_t> bound = getConstantIntValue(limit);
  return first && bound && *first >= 0 && *first + last < *bound;
}

Value TileAccess::getFirst(Dim &dim, Value base) {
  Value &first = dim.firsts[base];
  if (!first) {
    first = dim.offset;
    if (base)
      first = b.add(first, b.mul(base, b.i32(dim.step)));
  }
  return first;
}

/// The list's element for a row. For a row beyond the limit it is an arbitrary
/// element: its address is computed before the check.
Value TileAccess::getListedRow(const IndexSum &coordinate) {
  Value &row = listed[{coordinate.base, coordinate.offset}];
  if (row)
    return row;
  Dim &dim = tileDims.front();
  Value number =
      b.add(getFirst(dim, coordinate.base), b.i32(coordinate.offset));
  number = b.make<arith::MinSIOp>(number, b.add(dim.bound, b.i32(-1)));
  SmallVector<Value> indices(entry.begin(), entry.end());
  indices.back() = b.make<arith::MaxSIOp>(number, b.i32(0));
  Value named = b.load(b.getI32Type(), getElementPointer(b, *list, indices),
                       sizeof(int32_t));
  if (divisor != 1)
    named = b.make<arith::DivUIOp>(named, b.i32(divisor));
  return row = b.extend(named);
}

Value TileAccess::getInside(unsigned dim, const IndexSum &coordinate) {
  Dim &each = tileDims[dim];
  if (each.isInside)
    return {};
  Value first = getFirst(each, coordinate.base), index = first;
  if (coordinate.offset != 0)
    index = b.add(first, b.i32(coordinate.offset * each.step));
  return b.make<arith::CmpIOp>(arith::CmpIPredicate::ult, index, each.bound);
}

Value TileAccess::getInside(ArrayRef<IndexSum> coordinates) {
  Value inside;
  for (auto [dim, coordinate] : llvm::enumerate(coordinates))
    inside = b.both(inside, getInside(dim, coordinate));
  return inside;
}

Value TileAccess::getAllInside() {
  Value inside;
  for (unsigned dim = 0; dim < tileDims.size(); ++dim) {
    inside = b.both(inside, getInside(dim, {Value(), 0}));
    inside = b.both(inside, getInside(dim, {Value(), shape[dim] - 1}));
  }
  return inside;
}

Value TileAccess::getPointer(ArrayRef<IndexSum> coordinates) {
  Value offset;
  for (auto [dim, coordinate] : llvm::zip_equal(tileDims, coordinates)) {
    auto term = [&](Value index) {
      Value part = b.mul(index, dim.stride);
      offset = offset ? b.add(offset, part) : part;
    };
    if (list && &dim == tileDims.begin()) {
      term(getListedRow(coordinate));
      continue;
    }
    if (coordinate.base) {
      Value &base = dim.bases[coordinate.base];
      if (!base) {
        base = b.extend(coordinate.base);
        if (dim.step != 1)
          base = b.mul(base, b.i64(dim.step));
      }
      term(base);
    }
    if (coordinate.offset != 0)
      term(b.i64(coordinate.offset * dim.step));
  }
  if (!offset)
    return pointer;
  return b.make<LLVM::GEPOp>(pointer.getType(),
                             getMemoryType(buffer.type.getElementType()),
                             pointer, ValueRange{offset});
}

Value TileAccess::getAligned(int64_t bytes) {
  int64_t elementBytes = getMemoryBytes(buffer.type.getElementType());
  Value bits = b.make<LLVM::PtrToIntOp>(b.getI64Type(), pointer);
  for (const Dim &dim : ArrayRef(tileDims).drop_back())
    bits = b.make<arith::OrIOp>(
        bits, b.mul(dim.stride, b.i64(elementBytes * dim.step)));
  bits = b.make<arith::AndIOp>(bits, b.i64(bytes - 1));
  return b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, bits, b.i64(0));
}

Value TileAccess::getAlwaysAligned(int64_t bytes) {
  int64_t elementBytes = getMemoryBytes(buffer.type.getElementType());
  Value none = b.i64(0), size = b.i64(elementBytes);
  Value bits = b.make<LLVM::PtrToIntOp>(b.getI64Type(), buffer.pointer);
  for (auto [index, stride] : llvm::enumerate(buffer.strides)) {
    if (static_cast<int64_t>(index) == lastDim)
      continue;
    Value distance = b.mul(stride, size);
    // Rows beyond the limit have addresses, too.
    bool isAcross =
        llvm::any_of(llvm::zip_equal(tileDims, shape), [&](const auto &entry) {
          const auto &[dim, tileSize] = entry;
          return dim.stride == stride && tileSize > 1;
        });
    if (!isAcross) {
      Value isMany = b.make<arith::CmpIOp>(arith::CmpIPredicate::sgt,
                                           buffer.sizes[index], b.i64(1));
      distance = b.select(isMany, distance, none);
    }
    bits = b.make<arith::OrIOp>(bits, distance);
  }
  Value last = b.extend(tileDims.back().offset);
  bits = b.make<arith::OrIOp>(bits, b.mul(last, size));
  bits = b.make<arith::AndIOp>(bits, b.i64(bytes - 1));
  return b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, bits, none);
}

Value TileAccess::advance(Value from, Value elements) {
  return b.make<LLVM::GEPOp>(from.getType(),
                             getMemoryType(buffer.type.getElementType()), from,
                             ValueRange{elements});
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

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
