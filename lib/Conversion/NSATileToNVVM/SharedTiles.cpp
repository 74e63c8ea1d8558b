//===- SharedTiles.cpp - Tiles in shared memory ---------------------------===//

#include "SharedTiles.h"
#include "NSATile/IR/NSATileOps.h"
#include "TileAccess.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

SharedTile SharedTiles::allocate(RankedTensorType type) {
  SharedTile tile = SharedTile::get(type);
  tile.offset = shared.allocate(tile.bytes, type);
  return tile;
}

void SharedTiles::release(const SharedTile &tile) {
  if (tile.isOwner)
    shared.release(tile.offset);
}

/// Whether an op behind `op` in its block reads the tile or a reshape of it, or
/// waits for a product that reads it.
static bool isReadBehind(Operation *op, Value tile) {
  Block *block = op->getBlock();
  SmallVector<Value> aliases = {tile};
  while (!aliases.empty())
    for (Operation *user : aliases.pop_back_val().getUsers()) {
      Operation *ancestor = block->findAncestorOpInBlock(*user);
      if (!ancestor || op->isBeforeInBlock(ancestor))
        return true;
      if (isa<ReshapeOp, DotAsyncOp>(user))
        aliases.push_back(user->getResult(0));
    }
  return false;
}

void SharedTiles::releaseDead(Operation *op) {
  SmallVector<Value> dead;
  for (auto &[tile, place] : places)
    if (tile.getParentBlock() == op->getBlock() && !isReadBehind(op, tile))
      dead.push_back(tile);
  for (Value tile : dead) {
    // A reshape shares its source's place.
    if (!tile.getDefiningOp<ReshapeOp>())
      release(get(tile));
    places.erase(tile);
  }
}

void SharedTiles::write(const SharedTile &tile, RankedTensorType type,
                        ArrayRef<Value> values) {
  const TileLayout &layout = program.getLayout(type);
  for (auto [index, value] : llvm::enumerate(values)) {
    if (layout.isPadding(index))
      continue;
    Value pointer =
        shared.getElementPointer(tile, threads.getPlace(layout, index));
    Value stored = value;
    b.when(threads.getOwned(layout, index),
           [&] { b.store(stored, pointer, tile.elementBytes); });
  }
}

/// Reads a circular buffer's vector: neighbouring elements of a thread at once.
SmallVector<Value> SharedTiles::readVector(const SharedTile &tile,
                                           RankedTensorType type) {
  const TileLayout &layout = program.getLayout(type);
  Type element = getRegisterType(type.getElementType());
  SmallVector<Value> values;
  for (RegisterGroup group :
       getGroups(layout, tile.elementBytes, /*isContiguous=*/true)) {
    Value pointer =
        shared.getElementPointer(tile, threads.getPlace(layout, group.first));
    if (group.count == 1) {
      values.push_back(b.load(element, pointer, tile.elementBytes));
      continue;
    }
    Value vector = b.load(VectorType::get({group.count}, element), pointer,
                          group.count * tile.elementBytes);
    for (int64_t i = 0; i < group.count; ++i)
      values.push_back(b.element(vector, i));
  }
  return values;
}

/// Whether every register of a layout has an element of the tile.
static bool isFull(const TileLayout &layout) {
  return llvm::all_of(llvm::seq(layout.getNumRegisters()), [&](int64_t index) {
    return !layout.isPadding(index) && layout.getConditions(index).empty();
  });
}

SmallVector<Value> SharedTiles::read(const SharedTile &tile,
                                     RankedTensorType type,
                                     ArrayRef<Value> offsets) {
  const TileLayout &layout = program.getLayout(type);
  if (!tile.isOwner && isSharedVector(tile.type) && isFull(layout))
    return readVector(tile, type);
  Type element = getRegisterType(type.getElementType());
  SmallVector<Value> values;
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    if (layout.isPadding(index)) {
      values.push_back(b.zero(element));
      continue;
    }
    SmallVector<Value> coordinates = threads.getPlace(layout, index);
    if (!offsets.empty())
      for (auto [coordinate, offset] : llvm::zip_equal(coordinates, offsets))
        coordinate = b.add(coordinate, offset);
    values.push_back(shared.loadElementIf(threads.getInside(layout, index),
                                          tile, coordinates, b.zero(element)));
  }
  return values;
}

SharedTile SharedTiles::spill(Value value) {
  RankedTensorType type = getTile(value);
  SharedTile tile =
      allocate(RankedTensorType::get(type.getShape(), type.getElementType()));
  sync.beforeWrite(tile);
  write(tile, type, program.getRegisters(value));
  sync.beforeRead(tile);
  return tile;
}
