//===- EmitMemory.cpp - Loads and stores of tiles -------------------------===//

#include "TileEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// The part of a buffer that belongs to a tile.
class TileAccess {
public:
  TileAccess(TileEmitter &emitter, AtOp at)
      : emitter(emitter), builder(emitter.getBuilder()), loc(emitter.getLoc()),
        at(at), buffer(emitter.lookup(at.getBuffer())), dims(at.getDims()),
        shape(at.getShape()), offsets(emitter.lookupAll(at.getOffsets())) {
    if (at.isListed()) {
      list = emitter.lookup(at.getList());
      entry = emitter.lookupAll(at.getEntry());
    }
    for (auto [index, limit] : llvm::enumerate(at.getLimits()))
      bound(index, emitter.lookup(limit));
  }

  /// False if elements of the tile's vectors can't be neighbours in memory.
  bool mayHaveUnitStride() {
    return !dims.empty() && at.getStep(dims.size() - 1) == 1 &&
           dims.back() == static_cast<int64_t>(offsets.size()) - 1 &&
           (ShapedType::isDynamic(getLastStride()) || getLastStride() == 1);
  }
  Value hasUnitStride() {
    if (!ShapedType::isDynamic(getLastStride()))
      return constant(getLastStride() == 1);
    auto metadata =
        memref::ExtractStridedMetadataOp::create(builder, loc, buffer);
    return compare(arith::CmpIPredicate::eq, metadata.getStrides().back(),
                   emitter.constant(1));
  }

  /// Whether the tile lies within its limits, along all dimensions or the last.
  Value isInside() {
    Value inside = constant(true);
    for (size_t dim = 0; dim < dims.size(); ++dim)
      inside = both(inside, isInside(dim));
    return inside;
  }
  Value isRowInside() { return isInside(dims.size() - 1); }
  Value both(Value lhs, Value rhs) {
    return arith::AndIOp::create(builder, loc, lhs, rhs);
  }

  /// A view of the whole tile with neighbouring columns. Not a memref.subview:
  /// among several dimensions of size 1, it would have to guess which to drop.
  Value view() {
    auto metadata =
        memref::ExtractStridedMetadataOp::create(builder, loc, buffer);
    Value start = metadata.getOffset();
    for (auto [offset, stride] : llvm::zip(offsets, metadata.getStrides()))
      start = arith::AddIOp::create(
          builder, loc, start,
          arith::MulIOp::create(builder, loc, offset, stride));
    SmallVector<OpFoldResult> sizes, strides;
    for (auto [index, dim] : llvm::enumerate(dims)) {
      sizes.push_back(builder.getIndexAttr(shape[index]));
      Value stride = metadata.getStrides()[dim];
      strides.push_back(
          arith::MulIOp::create(builder, loc, stride,
                                emitter.constant(at.getStep(index)))
              .getResult());
    }
    strides.back() = builder.getIndexAttr(1);
    return memref::ReinterpretCastOp::create(
        builder, loc, getViewType(), metadata.getBaseBuffer(),
        OpFoldResult(start), sizes, strides);
  }

  MemRefType getViewType() {
    SmallVector<int64_t> strides(shape.size(), ShapedType::kDynamic);
    strides.back() = 1;
    return MemRefType::get(
        shape, cast<MemRefType>(buffer.getType()).getElementType(),
        StridedLayoutAttr::get(builder.getContext(), ShapedType::kDynamic,
                               strides));
  }

