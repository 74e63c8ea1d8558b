//===- EmitLayout.cpp - Tiles that change registers -----------------------===//

#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

/// Sums of what copies hold of partial rows.
static FailureOr<SmallVector<Value>> addCopies(KernelEmitter &emitter,
                                               const TileLayout &layout,
                                               ArrayRef<Value> values) {
  SmallVector<Value> sums(values);
  for (ThreadDim dim : layout.getCopies()) {
    if (dim == ThreadDim::Warp)
      return failure();
    SmallVector<int64_t> masks = {1, 2};
    if (dim == ThreadDim::Group)
      masks = {4, 8, 16};
    for (Value &sum : sums)
      for (int64_t mask : masks)
        sum = emitter.add(sum, emitter.shuffleXor(sum, mask));
  }
  return sums;
}

/// One of the copies stays, the others become 0.
static SmallVector<Value> keepOneCopy(KernelEmitter &emitter,
                                      const TileLayout &layout,
                                      ArrayRef<Value> values) {
  Value isFirst;
  for (ThreadDim dim : layout.getCopies())
    isFirst = emitter.both(
        isFirst,
        emitter.make<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                    emitter.getThreadDim(dim), emitter.i32(0)));
  SmallVector<Value> kept;
  for (Value value : values)
    kept.push_back(
        emitter.select(isFirst, value, emitter.zero(value.getType())));
  return kept;
}

LogicalResult KernelEmitter::emitConvert(ConvertLayoutOp op) {
  RankedTensorType source = getTile(op.getSource());
  RankedTensorType result = getTile(op.getResult());
  if (auto partial = dyn_cast<PartialLayoutAttr>(source.getEncoding())) {
    FailureOr<SmallVector<Value>> sums =
        addCopies(*this, getLayout(source), getRegisters(op.getSource()));
    if (failed(sums))
      return reject(op);
    auto rows = RankedTensorType::get(source.getShape(),
                                      source.getElementType(), partial.getOf());
    if (result == rows)
      return setRegisters(op.getResult(), std::move(*sums)), success();
    bool isPlace = isShared(result);
    SharedTile tile =
        allocate(isPlace ? result
                         : RankedTensorType::get(result.getShape(),
                                                 result.getElementType()));
    beforeWrite(tile);
    writeShared(tile, rows, *sums);
    if (isPlace)
      return setShared(op.getResult(), tile), success();
    beforeRead(tile);
    setRegisters(op.getResult(), readShared(tile, result));
    release(tile);
    return success();
  }
  if (auto partial = dyn_cast<PartialLayoutAttr>(result.getEncoding())) {
    auto rows = RankedTensorType::get(result.getShape(),
                                      result.getElementType(), partial.getOf());
    SmallVector<Value> values;
    if (rows == source) {
      values = llvm::to_vector(getRegisters(op.getSource()));
    } else {
      SharedTile tile =
          isShared(source) ? getShared(op.getSource()) : spill(op.getSource());
      beforeRead(tile);
      values = readShared(tile, rows);
      if (!isShared(source))
        release(tile);
    }
    setRegisters(op.getResult(), keepOneCopy(*this, getLayout(rows), values));
    return success();
  }
  if (isShared(source)) {
    SharedTile tile = getShared(op.getSource());
    beforeRead(tile);
    if (isShared(result))
      return reject(op);
    setRegisters(op.getResult(), readShared(tile, result));
    return success();
  }
  if (isShared(result)) {
    SharedTile tile = allocate(result);
    if (tile.paddedRows != tile.rows || tile.paddedColumns != tile.columns) {
      // Products read on.
      beforeWrite(tile);
      int64_t words = tile.bytes / 4, threads = scope.numThreads;
      forEach(llvm::divideCeil(words, threads), 4, [&](Value round) {
        Value word = add(mul(round, i32(threads)), scope.thread);
        when(make<arith::CmpIOp>(arith::CmpIPredicate::ult, word, i32(words)),
             [&] {
               storeGlobal(i32(0), getAddress(tile, mul(word, i32(4))), 4);
             });
      });
    }
    beforeWrite(tile);
    writeShared(tile, source, getRegisters(op.getSource()));
    setShared(op.getResult(), tile);
    return success();
  }
  SharedTile tile = spill(op.getSource());
  setRegisters(op.getResult(), readShared(tile, result));
  release(tile);
  return success();
}

