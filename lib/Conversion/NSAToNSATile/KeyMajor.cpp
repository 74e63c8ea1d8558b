//===- KeyMajor.cpp - Attention with loops over keys outside --------------===//

#include "Attention.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

SmallVector<Value> Attention::loadState(const PartialStates &partial,
                                        Value split) {
  SmallVector<Value> state;
  if (partial.selection)
    state = loadEntry(partial, split);
  else
    for (Value buffer : partial.buffers)
      state.push_back(
          loadQueryState(program, tile, program.import(buffer), split));
  // The accumulator may be stored though only the log-sum-exp is wanted.
  if (onlyLse)
    state.truncate(2);
  return state;
}

void Attention::storeState(const PartialStates &partial, Value split,
                           ValueRange state) {
  for (auto [buffer, rows] : llvm::zip_equal(partial.buffers, state))
    storeQueryState(program, tile, rows, program.import(buffer), split);
}

void Attention::updatePartial(const PartialStates &partial, Value split,
                              Value unit) {
  IndexMath m = program.math();
  QueryRows rows = scorer.getAllRows();
  SmallVector<KeyBounds> bounds = scorer.getBounds(rows);
  KeyTiling tiling = {.width = schedule.getKeys(), .origin = m.constant(0)};
  nsatile::FoldDomain domain = {.ranges = scorer.getRanges(bounds, tiling),
                                .at = unit};
  Value first = m.mul(unit, tiling.width);
  Value isSeen = scorer.isSeen(bounds, first, m.add(first, tiling.width));
  auto branch = scf::IfOp::create(builder, loc, isSeen,
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenYield());
  storeState(partial, split,
             foldTiles(rows, domain, loadState(partial, split),
                       [&](Value number, ValueRange) {
                         return tiling.getTile(program.math(), number);
                       }));
}

SmallVector<Value> Attention::mergeStates(ValueRange lhs, ValueRange rhs) {
  TileMath math(builder, loc, tile.getRows(), channels);
  SmallVector<Value> merged;
  if (!op.isSoftmax()) {
    for (auto [left, right] : llvm::zip_equal(lhs, rhs))
      merged.push_back(arith::AddFOp::create(builder, loc, left, right));
    return merged;
  }
  Type rows = lhs[0].getType();
  auto merge = nsatile::SoftmaxMergeOp::create(
      builder, loc, rows, rows, rows, rows, lhs[0], lhs[1], rhs[0], rhs[1]);
  merged = {merge.getNewMax(), merge.getNewSum()};
  if (onlyLse)
    return merged;
  Tile left = math.apply<arith::MulFOp>({lhs[2], TileAxes::Matrix},
                                        {merge.getLhsDecay(), TileAxes::Row});
  Tile right = math.apply<arith::MulFOp>({rhs[2], TileAxes::Matrix},
                                         {merge.getRhsDecay(), TileAxes::Row});
  merged.push_back(math.apply<arith::AddFOp>(left, right).value);
  return merged;
}

SmallVector<Value> Attention::mergeSplits(const PartialStates &partial,
                                          ValueRange state, Value first,
                                          Value end, int64_t count) {
  IndexMath m = program.math();
  auto loop = scf::ForOp::create(
      builder, loc, first, end, m.constant(count), state,
      [&](OpBuilder &, Location, Value split, ValueRange carried) {
        // All loads are under way before the first is waited for.
        SmallVector<State> loaded;
        for (int64_t i = 0; i < count; ++i)
          loaded.push_back(loadState(partial, m.add(split, i)));
        State merged(carried);
        for (const State &each : loaded)
          merged = mergeStates(merged, each);
        scf::YieldOp::create(builder, loc, merged);
      });
  return SmallVector<Value>(loop.getResults());
}

/// Merges states in the order of the splits, whichever was done first.
AttendTiles Attention::merge(const PartialStates &partial) {
  IndexMath m = program.math();
  constexpr int64_t together = 4;
  Value end = program.importNumber(partial.splits);
  Value pieces = m.mul(m.floorDiv(end, together), together);
  State state = getInitialState(tile.getRows());
  state = mergeSplits(partial, state, m.constant(0), pieces, together);
  state = mergeSplits(partial, state, pieces, end, 1);
  return finish(scorer.getAllRows(), state);
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

void nsacc::buildKeyMajorProgram(PlanBuilder &plan, const QueryShape &shape,
                                 AttendOp op) {
  nsatile::ScheduleAttr schedule = getSchedule(op);
  bool onlyLse = op.isSoftmax() && op.getOutput().use_empty();
  ProgramBuilder program(plan, op.getLoc(), "partial", schedule);
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  IndexMath m = program.math();
  int64_t tokens = schedule.getTokens(), splits = schedule.getSplits();
  Value split = program.programId(0);
  QueryPlace place = {.tokenTile = {},
                      .keyHead = program.programId(1),
                      .batchRow = program.programId(2)};

  auto forEach = [&](Value begin, Value end,
                     llvm::function_ref<void(Value)> body) {
    scf::ForOp::create(builder, loc, begin, end, m.constant(1), ValueRange(),
                       [&](OpBuilder &, Location, Value index, ValueRange) {
                         body(index);
                         scf::YieldOp::create(builder, loc);
                       });
  };
  auto numTokens = program.getRow(shape.dims.token, place.batchRow).size;
  Value queryTiles = m.ceilDiv(numTokens, tokens);
  auto forEachTile = [&](llvm::function_ref<void(Attention &)> body) {
    forEach(m.constant(0), queryTiles, [&](Value index) {
      place.tokenTile = index;
      QueryTile tile =
          createQueryTile(program, shape.dims, tokens, shape.group, place);
      Attention attention(program, tile, op, schedule, onlyLse);
      body(attention);
    });
  };

  PartialStates partial;
  forEachTile([&](Attention &attention) {
    SmallVector<Value> state = attention.getInitialState(tokens * shape.group);
    partial =
        allocatePartialStates(plan, shape.dims, builder.getIndexAttr(splits),
                              state, attention.getChannels());
    attention.storeState(partial, split, state);
  });
  // Each split is a range of neighbouring units.
  Value units = m.ceilDiv(getKeyRow(program, op.getKey(), place.batchRow).size,
                          schedule.getKeys());
  Value share = m.ceilDiv(units, splits);
  Value first = m.mul(split, share);
  forEach(first, m.min(m.add(first, share), units), [&](Value unit) {
    forEachTile([&](Attention &attention) {
      attention.updatePartial(partial, split, unit);
    });
  });
  plan.setPartialStates(op, partial);
  program.setOps(op.getOperation());
  program.launch(plan.math().constant(splits), plan.getSize(shape.keyHead),
                 getNumBatchRows(plan, shape));
}
