//===- KeyTiling.cpp - Tiles of keys --------------------------------------===//

#include "KeyTiling.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;

KeyTiling KeyTiling::ofBlocks(int64_t block, int64_t keys) {
  // Tiles of whole vectors, also at the end of a block of odd size.
  constexpr int64_t granularity = 16;
  KeyTiling tiling;
  tiling.block = block;
  tiling.width = block % keys == 0
                     ? keys
                     : llvm::alignTo(llvm::divideCeil(
                                         block, llvm::divideCeil(block, keys)),
                                     granularity);
  tiling.parts = llvm::divideCeil(block, tiling.width);
  return tiling;
}

KeyTile KeyTiling::getTile(IndexMath m, Value number) const {
  if (block == 0)
    return {.first = m.add(origin, m.mul(number, width)),
            .count = width,
            .block = matchPattern(origin, m_Zero()) ? width : 0};
  Value entry = m.floorDiv(number, parts);
  Value first = m.mul(entry, block);
  KeyTile tile = {.first = first, .count = width, .block = block};
  if (parts > 1)
    tile.first = m.add(first, m.mul(m.sub(number, m.mul(entry, parts)), width));
  if (parts * width != block)
    tile.end = m.add(first, block);
  return tile;
}

Value KeyTiling::getTileBefore(IndexMath m, Value key) const {
  if (block == 0)
    return m.floorDiv(m.sub(key, origin), width);
  Value entry = m.floorDiv(key, block);
  if (parts == 1)
    return entry;
  Value rest = m.sub(key, m.mul(entry, block));
  return m.add(m.mul(entry, parts), m.floorDiv(rest, width));
}

Value KeyTiling::getTileBehind(IndexMath m, Value key) const {
  if (block == 0)
    return m.ceilDiv(m.sub(key, origin), width);
  if (parts == 1)
    return m.ceilDiv(key, block);
  Value entry = m.floorDiv(key, block);
  Value rest = m.sub(key, m.mul(entry, block));
  return m.add(m.mul(entry, parts),
               m.min(m.ceilDiv(rest, width), m.constant(parts)));
}

SmallVector<nsatile::TileRange>
nsacc::clampRanges(IndexMath m, ArrayRef<nsatile::TileRange> ranges, Value low,
                   Value high) {
  SmallVector<nsatile::TileRange> cut;
  for (const nsatile::TileRange &own : ranges) {
    nsatile::TileRange range;
    range.first = m.clamp(low, own.first, own.end);
    range.end = m.clamp(high, range.first, own.end);
    // Ends of a range that are known to be equal stay so.
    range.fullFirst = own.hasHead()
                          ? m.clamp(own.fullFirst, range.first, range.end)
                          : range.first;
    range.fullEnd = !own.hasFull() ? range.fullFirst
                    : !own.hasTail()
                        ? range.end
                        : m.clamp(own.fullEnd, range.fullFirst, range.end);
    cut.push_back(range);
  }
  return cut;
}