void KernelEmitter::emitReshape(ReshapeOp op) {
  if (isShared(getTile(op.getSource()))) {
    SharedTile tile = getShared(op.getSource());
    tile.type = getTile(op.getResult());
    return setShared(op.getResult(), tile);
  }
  setRegisters(op.getResult(), llvm::to_vector(getRegisters(op.getSource())));
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

LogicalResult KernelEmitter::emitExtract(tensor::ExtractOp op) {
  if (!isShared(getTile(op.getTensor())))
    return reject(op);
  SharedTile tile = getShared(op.getTensor());
  beforeRead(tile);
  SmallVector<Value> indices;
  for (Value index : op.getIndices())
    indices.push_back(lookup(index));
  mapScalar(op.getResult(), loadElement(tile, indices));
  return success();
}

/// Offsets of a slice as values; none where steps aren't 1 or dimensions
/// vanish.
static std::optional<SmallVector<Value>>
getOffsets(KernelEmitter &emitter, OffsetSizeAndStrideOpInterface op,
           RankedTensorType slice, RankedTensorType whole) {
  bool hasSteps = llvm::any_of(op.getMixedStrides(), [](OpFoldResult stride) {
    return getConstantIntValue(stride) != 1;
  });
  if (hasSteps || slice.getRank() != whole.getRank())
    return std::nullopt;
  SmallVector<Value> offsets;
  for (OpFoldResult offset : op.getMixedOffsets()) {
    if (std::optional<int64_t> constant = getConstantIntValue(offset))
      offsets.push_back(emitter.i32(*constant));
    else
      offsets.push_back(emitter.lookup(cast<Value>(offset)));
  }
  return offsets;
}

/// The register of a matrix of other size at the same place; none beyond it.
static std::optional<int64_t>
findMmaRegister(const TileLayout &to, const TileLayout &from, int64_t index) {
  for (int64_t other = 0; other < from.getNumRegisters(); ++other)
    if (from.getCoordinates(other) == to.getCoordinates(index))
      return other;
  return std::nullopt;
}

/// The part of a register tile that a slice takes, in shared memory.
static SharedTile spillSlice(KernelEmitter &emitter, Value source,
                             ArrayRef<Value> offsets, RankedTensorType slice) {
  SharedTile tile = emitter.allocate(
      RankedTensorType::get(slice.getShape(), slice.getElementType()));
  emitter.beforeWrite(tile);
  const TileLayout &layout = emitter.getLayout(getTile(source));
  for (auto [index, value] : llvm::enumerate(emitter.getRegisters(source))) {
    if (layout.isPadding(index))
      continue;
    Value taken = emitter.getOwned(layout, index), kept = value;
    SmallVector<Value> coordinates;
    for (auto [expr, offset, size] : llvm::zip_equal(
             layout.getCoordinates(index), offsets, slice.getShape())) {
      Value place = emitter.materialize(emitter.getCoordinate(expr));
      place = emitter.make<arith::SubIOp>(place, offset);
      // Unsigned, what is before the slice is beyond it.
      taken = emitter.both(
          taken, emitter.make<arith::CmpIOp>(arith::CmpIPredicate::ult, place,
                                             emitter.i32(size)));
      coordinates.push_back(place);
    }
    Value address = emitter.getElementAddress(tile, coordinates);
    emitter.when(
        taken, [&] { emitter.storeGlobal(kept, address, tile.elementBytes); });
  }
  return tile;
}

LogicalResult KernelEmitter::emitExtractSlice(tensor::ExtractSliceOp op) {
  RankedTensorType source = getTile(op.getSource());
  RankedTensorType result = getTile(op.getResult());
  if (isShared(result))
    return reject(op);
  const TileLayout &layout = getLayout(result);
  Type element = getRegisterType(result.getElementType());
  SmallVector<Value> values;
  bool isAtBegin = llvm::all_of(op.getStaticOffsets(),
                                [](int64_t offset) { return offset == 0; });
  bool isSame = isAtBegin && source.getEncoding() == result.getEncoding() &&
                isa<MmaLayoutAttr>(result.getEncoding());
  if (isSame) {
    for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
      std::optional<int64_t> other =
          findMmaRegister(layout, getLayout(source), index);
      values.push_back(other ? getRegisters(op.getSource())[*other]
                             : zero(element));
    }
    setRegisters(op.getResult(), std::move(values));
    return success();
  }
  auto offsets = getOffsets(*this, op, result, source);
  if (!offsets)
    return reject(op);
  bool isInPlace = isShared(source);
  SharedTile tile = isInPlace
                        ? getShared(op.getSource())
                        : spillSlice(*this, op.getSource(), *offsets, result);
  beforeRead(tile);
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    if (layout.isPadding(index)) {
      values.push_back(zero(element));
      continue;
    }
    SmallVector<Value> coordinates;
    for (auto [expr, offset] :
         llvm::zip_equal(layout.getCoordinates(index), *offsets)) {
      Value place = materialize(getCoordinate(expr));
      coordinates.push_back(isInPlace ? add(place, offset) : place);
    }
    values.push_back(loadElementIf(getInside(layout, index), tile, coordinates,
                                   zero(element)));
  }
  if (!isInPlace)
    release(tile);
  setRegisters(op.getResult(), std::move(values));
  return success();
}