  /// Visits the elements within the limits: indices in the tile and in the
  /// buffer, and the width of a vector there.
  using Body = llvm::function_ref<void(ValueRange, ValueRange, int64_t)>;
  void forEachInside(Body body) {
    if (!mayHaveUnitStride())
      return forEachElement(body);
    auto ifOp =
        scf::IfOp::create(builder, loc, both(hasUnitStride(), isRowInside()),
                          /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(ifOp.thenYield());
    forEachVector(body);
    builder.setInsertionPoint(ifOp.elseYield());
    forEachElement(body);
  }

  /// Visits the elements one by one.
  void forEachElement(Body body) {
    emitter.forEachPoint(lower, upper, [&](ValueRange point) {
      body(point, toBuffer(point), 1);
    });
  }

  /// The buffer to access in the body of forEachInside.
  Value getBuffer() const { return buffer; }

private:
  void forEachVector(Body body) {
    Value strided = buffer;
    buffer = castToUnitStride();
    emitter.forEachPoint(ArrayRef(lower).drop_back(),
                         ArrayRef(upper).drop_back(), [&](ValueRange row) {
                           emitter.forEachVectorOfRow(
                               shape.back(), [&](Value column, int64_t width) {
                                 SmallVector<Value> point(row);
                                 point.push_back(column);
                                 body(point, toBuffer(point), width);
                               });
                         });
    buffer = strided;
  }

  int64_t getLastStride() {
    auto [strides, offset] =
        cast<MemRefType>(buffer.getType()).getStridesAndOffset();
    return strides.back();
  }

  Value constant(bool value) {
    return arith::ConstantOp::create(builder, loc, builder.getBoolAttr(value));
  }
  Value compare(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return arith::CmpIOp::create(builder, loc, predicate, lhs, rhs);
  }

  /// lower <= k < upper iff 0 <= offset + k · step < limit, for k in the tile.
  void bound(size_t index, Value limit) {
    bool isListed = list && index == 0;
    Value size =
        isListed ? memref::DimOp::create(builder, loc, list, entry.size() - 1)
                 : memref::DimOp::create(builder, loc, buffer, dims[index]);
    Value offset = isListed ? entry.back() : offsets[dims[index]];
    Value zero = emitter.constant(0), tile = emitter.constant(shape[index]);
    limit = arith::MinSIOp::create(builder, loc, limit, size);
    int64_t step = at.getStep(index);
    auto stepsTo = [&](Value position) -> Value {
      Value distance = arith::SubIOp::create(builder, loc, position, offset);
      Value steps = distance;
      if (step != 1)
        steps = arith::CeilDivSIOp::create(builder, loc, distance,
                                           emitter.constant(step));
      steps = arith::MaxSIOp::create(builder, loc, steps, zero);
      return arith::MinSIOp::create(builder, loc, steps, tile);
    };
    lower.push_back(stepsTo(zero));
    upper.push_back(stepsTo(limit));
  }

  Value isInside(size_t dim) {
    return both(
        compare(arith::CmpIPredicate::eq, lower[dim], emitter.constant(0)),
        compare(arith::CmpIPredicate::eq, upper[dim],
                emitter.constant(shape[dim])));
  }

  /// Only reached if the last stride is 1. Not a memref.cast: casts fold into
  /// vector.load, which then misses its unit stride.
  Value castToUnitStride() {
    if (getLastStride() == 1)
      return buffer;
    auto type = cast<MemRefType>(buffer.getType());
    auto [strides, offset] = type.getStridesAndOffset();
    strides.back() = 1;
    auto layout = StridedLayoutAttr::get(builder.getContext(), offset, strides);
    auto unit = MemRefType::get(type.getShape(), type.getElementType(), layout);
    auto metadata =
        memref::ExtractStridedMetadataOp::create(builder, loc, buffer);
    SmallVector<OpFoldResult> newStrides = metadata.getConstifiedMixedStrides();
    newStrides.back() = builder.getIndexAttr(1);
    return memref::ReinterpretCastOp::create(
        builder, loc, unit, metadata.getBaseBuffer(),
        metadata.getConstifiedMixedOffset(), metadata.getConstifiedMixedSizes(),
        newStrides);
  }

  SmallVector<Value> toBuffer(ValueRange point) {
    SmallVector<Value> indices(offsets);
    for (auto [index, dim] : llvm::enumerate(dims)) {
      Value distance = point[index];
      if (list && index == 0)
        distance = getListedRow(distance);
      if (at.getStep(index) != 1)
        distance = arith::MulIOp::create(builder, loc, distance,
                                         emitter.constant(at.getStep(index)));
      indices[dim] =
          arith::AddIOp::create(builder, loc, offsets[dim], distance);
    }
    return indices;
  }

  Value getListedRow(Value row) {
    SmallVector<Value> indices(entry);
    indices.back() = arith::AddIOp::create(builder, loc, indices.back(), row);
    Value named = arith::IndexCastOp::create(
        builder, loc, builder.getIndexType(),
        memref::LoadOp::create(builder, loc, list, indices));
    int64_t divisor = at.getDivisor();
    return divisor == 1 ? named
                        : arith::DivUIOp::create(builder, loc, named,
                                                 emitter.constant(divisor))
                              .getResult();
  }

  TileEmitter &emitter;
  OpBuilder &builder;
  Location loc;
  AtOp at;
  Value buffer, list;
  ArrayRef<int64_t> dims, shape;
  SmallVector<Value> offsets, entry, lower, upper;
};

} // namespace

LogicalResult TileEmitter::expectBytes(Operation *op, Value buffer) {
  if (!cast<MemRefType>(buffer.getType()).getElementType().isInteger(1))
    return success();
  return op->emitOpError("on a buffer of i1 isn't supported; expected "
                         "booleans as i8, one byte each");
}

