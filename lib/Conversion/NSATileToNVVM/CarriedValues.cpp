//===- CarriedValues.cpp - Tiles that loops and branches carry ------------===//

#include "CarriedValues.h"
#include "Fragments.h"
#include "NSATile/IR/NSATileOps.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

/// Whether a tile is a left operand of a product.
static bool isCarriedInPairs(RankedTensorType type) {
  return isa<FloatType>(type.getElementType()) &&
         type.getElementTypeBitWidth() == 16 &&
         isa_and_present<MmaLayoutAttr>(type.getEncoding());
}

SmallVector<Type> CarriedValues::getTypes(TypeRange from) const {
  SmallVector<Type> types;
  for (Type each : from) {
    auto tile = dyn_cast<RankedTensorType>(each);
    if (!tile) {
      types.push_back(getRegisterType(each));
      continue;
    }
    const TileLayout &layout = program.getLayout(tile);
    if (isCarriedInPairs(tile)) {
      types.append(layout.getNumRegisters() / 2, b.getI32Type());
      continue;
    }
    for (int64_t index = 0; index < layout.getNumRegisters(); ++index)
      if (!layout.isPadding(index))
        types.push_back(getRegisterType(tile.getElementType()));
  }
  return types;
}

SmallVector<Value> CarriedValues::take(ValueRange values) const {
  SmallVector<Value> taken;
  for (Value value : values) {
    if (!isTile(value.getType())) {
      taken.push_back(program.lookup(value));
      continue;
    }
    ArrayRef<Value> registers = program.getRegisters(value);
    if (isCarriedInPairs(getTile(value))) {
      for (size_t index = 0; index < registers.size(); index += 2)
        taken.push_back(pack(b, registers[index], registers[index + 1]));
      continue;
    }
    const TileLayout &layout = program.getLayout(getTile(value));
    for (auto [index, reg] : llvm::enumerate(registers))
      if (!layout.isPadding(index))
        taken.push_back(reg);
  }
  return taken;
}

void CarriedValues::give(ValueRange values, ValueRange carried) const {
  auto next = [&] {
    Value value = carried.front();
    carried = carried.drop_front();
    return value;
  };
  for (Value value : values) {
    if (!isTile(value.getType())) {
      program.map(value, next());
      continue;
    }
    RankedTensorType type = getTile(value);
    const TileLayout &layout = program.getLayout(type);
    SmallVector<Value> registers;
    if (isCarriedInPairs(type))
      for (int64_t i = 0; i < layout.getNumRegisters(); i += 2)
        llvm::append_range(registers, unpack(b, type.getElementType(), next()));
    else
      for (int64_t index = 0; index < layout.getNumRegisters(); ++index)
        registers.push_back(layout.isPadding(index)
                                ? b.zero(getRegisterType(type.getElementType()))
                                : next());
    program.setRegisters(value, std::move(registers));
  }
}