LogicalResult KernelEmitter::emitInsertSlice(tensor::InsertSliceOp op) {
  RankedTensorType source = getTile(op.getSource());
  RankedTensorType result = getTile(op.getResult());
  if (isShared(result) || isShared(getTile(op.getDest())))
    return reject(op);
  const TileLayout &layout = getLayout(result);
  ArrayRef<Value> old = getRegisters(op.getDest());
  SmallVector<Value> values;
  if (!isShared(source)) {
    const TileLayout &part = getLayout(source);
    ArrayRef<Value> news = getRegisters(op.getSource());
    for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
      std::optional<int64_t> other = findMmaRegister(layout, part, index);
      values.push_back(
          other && !part.isPadding(*other)
              ? select(getInside(part, *other), news[*other], old[index])
              : old[index]);
    }
    setRegisters(op.getResult(), std::move(values));
    return success();
  }
  auto offsets = getOffsets(*this, op, source, result);
  if (!offsets)
    return reject(op);
  SharedTile tile = getShared(op.getSource());
  beforeRead(tile);
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    if (layout.isPadding(index)) {
      values.push_back(old[index]);
      continue;
    }
    SmallVector<Value> coordinates;
    Value inside = getInside(layout, index);
    for (auto [expr, offset, size] : llvm::zip_equal(
             layout.getCoordinates(index), *offsets, source.getShape())) {
      Value coordinate =
          make<arith::SubIOp>(materialize(getCoordinate(expr)), offset);
      // Unsigned, what is before the slice is beyond it.
      inside = both(inside, make<arith::CmpIOp>(arith::CmpIPredicate::ult,
                                                coordinate, i32(size)));
      coordinates.push_back(coordinate);
    }
    values.push_back(loadElementIf(inside, tile, coordinates, old[index]));
  }
  setRegisters(op.getResult(), std::move(values));
  return success();
}

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

void KernelEmitter::emitExchange(ExchangeOp op) {
  RankedTensorType type = getTile(op.getResult());
  const TileLayout &layout = getLayout(type);
  int64_t mask = op.getMask();
  SmallVector<Value> values;
  if (!isa<MmaLayoutAttr>(type.getEncoding())) {
    SharedTile tile = spill(op.getKeys());
    for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
      auto coordinates = layout.getCoordinates(index);
      Value row = materialize(getCoordinate(coordinates[0]));
      Value column = make<arith::XOrIOp>(
          materialize(getCoordinate(coordinates[1])), i32(mask));
      Type element = getRegisterType(type.getElementType());
      values.push_back(loadElementIf(getInside(layout, index), tile,
                                     {row, column}, zero(element)));
    }
    release(tile);
    return setRegisters(op.getResult(), std::move(values));
  }
  // Bit 0 of a column is in the register's number, bits 1 and 2 are in the
  // lane's.
  ArrayRef<Value> keys = getRegisters(op.getKeys());
  int64_t registerMask = mask / 8 * 4 + mask % 2, laneMask = mask / 2 % 4;
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    int64_t other = index ^ registerMask;
    // Columns are a power of two, so only padding has no partner.
    Value value = layout.isPadding(index) || other >= layout.getNumRegisters()
                      ? keys[index]
                      : keys[other];
    if (laneMask != 0 && !layout.isPadding(index))
      value = shuffleXor(value, laneMask);
    values.push_back(value);
  }
  setRegisters(op.getResult(), std::move(values));
}
