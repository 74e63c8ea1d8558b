//===- EmitMemory.cpp - Loads, stores and gathers of tiles ----------------===//

#include "TileEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// The part of a buffer that a tile stands for.
class TileAccess {
public:
  TileAccess(TileEmitter &emitter, Value buffer, ValueRange offsets,
             ValueRange limits, ArrayRef<int64_t> dims, ArrayRef<int64_t> steps,
             ArrayRef<int64_t> shape)
      : emitter(emitter), builder(emitter.getBuilder()), loc(emitter.getLoc()),
        buffer(buffer), dims(dims), steps(steps), shape(shape) {
    for (Value offset : offsets)
      this->offsets.push_back(emitter.lookup(offset));
    for (auto [index, limit] : llvm::enumerate(limits))
      bound(index, emitter.lookup(limit));
  }

  /// False when vectors of the tile can't be neighbours in memory.
  bool mayHaveUnitStride() {
    return !dims.empty() && steps.back() == 1 &&
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

  /// True when the tile lies within its limits, along all dimensions or the
  /// last.
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
  /// which of several dimensions of size 1 it drops would be a guess.
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
      strides.push_back(arith::MulIOp::create(builder, loc, stride,
                                              emitter.constant(steps[index]))
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

  /// Visits what lies within the limits: indices of the tile and of the
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

  /// In the body of forEachInside: the buffer to access.
  Value getBuffer() const { return buffer; }

private:
  void forEachElement(Body body) {
    emitter.forEachPoint(lower, upper, [&](ValueRange point) {
      body(point, toBuffer(point), 1);
    });
  }

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
    Value size = memref::DimOp::create(builder, loc, buffer, dims[index]);
    Value offset = offsets[dims[index]];
    Value zero = emitter.constant(0), tile = emitter.constant(shape[index]);
    limit = arith::MinSIOp::create(builder, loc, limit, size);
    auto stepsTo = [&](Value position) -> Value {
      Value distance = arith::SubIOp::create(builder, loc, position, offset);
      Value steps = distance;
      if (this->steps[index] != 1)
        steps = arith::CeilDivSIOp::create(
            builder, loc, distance, emitter.constant(this->steps[index]));
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

  /// Only reached where the last stride is 1. Not a memref.cast: those fold
  /// into vector.load, which then misses its unit stride.
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
      if (steps[index] != 1)
        distance = arith::MulIOp::create(builder, loc, distance,
                                         emitter.constant(steps[index]));
      indices[dim] =
          arith::AddIOp::create(builder, loc, offsets[dim], distance);
    }
    return indices;
  }

  TileEmitter &emitter;
  OpBuilder &builder;
  Location loc;
  Value buffer;
  ArrayRef<int64_t> dims, steps, shape;
  SmallVector<Value> offsets, lower, upper;
};

} // namespace

static bool isVectorOfBits(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getElementType().isInteger(1);
}

static LogicalResult rejectBits(Operation *op) {
  return op->emitOpError("on a buffer of i1 isn't supported; expected "
                         "booleans as i8, one byte each");
}

LogicalResult TileEmitter::emitLoad(LoadOp op) {
  if (isVectorOfBits(op.getBuffer()))
    return rejectBits(op);
  auto type = cast<RankedTensorType>(op.getTile().getType());
  SmallVector<int64_t> steps(op.getSteps().value_or(ArrayRef<int64_t>()));
  steps.resize(type.getRank(), 1);
  TileAccess access(*this, lookup(op.getBuffer()), op.getOffsets(),
                    op.getLimits(), op.getDims(), steps, type.getShape());
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
  if (!access.mayHaveUnitStride() || placement.isWritten(op.getBuffer())) {
    emitCopy();
    memory[op.getTile()] = copy;
    return success();
  }

  // A tile inside of its buffer is read where it is.
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
  if (isVectorOfBits(op.getBuffer()))
    return rejectBits(op);
  auto type = cast<RankedTensorType>(op.getTile().getType());
  SmallVector<int64_t> steps(type.getRank(), 1);
  TileAccess access(*this, lookup(op.getBuffer()), op.getOffsets(),
                    op.getLimits(), op.getDims(), steps, type.getShape());
  access.forEachInside([&](ValueRange point, ValueRange target, int64_t width) {
    storeVector(VectorReader(*this, point, width).read(op.getTile()),
                access.getBuffer(), target);
  });
  return success();
}

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

