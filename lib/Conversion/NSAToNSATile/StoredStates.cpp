//===- StoredStates.cpp - States of rows in memory ------------------------===//

#include "StoredStates.h"
#include "NSA/Analysis/Rounding.h"
#include "ScaledF16.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

void StoredStates::store(Value split, ValueRange state) {
  for (auto [buffer, rows] : llvm::zip_equal(partial.buffers, state))
    storeQueryState(program, tile, rows, program.import(buffer), split);
}

RowState StoredStates::load(Value split) {
  RowState state;
  if (partial.selection)
    state = loadEntry(split);
  else
    for (Value buffer : partial.buffers)
      state.push_back(
          loadQueryState(program, tile, program.import(buffer), split));
  // The accumulator may be stored though only the log-sum-exp is wanted.
  if (fold.hasOnlyLse())
    state.truncate(2);
  return state;
}

RowState StoredStates::loadEntry(Value entry) {
  TileMath math(builder, loc, tile.getRows(), fold.getChannels());
  int64_t top = cast<SelectionType>(partial.selection.getType()).getTop();
  Tile exists = {hasEntry(program, tile, partial.selection, entry),
                 TileAxes::Row};
  RowState stored, state;
  for (Value buffer : partial.buffers)
    stored.push_back(
        loadListedState(program, tile, program.import(buffer), entry, top));
  ArrayRef<Value> rest = stored;
  for (Value initial : fold.getInitialState(tile.getRows())) {
    Value part = rest.front();
    rest = rest.drop_front();
    TileAxes axes = TileAxes::Row;
    if (cast<RankedTensorType>(part.getType()).getRank() == 2) {
      axes = TileAxes::Matrix;
      if (isRoundedToBF16(fold.getOp())) {
        part =
            unpackScaledF16(math, {part, axes}, {rest.front(), TileAxes::Row})
                .value;
        rest = rest.drop_front();
      }
    }
    state.push_back(math.select(exists, {part, axes}, {initial, axes}).value);
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
        for (int64_t i = 0; i < count; ++i)
          loaded.push_back(load(m.add(split, i)));
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

RowState nsacc::packState(ProgramBuilder &program, const QueryTile &tile,
                          AttendFold &fold, ValueRange state) {
  if (!isRoundedToBF16(fold.getOp()))
    return RowState(state);
  RowState packed;
  for (Value part : state) {
    if (cast<RankedTensorType>(part.getType()).getRank() != 2) {
      packed.push_back(part);
      continue;
    }
    TileMath math(program.getBuilder(), program.getLoc(), tile.getRows(),
                  fold.getChannels());
    ScaledF16 scaled = packScaledF16(math, part);
    packed.append({scaled.elements, scaled.scale});
  }
  return packed;
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
