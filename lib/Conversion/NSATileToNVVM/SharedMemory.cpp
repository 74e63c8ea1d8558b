//===- SharedMemory.cpp - Places of tiles, and who waits for whom ---------===//

#include "SharedMemory.h"
#include "NSATile/IR/NSATileOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;

/// Slabs of 64 columns start where the swizzle's pattern does.
constexpr int64_t kAlignment = 1024;

SharedTile SharedTile::get(RankedTensorType type) {
  SharedTile tile;
  tile.type = type;
  Attribute layout = type.getEncoding();
  if (auto reshape = dyn_cast_if_present<nsatile::ReshapeLayoutAttr>(layout)) {
    layout = reshape.getOf();
    type = RankedTensorType::get(reshape.getAs(), type.getElementType());
  }
  if (auto given = dyn_cast_if_present<nsatile::SharedLayoutAttr>(layout))
    tile.swizzle = given.getSwizzle();
  if (type.getRank() > 0) {
    tile.columns = type.getShape().back();
    tile.rows = ShapedType::getNumElements(type.getShape().drop_back());
  }
  Type element = type.getElementType();
  int64_t bits = element.isIndex() ? 32 : element.getIntOrFloatBitWidth();
  tile.elementBytes = llvm::divideCeil(bits, 8);
  tile.paddedRows = tile.rows;
  tile.paddedColumns = tile.columns;
  if (tile.swizzle != 0) {
    // Tensor cores take 16 of the inner dimension at a time.
    tile.paddedRows = llvm::alignTo(tile.rows, 16);
    tile.paddedColumns = llvm::alignTo(tile.columns, 16);
    int64_t slabs = llvm::divideCeil(tile.paddedColumns, 64);
    tile.pitch = 128;
    tile.bytes = slabs * tile.paddedRows * tile.pitch;
    return tile;
  }
  // Rows that begin 16 bytes further keep columns out of the same bank.
  tile.pitch = llvm::alignTo(tile.columns * tile.elementBytes, 16);
  if (tile.rows > 1)
    tile.pitch += 16;
  // Registers beyond the last column read on.
  constexpr int64_t slack = 64;
  tile.bytes = tile.rows * tile.pitch + slack;
  return tile;
}

int64_t SharedMemory::allocate(int64_t bytes) {
  bytes = llvm::alignTo(std::max<int64_t>(bytes, 1), kAlignment);
  int64_t begin = 0;
  auto before = places.begin();
  for (; before != places.end(); ++before) {
    if (begin + bytes <= before->begin)
      break;
    begin = before->end;
  }
  places.insert(before, {begin, begin + bytes});
  peak = std::max(peak, begin + bytes);
  return begin;
}

void SharedMemory::release(int64_t offset) {
  llvm::erase_if(places,
                 [&](const Place &place) { return place.begin == offset; });
}

bool SharedMemory::mustWait(const Access &access) const {
  return llvm::any_of(pending, [&](const Access &other) {
    return (access.isWrite || other.isWrite) && access.begin < other.end &&
           other.begin < access.end;
  });
}
