//===- StoredStates.cpp - States of rows in memory ------------------------===//

#include "StoredStates.h"
#include "ScaledF16.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

/// Arithmetic on a part of a state, and the axes that the part has.
static std::pair<TileMath, TileAxes> getMath(OpBuilder &builder, Location loc,
                                             Value part) {
  auto type = cast<RankedTensorType>(part.getType());
  bool isMatrix = type.getRank() == 2;
  return {TileMath(builder, loc, type.getDimSize(0),
                   isMatrix ? type.getDimSize(1) : 1),
          isMatrix ? TileAxes::Matrix : TileAxes::Row};
}

void StoredStates::store(Value split, ValueRange state) {
  for (auto [buffer, rows] : llvm::zip_equal(partial.buffers, state))
    storeQueryState(program, tile, rows, program.import(buffer), split);
}

RowState StoredStates::load(Value split) {
  if (partial.selection)
    return loadEntry(split);
  RowState state;
  for (Value buffer : partial.buffers)
    state.push_back(
        loadQueryState(program, tile, program.import(buffer), split));
  return state;
}

RowState StoredStates::loadEntry(Value entry) {
  int64_t top = cast<SelectionType>(partial.selection.getType()).getTop();
  Tile exists = {hasEntry(program, tile, partial.selection, entry),
                 TileAxes::Row};
  RowState stored, state;
  for (Value buffer : partial.buffers)
    stored.push_back(
        loadListedState(program, tile, program.import(buffer), entry, top));
  ArrayRef<Value> rest = stored;
  auto take = [&] {
    Value first = rest.front();
    rest = rest.drop_front();
    return first;
  };
  for (Value initial : fold.getInitialState(tile.getRows())) {
    auto [math, axes] = getMath(builder, loc, initial);
    Tile part = {take(), axes};
    if (axes == TileAxes::Matrix && partial.areScaled)
      part = unpackScaledF16(math, part, {take(), TileAxes::Row});
    state.push_back(math.select(exists, part, {initial, axes}).value);
  }
  return state;
}

RowState StoredStates::mergeSplits(ValueRange state, Value first, Value end,
                                   int64_t count) {
  IndexMath m = program.math();
  auto loop = scf::ForOp::create(
      builder, loc, first, end, m.constant(count), state,
      [&](OpBuilder &, Location, Value split, ValueRange carried) {
        // All loads are under way before the first is waited for.
        SmallVector<RowState> loaded;
        for (int64_t i = 0; i < count; ++i) {
          loaded.push_back(load(m.add(split, i)));
          // Parts behind the fold's are for other readers.
          loaded.back().truncate(carried.size());
        }
        RowState merged(carried);
        for (const RowState &each : loaded)
          merged = fold.merge(merged, each);
        scf::YieldOp::create(builder, loc, merged);
      });
  return RowState(loop.getResults());
}

RowState StoredStates::merge() {
  IndexMath m = program.math();
  constexpr int64_t together = 4;
  Value end = program.importNumber(partial.splits);
  Value pieces = m.mul(m.floorDiv(end, together), together);
  RowState state = fold.getInitialState(tile.getRows());
  state = mergeSplits(state, m.constant(0), pieces, together);
  return mergeSplits(state, pieces, end, 1);
}

RowState nsacc::scaleState(ProgramBuilder &program, ValueRange state) {
  RowState stored;
  for (Value part : state) {
    auto [math, axes] = getMath(program.getBuilder(), program.getLoc(), part);
    if (axes != TileAxes::Matrix) {
      stored.push_back(part);
      continue;
    }
    ScaledF16 scaled = packScaledF16(math, part);
    stored.append({scaled.elements, scaled.scale});
  }
  return stored;
}

PartialStates nsacc::allocatePartialStates(PlanBuilder &plan,
                                           const QueryDims &dims,
                                           OpFoldResult splits,
                                           ArrayRef<Value> state,
                                           int64_t channels) {
  OpBuilder &builder = plan.getBuilder();
  PartialStates partial;
  partial.splits = splits;
  std::optional<int64_t> numSplits = getConstantIntValue(splits);
  for (Value part : state) {
    SmallVector<int64_t> shape = {numSplits.value_or(ShapedType::kDynamic)};
    SmallVector<Value> sizes;
    if (!numSplits)
      sizes.push_back(cast<Value>(splits));
    for (Attribute dim : {dims.batch, dims.token, dims.head}) {
      if (!dim)
        continue;
      std::optional<int64_t> size = plan.getStaticSize(dim);
      shape.push_back(size.value_or(ShapedType::kDynamic));
      if (!size)
        sizes.push_back(plan.getSize(dim));
    }
    auto type = cast<RankedTensorType>(part.getType());
    if (type.getRank() == 2)
      shape.push_back(channels);
    partial.buffers.push_back(
        plan.allocate(MemRefType::get(shape, builder.getF32Type()), sizes));
  }
  return partial;
}
