//===- EmitSlices.cpp - Parts of tiles ------------------------------------===//

#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Extracts and inserts parts of tiles.
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
  struct Place {
    SmallVector<Value> coordinates;
    Value inside;
  };
  std::optional<SmallVector<Value>>
  getOffsets(OffsetSizeAndStrideOpInterface op, RankedTensorType slice,
             RankedTensorType whole);
  Place getPlaceInSlice(const TileLayout &layout, int64_t index,
                        ArrayRef<Value> offsets, RankedTensorType slice,
                        Value condition);
  SharedTile spillSlice(Value source, ArrayRef<Value> offsets,
                        RankedTensorType slice);
  SmallVector<Value> takeRegisters(tensor::ExtractSliceOp op);
  SmallVector<Value> putRegisters(tensor::InsertSliceOp op);
  SmallVector<Value> putPart(tensor::InsertSliceOp op, ArrayRef<Value> offsets);

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

/// Offsets of a slice as values; none if steps aren't 1 or dimensions vanish.
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

/// Register at the same place in a matrix of another size; none beyond it.
static std::optional<int64_t>
findMmaRegister(const TileLayout &to, const TileLayout &from, int64_t index) {
  for (int64_t other = 0; other < from.getNumRegisters(); ++other)
    if (from.getCoordinates(other) == to.getCoordinates(index))
      return other;
  return std::nullopt;
}

/// A register's coordinates within a slice at `offsets`, and whether
/// `condition` holds and they are in the slice.
SliceEmitter::Place SliceEmitter::getPlaceInSlice(const TileLayout &layout,
                                                  int64_t index,
                                                  ArrayRef<Value> offsets,
                                                  RankedTensorType slice,
                                                  Value condition) {
  Place place = {{}, condition};
  for (auto [expr, offset, size] : llvm::zip_equal(layout.getCoordinates(index),
                                                   offsets, slice.getShape())) {
    Value coordinate = b.make<arith::SubIOp>(
        threads.materialize(threads.getCoordinate(expr)), offset);
    // Coordinates before the slice are beyond it as unsigned numbers.
    place.inside =
        b.both(place.inside, b.make<arith::CmpIOp>(arith::CmpIPredicate::ult,
                                                   coordinate, b.i32(size)));
    place.coordinates.push_back(coordinate);
  }
  return place;
}

//===----------------------------------------------------------------------===//
// Parts that are taken
//===----------------------------------------------------------------------===//

/// Writes the slice's part of a register tile to shared memory.
SharedTile SliceEmitter::spillSlice(Value source, ArrayRef<Value> offsets,
                                    RankedTensorType slice) {
  SharedTile tile = sharedTiles.allocate(
      RankedTensorType::get(slice.getShape(), slice.getElementType()));
  sync.beforeWrite(tile);
  const TileLayout &layout = program.getLayout(getTile(source));
  for (auto [index, value] : llvm::enumerate(program.getRegisters(source))) {
    if (layout.isPadding(index))
      continue;
    Value kept = value;
    Place place = getPlaceInSlice(layout, index, offsets, slice,
                                  threads.getOwned(layout, index));
    Value pointer = shared.getElementPointer(tile, place.coordinates);
    b.when(place.inside, [&] { b.store(kept, pointer, tile.elementBytes); });
  }
  return tile;
}

/// Takes a matrix of registers from the begin of another one.
SmallVector<Value> SliceEmitter::takeRegisters(tensor::ExtractSliceOp op) {
  const TileLayout &layout = program.getLayout(op.getType());
  const TileLayout &source = program.getLayout(getTile(op.getSource()));
  Type element = getRegisterType(op.getType().getElementType());
  SmallVector<Value> values;
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    std::optional<int64_t> other = findMmaRegister(layout, source, index);
    values.push_back(other ? program.getRegisters(op.getSource())[*other]
                           : b.zero(element));
  }
  return values;
}

LogicalResult SliceEmitter::emitExtractSlice(tensor::ExtractSliceOp op) {
  RankedTensorType source = getTile(op.getSource());
  RankedTensorType result = op.getType();
  if (isShared(result))
    return reject(op);
  bool isAtBegin = llvm::all_of(op.getStaticOffsets(),
                                [](int64_t offset) { return offset == 0; });
  if (isAtBegin && source.getEncoding() == result.getEncoding() &&
      isa<MmaLayoutAttr>(result.getEncoding())) {
    program.setRegisters(op.getResult(), takeRegisters(op));
    return success();
  }
  auto offsets = getOffsets(op, result, source);
  if (!offsets)
    return reject(op);
  bool isInPlace = isShared(source);
  SharedTile tile = isInPlace ? sharedTiles.get(op.getSource())
                              : spillSlice(op.getSource(), *offsets, result);
  sync.beforeRead(tile);
  program.setRegisters(
      op.getResult(),
      sharedTiles.read(tile, result,
                       isInPlace ? ArrayRef(*offsets) : ArrayRef<Value>()));
  if (!isInPlace)
    sharedTiles.release(tile);
  return success();
}

//===----------------------------------------------------------------------===//
// Parts that are put
//===----------------------------------------------------------------------===//

/// Puts a matrix of registers at the begin of another one.
SmallVector<Value> SliceEmitter::putRegisters(tensor::InsertSliceOp op) {
  const TileLayout &layout = program.getLayout(op.getType());
  const TileLayout &part = program.getLayout(getTile(op.getSource()));
  ArrayRef<Value> old = program.getRegisters(op.getDest());
  ArrayRef<Value> news = program.getRegisters(op.getSource());
  SmallVector<Value> values;
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    std::optional<int64_t> other = findMmaRegister(layout, part, index);
    values.push_back(other && !part.isPadding(*other)
                         ? b.select(threads.getInside(part, *other),
                                    news[*other], old[index])
                         : old[index]);
  }
  return values;
}

SmallVector<Value> SliceEmitter::putPart(tensor::InsertSliceOp op,
                                         ArrayRef<Value> offsets) {
  const TileLayout &layout = program.getLayout(op.getType());
  ArrayRef<Value> old = program.getRegisters(op.getDest());
  SharedTile tile = sharedTiles.get(op.getSource());
  sync.beforeRead(tile);
  SmallVector<Value> values;
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    if (layout.isPadding(index)) {
      values.push_back(old[index]);
      continue;
    }
    Place place =
        getPlaceInSlice(layout, index, offsets, getTile(op.getSource()),
                        threads.getInside(layout, index));
    values.push_back(shared.loadElementIf(place.inside, tile, place.coordinates,
                                          old[index]));
  }
  return values;
}

LogicalResult SliceEmitter::emitInsertSlice(tensor::InsertSliceOp op) {
  RankedTensorType source = getTile(op.getSource());
  if (isShared(op.getType()) || isShared(getTile(op.getDest())))
    return reject(op);
  if (!isShared(source)) {
    program.setRegisters(op.getResult(), putRegisters(op));
    return success();
  }
  auto offsets = getOffsets(op, source, op.getType());
  if (!offsets)
    return reject(op);
  program.setRegisters(op.getResult(), putPart(op, *offsets));
  return success();
}

void nsacc::addSlices(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<SliceEmitter>(kernel),
              &SliceEmitter::emitExtract, &SliceEmitter::emitExtractSlice,
              &SliceEmitter::emitInsertSlice);
}