namespace {

/// Reads elements of a buffer by vectors of indices.
class Gatherer {
public:
  Gatherer(TileEmitter &emitter, Value buffer)
      : emitter(emitter), builder(emitter.getBuilder()), loc(emitter.getLoc()),
        type(cast<MemRefType>(buffer.getType())),
        metadata(
            memref::ExtractStridedMetadataOp::create(builder, loc, buffer)) {
    // All elements as one row: distances are computed here.
    Value all = emitter.constant(std::numeric_limits<int64_t>::max());
    auto layout =
        StridedLayoutAttr::get(builder.getContext(), ShapedType::kDynamic, {1});
    flat = memref::ReinterpretCastOp::create(
        builder, loc,
        MemRefType::get({ShapedType::kDynamic}, type.getElementType(), layout),
        metadata.getBaseBuffer(), OpFoldResult(metadata.getOffset()),
        ArrayRef<OpFoldResult>{all},
        ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
    filled = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
    for (Value size : metadata.getSizes()) {
      Value some = compare(arith::CmpIPredicate::sgt, size, 0);
      filled = arith::AndIOp::create(builder, loc, filled, some);
    }
  }

  Value gather(ArrayRef<Value> indices, int64_t width) {
    auto indexType = VectorType::get({width}, builder.getIndexType());
    Value distance = repeat(emitter.constant(0), indexType);
    for (auto [index, size, stride] :
         llvm::zip_equal(indices, metadata.getSizes(), metadata.getStrides())) {
      Value clamped = clamp(repeat(index, indexType), size, indexType);
      Value part = arith::MulIOp::create(builder, loc, clamped,
                                         repeat(stride, indexType));
      distance = arith::AddIOp::create(builder, loc, distance, part);
    }
    auto resultType = VectorType::get({width}, type.getElementType());
    if (isa<FloatType>(type.getElementType()) &&
        type.getElementTypeBitWidth() < 32)
      return gatherNarrow(distance, resultType);
    Value values = gatherWide(distance, resultType);
    if (width != 1)
      return values;
    return vector::ExtractOp::create(builder, loc, values, 0);
  }

private:
  Value gatherWide(Value distance, VectorType resultType) {
    Value mask = repeat(
        filled, VectorType::get(resultType.getShape(), builder.getI1Type()));
    return vector::GatherOp::create(builder, loc, resultType, flat,
                                    emitter.constant(0), distance, mask,
                                    zeros(resultType));
  }

  /// One by one and as integers, as long as it goes: LLVM would build vectors
  /// of bf16 from scalars by calls of a library.
  Value gatherNarrow(Value distance, VectorType resultType) {
    Type bits = builder.getIntegerType(resultType.getElementTypeBitWidth());
    VectorType bitsType = resultType.clone(bits);
    auto ifOp = scf::IfOp::create(builder, loc, bitsType, filled,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.elseBlock());
    scf::YieldOp::create(builder, loc, zeros(bitsType));
    builder.setInsertionPointToStart(ifOp.thenBlock());
    Value result = zeros(bitsType.clone(builder.getI32Type()));
    for (int64_t i = 0; i < resultType.getDimSize(0); ++i) {
      Value at = vector::ExtractOp::create(builder, loc, distance, i);
      Value element = memref::LoadOp::create(builder, loc, flat, at);
      element = arith::BitcastOp::create(builder, loc, bits, element);
      element =
          arith::ExtUIOp::create(builder, loc, builder.getI32Type(), element);
      result = vector::InsertOp::create(builder, loc, element, result, i);
    }
    result = arith::TruncIOp::create(builder, loc, bitsType, result);
    scf::YieldOp::create(builder, loc, result);
    builder.setInsertionPointAfter(ifOp);
    if (resultType.getDimSize(0) != 1)
      return vector::BitCastOp::create(builder, loc, resultType,
                                       ifOp.getResult(0));
    Value element =
        vector::ExtractOp::create(builder, loc, ifOp.getResult(0), 0);
    return arith::BitcastOp::create(builder, loc, type.getElementType(),
                                    element);
  }

  Value zeros(VectorType type) {
    return arith::ConstantOp::create(
        builder, loc, cast<TypedAttr>(builder.getZeroAttr(type)));
  }
  Value compare(arith::CmpIPredicate predicate, Value lhs, int64_t rhs) {
    return arith::CmpIOp::create(builder, loc, predicate, lhs,
                                 emitter.constant(rhs));
  }
  Value repeat(Value value, VectorType type) {
    if (isa<VectorType>(value.getType()))
      return value;
    return vector::BroadcastOp::create(builder, loc, type, value);
  }
  Value clamp(Value index, Value size, VectorType type) {
    Value last = arith::SubIOp::create(builder, loc, size, emitter.constant(1));
    index = arith::MinSIOp::create(builder, loc, index, repeat(last, type));
    return arith::MaxSIOp::create(builder, loc, index,
                                  repeat(emitter.constant(0), type));
  }

  TileEmitter &emitter;
  OpBuilder &builder;
  Location loc;
  MemRefType type;
  memref::ExtractStridedMetadataOp metadata;
  Value flat, filled;
};

} // namespace

LogicalResult TileEmitter::emitGather(GatherOp op) {
  if (isVectorOfBits(op.getBuffer()))
    return rejectBits(op);
  auto type = cast<RankedTensorType>(op.getResult().getType());
  Value result = allocateResult(op.getResult());
  Gatherer gatherer(*this, lookup(op.getBuffer()));
  forEachVector(type.getShape(), [&](ValueRange point, int64_t width) {
    VectorReader reader(*this, point, width);
    SmallVector<Value> indices;
    for (Value index : op.getIndices())
      indices.push_back(reader.read(index));
    storeVector(gatherer.gather(indices, width), result, point);
  });
  return success();
}