LogicalResult TileEmitter::emitLoad(LoadOp op) {
  AtOp at = op.getAt();
  if (failed(expectBytes(op, at.getBuffer())))
    return failure();
  auto type = cast<RankedTensorType>(op.getTile().getType());
  TileAccess access(*this, at);
  Value copy = allocate(type);
  auto emitCopy = [&] {
    Value zero = arith::ConstantOp::create(
        builder, loc,
        cast<TypedAttr>(builder.getZeroAttr(type.getElementType())));
    forEachVector(type.getShape(), [&](ValueRange indices, int64_t width) {
      storeVector(splat(zero, width), copy, indices);
    });
    access.forEachInside([&](ValueRange point, ValueRange source,
                             int64_t width) {
      storeVector(loadVector(access.getBuffer(), source, width), copy, point);
    });
  };
  if (at.isListed() || !access.mayHaveUnitStride() ||
      placement.isWritten(at.getBuffer())) {
    emitCopy();
    memory[op.getTile()] = copy;
    return success();
  }

  // A tile inside of its buffer is read in place.
  Value usable = access.both(access.hasUnitStride(), access.isInside());
  MemRefType viewType = access.getViewType();
  auto ifOp = scf::IfOp::create(builder, loc, viewType, usable,
                                /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  Value view = access.view();
  scf::YieldOp::create(builder, loc, view);
  builder.setInsertionPointToStart(ifOp.elseBlock());
  emitCopy();
  copy = memref::CastOp::create(builder, loc, viewType, copy);
  scf::YieldOp::create(builder, loc, copy);
  memory[op.getTile()] = ifOp.getResult(0);
  return success();
}

LogicalResult TileEmitter::emitStore(StoreOp op) {
  if (failed(expectBytes(op, op.getAt().getBuffer())))
    return failure();
  TileAccess access(*this, op.getAt());
  access.forEachInside([&](ValueRange point, ValueRange target, int64_t width) {
    storeVector(VectorReader(*this, point, width).read(op.getTile()),
                access.getBuffer(), target);
  });
  return success();
}

/// Adds to a word that other threads may add to, and returns what it was. Reads
/// and writes of other threads in front of their additions have happened.
static Value addAtomically(OpBuilder &builder, Location loc, Value summand,
                           Value buffer, ValueRange indices) {
  return memref::AtomicRMWOp::create(builder, loc, arith::AtomicRMWKind::addi,
                                     summand, buffer, indices);
}

/// Waits until a counter is `turn`.
static void waitForTurn(OpBuilder &builder, Location loc, Value turn,
                        Value turns, ValueRange place) {
  scf::WhileOp::create(
      builder, loc, TypeRange(), ValueRange(),
      [&](OpBuilder &nested, Location loc, ValueRange) {
        Value none =
            arith::ConstantOp::create(nested, loc, nested.getI32IntegerAttr(0));
        Value now = addAtomically(nested, loc, none, turns, place);
        Value waits = arith::CmpIOp::create(
            nested, loc, arith::CmpIPredicate::ne, now, turn);
        scf::ConditionOp::create(nested, loc, waits, ValueRange());
      },
      [&](OpBuilder &nested, Location loc, ValueRange) {
        scf::YieldOp::create(nested, loc);
      });
}

void TileEmitter::emitAccumulate(AccumulateOp op) {
  TileAccess access(*this, op.getAt());
  if (!op.getTurn()) {
    // Other threads may add at the same time.
    access.forEachElement(
        [&](ValueRange point, ValueRange target, int64_t width) {
          addAtomically(builder, loc,
                        VectorReader(*this, point, width).read(op.getTile()),
                        access.getBuffer(), target);
        });
    return;
  }
  Value turns = lookup(op.getTurns());
  SmallVector<Value> counter = lookupAll(op.getCounter());
  Value turn = arith::IndexCastOp::create(builder, loc, builder.getI32Type(),
                                          lookup(op.getTurn()));
  Value none =
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
  waitForTurn(builder, loc, turn, turns, counter);
  Value isFirst =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, turn, none);
  access.forEachInside([&](ValueRange point, ValueRange target, int64_t width) {
    Value summand = VectorReader(*this, point, width).read(op.getTile());
    Value sum = arith::AddFOp::create(
        builder, loc, loadVector(access.getBuffer(), target, width), summand);
    storeVector(arith::SelectOp::create(builder, loc, isFirst, summand, sum),
                access.getBuffer(), target);
  });
  addAtomically(
      builder, loc,
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(1)),
      turns, counter);
}
