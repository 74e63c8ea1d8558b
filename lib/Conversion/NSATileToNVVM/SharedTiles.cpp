//===- SharedTiles.cpp - Elements of tiles in shared memory ---------------===//

#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

SharedTile KernelEmitter::allocate(RankedTensorType type) {
  SharedTile tile = SharedTile::get(type);
  tile.offset = shared.allocate(tile.bytes);
  return tile;
}

void KernelEmitter::release(const SharedTile &tile) {
  if (tile.isOwner)
    shared.release(tile.offset);
}

void KernelEmitter::beforeRead(const SharedTile &tile) {
  if (tile.isGuarded)
    return;
  SharedMemory::Access access = {tile.offset, tile.offset + tile.bytes, false};
  if (shared.mustWait(access))
    barrier();
  shared.add(access);
}

void KernelEmitter::beforeWrite(const SharedTile &tile) {
  SharedMemory::Access access = {tile.offset, tile.offset + tile.bytes, true};
  if (shared.mustWait(access))
    barrier();
  shared.add(access);
}

Value KernelEmitter::getByteOffset(const SharedTile &tile, Value row,
                                   Value column) {
  Value inRow = mul(row, i32(tile.pitch));
  if (tile.swizzle == 0)
    return add(inRow, mul(column, i32(tile.elementBytes)));
  // Slab, row, chunk of 16 bytes among the row's 8, and place within the chunk.
  Value slab = make<arith::ShRUIOp>(column, i32(6));
  Value chunk =
      make<arith::ShRUIOp>(Value(make<arith::AndIOp>(column, i32(63))), i32(3));
  Value swizzled =
      make<arith::XOrIOp>(chunk, Value(make<arith::AndIOp>(row, i32(7))));
  Value inChunk =
      mul(Value(make<arith::AndIOp>(column, i32(7))), i32(tile.elementBytes));
  Value offset = add(mul(slab, i32(tile.paddedRows * tile.pitch)), inRow);
  return add(add(offset, mul(swizzled, i32(16))), inChunk);
}

Value KernelEmitter::getAddress(const SharedTile &tile, Value byteOffset) {
  Value offset = add(byteOffset, i32(tile.offset));
  if (tile.place)
    offset = add(offset, tile.place);
  return make<LLVM::GEPOp>(sharedBase.getType(), builder.getI8Type(),
                           sharedBase, ValueRange{offset});
}

Value KernelEmitter::getSharedPointer(Value offset, Value more) {
  Value pointer = make<LLVM::GEPOp>(sharedBase.getType(), builder.getI8Type(),
                                    sharedBase, ValueRange{offset});
  return more ? make<LLVM::GEPOp>(sharedBase.getType(), builder.getI8Type(),
                                  pointer, ValueRange{more})
              : pointer;
}

Value KernelEmitter::advanceShared(Value pointer, int64_t bytes) {
  return make<LLVM::GEPOp>(pointer.getType(), builder.getI8Type(), pointer,
                           ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
}

Value KernelEmitter::getElementAddress(const SharedTile &tile,
                                       ValueRange coordinates) {
  // All dimensions but the last are rows.
  ArrayRef<int64_t> shape = tile.type.getShape();
  Value row = i32(0), column = i32(0);
  if (!coordinates.empty()) {
    column = coordinates.back();
    for (auto [coordinate, size] :
         llvm::zip_equal(coordinates.drop_back(), shape.drop_back()))
      row = add(mul(row, i32(size)), coordinate);
  }
  return getAddress(tile, getByteOffset(tile, row, column));
}

Value KernelEmitter::loadElement(const SharedTile &tile,
                                 ValueRange coordinates) {
  Type type = getRegisterType(tile.type.getElementType());
  return loadGlobal(type, getElementAddress(tile, coordinates),
                    tile.elementBytes);
}

Value KernelEmitter::loadElementIf(Value condition, const SharedTile &tile,
                                   ValueRange coordinates, Value other) {
  // Any place of the tile will do for what isn't taken.
  SmallVector<Value> places;
  for (Value coordinate : coordinates)
    places.push_back(select(condition, coordinate, i32(0)));
  return select(condition, loadElement(tile, places), other);
}

void KernelEmitter::writeShared(const SharedTile &tile, RankedTensorType type,
                                ArrayRef<Value> values) {
  const TileLayout &layout = getLayout(type);
  for (auto [index, value] : llvm::enumerate(values)) {
    if (layout.isPadding(index))
      continue;
    SmallVector<Value> coordinates;
    for (AffineExpr expr : layout.getCoordinates(index))
      coordinates.push_back(materialize(getCoordinate(expr)));
    Value address = getElementAddress(tile, coordinates);
    Value stored = value;
    when(getOwned(layout, index),
         [&] { storeGlobal(stored, address, tile.elementBytes); });
  }
}

SmallVector<Value> KernelEmitter::readShared(const SharedTile &tile,
                                             RankedTensorType type) {
  const TileLayout &layout = getLayout(type);
  Type element = getRegisterType(type.getElementType());
  SmallVector<Value> values;
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    if (layout.isPadding(index)) {
      values.push_back(zero(element));
      continue;
    }
    SmallVector<Value> coordinates;
    for (AffineExpr expr : layout.getCoordinates(index))
      coordinates.push_back(materialize(getCoordinate(expr)));
    values.push_back(loadElementIf(getInside(layout, index), tile, coordinates,
                                   zero(element)));
  }
  return values;
}

SharedTile KernelEmitter::spill(Value value) {
  RankedTensorType type = getTile(value);
  SharedTile tile =
      allocate(RankedTensorType::get(type.getShape(), type.getElementType()));
  beforeWrite(tile);
  writeShared(tile, type, getRegisters(value));
  beforeRead(tile);
  return tile;
}
