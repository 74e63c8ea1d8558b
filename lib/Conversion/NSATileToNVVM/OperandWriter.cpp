//===- OperandWriter.cpp - Tiles that threads write for products ----------===//

#include "OperandWriter.h"
#include "Instructions.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

/// Writes four matrices of 8 by 8 at a time, which code for products in flight
/// can do. False for tiles that aren't made of such matrices.
bool OperandWriter::writeMatrices(const SharedTile &tile, Value source) {
  RankedTensorType type = getTile(source);
  auto mma = dyn_cast_if_present<MmaLayoutAttr>(type.getEncoding());
  if (!mma || tile.swizzle != 128 || type.getElementTypeBitWidth() != 16 ||
      type.getDimSize(0) % (16 * mma.getWarps()) != 0 ||
      type.getDimSize(1) % 16 != 0)
    return false;
  ArrayRef<Value> values = program.getRegisters(source);
  int64_t steps = type.getDimSize(1) / 16;
  for (int64_t m = 0; m < type.getDimSize(0) / (16 * mma.getWarps()); ++m)
    for (int64_t step = 0; step < steps; ++step) {
      ArrayRef<Value> own = values.slice((m * steps + step) * 8, 8);
      SmallVector<Value, 4> words;
      for (int64_t word = 0; word < 4; ++word)
        words.push_back(pack(b, own[2 * word], own[2 * word + 1]));
      loader.storeLeft(tile, mma.getWarps(), m, step, words);
    }
  return true;
}

void OperandWriter::write(const SharedTile &tile, Value source,
                          bool isInFlight) {
  if (!isInFlight || !writeMatrices(tile, source))
    sharedTiles.write(tile, getTile(source), program.getRegisters(source));
  if (isInFlight)
    nvvm::fenceSharedForAsync(b);
}
