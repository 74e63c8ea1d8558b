//===- EmitSlices.cpp - Parts of tiles ------------------------------------===//

#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

class SliceEmitter {
public:
  explicit SliceEmitter(Kernel &kernel)
      : b(kernel.b), threads(kernel.threads), program(kernel.program),
        shared(kernel.shared), sharedTiles(kernel.sharedTiles),
        sync(kernel.sync) {}

  LogicalResult emitExtract(tensor::ExtractOp op);
  LogicalResult emitExtractSlice(tensor::ExtractSliceOp op);
  LogicalResult emitInsertSlice(tensor::InsertSliceOp op);

private:
  std::optional<SmallVector<Value>>
  getOffsets(OffsetSizeAndStrideOpInterface op, RankedTensorType slice,
             RankedTensorType whole);
  SharedTile spillSlice(Value source, ArrayRef<Value> offsets,
                        RankedTensorType slice);

  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  SharedMemory &shared;
  SharedTiles &sharedTiles;
  Synchronizer &sync;
};

} // namespace

LogicalResult SliceEmitter::emitExtract(tensor::ExtractOp op) {
  if (!isShared(getTile(op.getTensor())))
    return reject(op);
  SharedTile tile = sharedTiles.get(op.getTensor());
  sync.beforeRead(tile);
  SmallVector<Value> indices = program.lookupAll(op.getIndices());
  program.map(op.getResult(), shared.loadElement(tile, indices));
  return success();
}

/// Offsets of a slice as values; none where steps aren't 1 or dimensions
/// vanish.
std::optional<SmallVector<Value>>
SliceEmitter::getOffsets(OffsetSizeAndStrideOpInterface op,
                         RankedTensorType slice, RankedTensorType whole) {
  bool hasSteps = llvm::any_of(op.getMixedStrides(), [](OpFoldResult stride) {
    return getConstantIntValue(stride) != 1;
  });
  if (hasSteps || slice.getRank() != whole.getRank())
    return std::nullopt;
  SmallVector<Value> offsets;
  for (OpFoldResult offset : op.getMixedOffsets()) {
    if (std::optional<int64_t> constant = getConstantIntValue(offset))
      offsets.push_back(b.i32(*constant));
    else
      offsets.push_back(program.lookup(cast<Value>(offset)));
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
SharedTile SliceEmitter::spillSlice(Value source, ArrayRef<Value> offsets,
                                    RankedTensorType slice) {
  SharedTile tile = sharedTiles.allocate(
      RankedTensorType::get(slice.getShape(), slice.getElementType()));
  sync.beforeWrite(tile);
  const TileLayout &layout = program.getLayout(getTile(source));
  for (auto [index, value] : llvm::enumerate(program.getRegisters(source))) {
    if (layout.isPadding(index))
      continue;
    Value taken = threads.getOwned(layout, index), kept = value;
    SmallVector<Value> coordinates;
    for (auto [expr, offset, size] : llvm::zip_equal(
             layout.getCoordinates(index), offsets, slice.getShape())) {
      Value place = threads.materialize(threads.getCoordinate(expr));
      place = b.make<arith::SubIOp>(place, offset);
      // Unsigned, what is before the slice is beyond it.
      taken = b.both(taken, b.make<arith::CmpIOp>(arith::CmpIPredicate::ult,
                                                  place, b.i32(size)));
      coordinates.push_back(place);
    }
    Value address = shared.getElementPointer(tile, coordinates);
    b.when(taken, [&] { b.store(kept, address, tile.elementBytes); });
  }
  return tile;
}

LogicalResult SliceEmitter::emitExtractSlice(tensor::ExtractSliceOp op) {
  RankedTensorType source = getTile(op.getSource());
  RankedTensorType result = getTile(op.getResult());
  if (isShared(result))
    return reject(op);
  const TileLayout &layout = program.getLayout(result);
  Type element = getRegisterType(result.getElementType());
  SmallVector<Value> values;
  bool isAtBegin = llvm::all_of(op.getStaticOffsets(),
                                [](int64_t offset) { return offset == 0; });
  bool isSame = isAtBegin && source.getEncoding() == result.getEncoding() &&
                isa<MmaLayoutAttr>(result.getEncoding());
  if (isSame) {
    for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
      std::optional<int64_t> other =
          findMmaRegister(layout, program.getLayout(source), index);
      values.push_back(other ? program.getRegisters(op.getSource())[*other]
                             : b.zero(element));
    }
    program.setRegisters(op.getResult(), std::move(values));
    return success();
  }
  auto offsets = getOffsets(op, result, source);
  if (!offsets)
    return reject(op);
  bool isInPlace = isShared(source);
  SharedTile tile = isInPlace ? sharedTiles.get(op.getSource())
                              : spillSlice(op.getSource(), *offsets, result);
  sync.beforeRead(tile);
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    if (layout.isPadding(index)) {
      values.push_back(b.zero(element));
      continue;
    }
    SmallVector<Value> coordinates;
    for (auto [expr, offset] :
         llvm::zip_equal(layout.getCoordinates(index), *offsets)) {
      Value place = threads.materialize(threads.getCoordinate(expr));
      coordinates.push_back(isInPlace ? b.add(place, offset) : place);
    }
    values.push_back(shared.loadElementIf(threads.getInside(layout, index),
                                          tile, coordinates, b.zero(element)));
  }
  if (!isInPlace)
    sharedTiles.release(tile);
  program.setRegisters(op.getResult(), std::move(values));
  return success();
}

LogicalResult SliceEmitter::emitInsertSlice(tensor::InsertSliceOp op) {
  RankedTensorType source = getTile(op.getSource());
  RankedTensorType result = getTile(op.getResult());
  if (isShared(result) || isShared(getTile(op.getDest())))
    return reject(op);
  const TileLayout &layout = program.getLayout(result);
  ArrayRef<Value> old = program.getRegisters(op.getDest());
  SmallVector<Value> values;
  if (!isShared(source)) {
    const TileLayout &part = program.getLayout(source);
    ArrayRef<Value> news = program.getRegisters(op.getSource());
    for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
      std::optional<int64_t> other = findMmaRegister(layout, part, index);
      values.push_back(other && !part.isPadding(*other)
                           ? b.select(threads.getInside(part, *other),
                                      news[*other], old[index])
                           : old[index]);
    }
    program.setRegisters(op.getResult(), std::move(values));
    return success();
  }
  auto offsets = getOffsets(op, source, result);
  if (!offsets)
    return reject(op);
  SharedTile tile = sharedTiles.get(op.getSource());
  sync.beforeRead(tile);
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    if (layout.isPadding(index)) {
      values.push_back(old[index]);
      continue;
    }
    SmallVector<Value> coordinates;
    Value inside = threads.getInside(layout, index);
    for (auto [expr, offset, size] : llvm::zip_equal(
             layout.getCoordinates(index), *offsets, source.getShape())) {
      Value coordinate = b.make<arith::SubIOp>(
          threads.materialize(threads.getCoordinate(expr)), offset);
      // Unsigned, what is before the slice is beyond it.
      inside = b.both(inside, b.make<arith::CmpIOp>(arith::CmpIPredicate::ult,
                                                    coordinate, b.i32(size)));
      coordinates.push_back(coordinate);
    }
    values.push_back(
        shared.loadElementIf(inside, tile, coordinates, old[index]));
  }
  program.setRegisters(op.getResult(), std::move(values));
  return success();
}

void nsacc::addSlices(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<SliceEmitter>(kernel),
              &SliceEmitter::emitExtract, &SliceEmitter::emitExtractSlice,
              &SliceEmitter::emitInsertSlice);
}
