//===- EmitForms.cpp - Tiles in memory, as their readers want them --------===//

#include "TileEmitter.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

Value TileEmitter::allocate(RankedTensorType tile) {
  Type elementType = tile.getElementType();
  if (elementType.isInteger(1))
    elementType = builder.getI8Type();
  return scratch.allocate(MemRefType::get(tile.getShape(), elementType), loc);
}

Value TileEmitter::allocateResult(Value tile) {
  Value target = placement.getDestination(tile);
  return memory[tile] = target
                            ? memory.lookup(target)
                            : allocate(cast<RankedTensorType>(tile.getType()));
}

void TileEmitter::copyTile(Value tile, Value target) {
  auto type = cast<RankedTensorType>(tile.getType());
  bool isF32 = cast<MemRefType>(target.getType()).getElementType().isF32();
  forEachVector(
      type.getShape(),
      [&](ValueRange indices, int64_t width) {
        VectorReader reader(*this, indices, width);
        storeVector(isF32 ? reader.readF32(tile) : reader.read(tile), target,
                    indices);
      },
      maxUnrolled, getRowEnd(tile));
}

void TileEmitter::emitForms(Value tile) {
  if (placement.needsNatural(tile))
    emitNatural(tile);
  if (placement.needsPacked(tile))
    emitPacked(tile);
  if (placement.needsTransposed(tile))
    emitTransposed(tile);
}

void TileEmitter::emitNatural(Value tile) {
  TileKind kind = getTileKind(tile);
  if (kind == TileKind::Buffer || kind == TileKind::Reshape)
    return;
  auto type = cast<RankedTensorType>(tile.getType());
  Value destination = placement.getDestination(tile);
  Value target = destination ? memory.lookup(destination) : allocate(type);
  copyTile(tile, target);
  memory[tile] = target;
}

void TileEmitter::emitPacked(Value tile) {
  if (packedMemory.count(tile))
    return;
  auto type = cast<RankedTensorType>(tile.getType());
  Value target = allocate(type.clone(builder.getF32Type()));
  copyTile(tile, target);
  packedMemory[tile] = target;
}

Value TileEmitter::getPacked(Value tile) {
  if (Value packed = packedMemory.lookup(tile))
    return packed;
  return memory.lookup(tile);
}

/// Transposes rows by log2(n) perfect shuffles: row i of the result is column i
/// of `rows`.
static SmallVector<Value> transpose(OpBuilder &builder, Location loc,
                                    SmallVector<Value> rows) {
  int64_t n = rows.size();
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < n / 2; ++i) {
    low.append({i, n + i});
    high.append({n / 2 + i, n + n / 2 + i});
  }
  for (int64_t stage = 1; stage < n; stage *= 2) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < n / 2; ++i)
      for (ArrayRef<int64_t> mask : {ArrayRef(low), ArrayRef(high)})
        next.push_back(vector::ShuffleOp::create(builder, loc, rows[i],
                                                 rows[i + n / 2], mask));
    rows = std::move(next);
  }
  return rows;
}

void TileEmitter::emitTransposed(Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  Value target =
      allocate(RankedTensorType::get({columns, rows}, builder.getF32Type()));
  transposedMemory[tile] = target;

  int64_t block = lanes;
  while (rows % block != 0 || columns % block != 0)
    block /= 2;
  auto emitBlockAt = [&](Value row, Value column) {
    SmallVector<Value> vectors;
    auto at = [&](Value index, int64_t offset) -> Value {
      return arith::AddIOp::create(builder, loc, index, constant(offset));
    };
    for (int64_t i = 0; i < block; ++i)
      vectors.push_back(
          VectorReader(*this, {at(row, i), column}, block).readF32(tile));
    if (block > 1)
      vectors = transpose(builder, loc, vectors);
    for (int64_t i = 0; i < block; ++i)
      storeVector(vectors[i], target, {at(column, i), row});
  };
  forEach(constant(0), constant(rows), block, [&](Value row) {
    forEach(constant(0), constant(columns), block,
            [&](Value column) { emitBlockAt(row, column); });
  });
}

void TileEmitter::emitReshape(Operation *op) {
  // Memory of a tile is row-major: a reshape is another type for it.
  Value source = memory.lookup(op->getOperand(0));
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  auto sourceType = cast<MemRefType>(source.getType());
  auto resultType =
      MemRefType::get(type.getShape(), sourceType.getElementType());
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    memory[op->getResult(0)] = memref::CollapseShapeOp::create(
        builder, loc, resultType, source, collapse.getReassociationIndices());
    return;
  }
  auto expand = cast<tensor::ExpandShapeOp>(op);
  memory[op->getResult(0)] = memref::ExpandShapeOp::create(
      builder, loc, resultType, source, expand.getReassociationIndices());
}

FailureOr<Value> TileEmitter::emitSubview(OffsetSizeAndStrideOpInterface op,
                                          RankedTensorType slice, Value whole) {
  auto type = cast<MemRefType>(whole.getType());
  if (slice.getRank() != type.getRank() || !op.hasUnitStride() ||
      !slice.hasStaticShape())
    return op->emitOpError("expected a slice of the same rank, of static sizes "
                           "and steps of 1");
  SmallVector<OpFoldResult> offsets;
  for (OpFoldResult offset : op.getMixedOffsets())
    offsets.push_back(isa<Value>(offset)
                          ? OpFoldResult(lookup(cast<Value>(offset)))
                          : offset);
  return Value(memref::SubViewOp::create(
      builder, loc, whole, offsets, op.getMixedSizes(), op.getMixedStrides()));
}

LogicalResult TileEmitter::emitSlice(tensor::ExtractSliceOp op) {
  FailureOr<Value> view =
      emitSubview(op, op.getType(), memory.lookup(op.getSource()));
  if (failed(view))
    return failure();
  memory[op.getResult()] = *view;
  return success();
}

LogicalResult TileEmitter::emitInsert(tensor::InsertSliceOp op) {
  Value target = allocateResult(op.getResult());
  if (getMemory(op.getDest()) != target)
    copyTile(op.getDest(), target);
  FailureOr<Value> view = emitSubview(op, op.getSourceType(), target);
  if (failed(view))
    return failure();
  copyTile(op.getSource(), *view);
  return success();
}
