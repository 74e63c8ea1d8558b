//===- ProgramValues.cpp - Code for a program's values --------------------===//

#include "ProgramValues.h"
#include "NSATile/IR/NSATileOps.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

bool nsacc::isShared(RankedTensorType tile) {
  Attribute layout = tile.getEncoding();
  if (auto reshape = dyn_cast_if_present<ReshapeLayoutAttr>(layout))
    layout = reshape.getOf();
  return isa_and_present<SharedLayoutAttr>(layout);
}

SmallVector<Value> ProgramValues::lookupAll(ValueRange values) const {
  return llvm::map_to_vector(values,
                             [&](Value value) { return lookup(value); });
}

const TileLayout &ProgramValues::getLayout(RankedTensorType tile) {
  const void *key = tile.getAsOpaquePointer();
  auto place = layouts.find(key);
  if (place == layouts.end())
    place = layouts.try_emplace(key, *TileLayout::get(tile)).first;
  return place->second;
}
