//===- AttendTiles.cpp - Attention of one query tile ----------------------===//

#include "Attention.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

Attention::Attention(ProgramBuilder &program, const QueryTile &tile,
                     AttendOp op, nsatile::ScheduleAttr schedule, bool onlyLse)
    : program(program), builder(program.getBuilder()), loc(program.getLoc()),
      tile(tile), op(op), schedule(schedule), onlyLse(onlyLse),
      scorer(program, tile, cast<ScoringOpInterface>(op.getOperation()),
             schedule) {
  auto type = cast<NamedTensorType>(op.getValue().getType());
  allChannels = *program.getPlan().getStaticSize(type.getDims().back());
  channels = tile.slice ? tile.slice->count : allChannels;
}

SmallVector<Value> Attention::getInitialState(int64_t rows) {
  TileMath math(builder, loc, rows, channels);
  SmallVector<Value> state;
  if (op.isSoftmax()) {
    state.push_back(math.constant(TileAxes::Row, -kInfinity));
    state.push_back(math.constant(TileAxes::Row, 0.0));
  }
  if (!onlyLse)
    state.push_back(math.constant(TileAxes::Matrix, 0.0));
  if (isNormalized())
    state.append(3, math.constant(TileAxes::Row, 0.0));
  return state;
}

SmallVector<Type> Attention::getStateTypes(int64_t rows) {
  auto row = RankedTensorType::get({rows}, builder.getF32Type());
  SmallVector<Type> types = {row, row};
  if (!onlyLse)
    types.push_back(row.clone({rows, channels}));
  return types;
}

/// Whether pairs have a score other than -inf. A key with a score of -inf isn't
/// seen.
Value Attention::takesPart(Value scores) {
  auto type = cast<RankedTensorType>(scores.getType());
  TileMath math(builder, loc, type.getDimSize(0), type.getDimSize(1));
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, scores,
                               math.constant(TileAxes::Matrix, -kInfinity));
}

/// acc + weights · values, for keys with a score other than -inf.
Value Attention::accumulate(Value weights, Value scores, const KeyTile &keys,
                            Value acc) {
  Value values = loadValues(keys);
  Type elementType = getElementTypeOrSelf(values.getType());
  if (!elementType.isF32())
    weights = arith::TruncFOp::create(
        builder, loc,
        cast<RankedTensorType>(weights.getType()).clone(elementType), weights);
  return nsatile::DotOp::create(builder, loc, acc.getType(), weights, values,
                                acc, takesPart(scores),
                                /*transpose_rhs=*/false);
}

Value Attention::loadValues(const KeyTile &keys) {
  return keys.values ? keys.values : scorer.loadValues(op.getValue(), keys);
}

/// The scale stays apart unless the program gives it: its own scale may be
/// negative, and would turn -inf around.
void Attention::yieldScores(const QueryRows &rows, const KeyTile &keys) {
  bool rawScale = op.getScale().empty() && op.getScore().empty();
  Value scores =
      scorer.scoreVisible(rows, keys, rawScale, /*counts=*/false).scores;
  TileMath math(builder, loc, rows.count, keys.count);
  Value scale =
      rawScale ? scorer.getScale() : math.constant(TileAxes::Scalar, 1.0);
  nsatile::YieldScoresOp::create(builder, loc, scores, scale,
                                 onlyLse ? Value() : loadValues(keys));
}

SmallVector<Value> Attention::stepWeights(const QueryRows &rows,
                                          const KeyTile &keys,
                                          ValueRange state) {
  VisibleScores tile = scorer.scoreVisible(rows, keys, /*rawScale=*/false,
                                           /*counts=*/isNormalized());
  TileMath math(builder, loc, rows.count, keys.count);
  Tile scores = {tile.scores, TileAxes::Matrix};
  Tile zero = {math.constant(TileAxes::Scalar, 0.0), TileAxes::Scalar};
  Tile one = {math.constant(TileAxes::Scalar, 1.0), TileAxes::Scalar};
  // A score of -inf has no weight, whatever the weight's code makes of it.
  Tile weights = {scorer.weigh(rows, scores.value, keys), TileAxes::Matrix};
  weights =
      math.select({takesPart(scores.value), TileAxes::Matrix}, weights, zero);
  SmallVector<Value> next = {
      accumulate(weights.value, scores.value, keys, state[0])};
  if (isNormalized()) {
    auto add = [&](Value sum, Value more) {
      return arith::AddFOp::create(builder, loc, sum, more);
    };
    auto addRows = [&](Value matrix) -> Value {
      return nsatile::ReduceOp::create(builder, loc, state[1].getType(),
                                       nsatile::ReduceKind::Sum, matrix,
                                       /*dim=*/1);
    };
    next.push_back(add(state[1], addRows(weights.value)));
    next.push_back(add(state[2], tile.counts));
    Tile present =
        math.select({takesPart(scores.value), TileAxes::Matrix}, one, zero);
    next.push_back(add(state[3], addRows(math.toMatrix(present))));
  }
  return next;
}

SmallVector<Value> Attention::foldTiles(const QueryRows &rows,
                                        const nsatile::FoldDomain &domain,
                                        ValueRange initial, GetKeys getKeys) {
  OpBuilder::InsertionGuard guard(builder);
  auto getStep = [&](auto fold) {
    builder.setInsertionPointToEnd(&fold.getBody().front());
    KeyTile keys = getKeys(fold.getTile(), fold.getWords());
    keys.partial = fold.getPartial();
    return keys;
  };
  if (op.isSoftmax()) {
    auto fold = nsatile::SoftmaxFoldOp::create(
        builder, loc, domain, getStateTypes(rows.count), initial);
    yieldScores(rows, getStep(fold));
    return SmallVector<Value>(fold.getResults());
  }
  SmallVector<Value> inits(initial);
  if (inits.empty())
    inits = getInitialState(rows.count);
  auto fold = nsatile::FoldOp::create(builder, loc, domain,
                                      ValueRange(inits).getTypes(), inits);
  KeyTile keys = getStep(fold);
  nsatile::YieldOp::create(builder, loc,
                           stepWeights(rows, keys, fold.getState()));
  return SmallVector<Value>(fold.getResults());
}

SmallVector<Value> Attention::fold(const QueryRows &rows) {
  if (!op.getSelection())
    return foldParts(rows);
  if (const UnionLists *lists =
          program.getPlan().getUnionLists(op.getSelection(), tile.tokens))
    return foldUnion(rows, *lists);
  return schedule.getOrder() == nsatile::LoopOrder::BlockMajor
             ? foldBlocks(rows)
             : foldSelected(rows);
}

SmallVector<Value> Attention::foldKeys(const QueryRows &rows) {
  SmallVector<KeyBounds> bounds = scorer.getBounds(rows);
  KeyTiling tiling =
      part ? scorer.getTiling(rows, *part) : scorer.getTiling(rows);
  SmallVector<nsatile::TileRange> ranges = scorer.getRanges(bounds, tiling);
  if (part)
    ranges = scorer.cut(ranges, rows, tiling, *part);
  return foldTiles(rows, {.ranges = ranges}, {}, [&](Value number, ValueRange) {
    return tiling.getTile(program.math(), number);
  });
}

SmallVector<Value> Attention::foldPart(const KeyPart &keys) {
  part = keys;
  return fold(scorer.getAllRows());
}

/// Walks the keys. A tile that is wide for the sake of its selections walks all
/// other keys in parts with tighter bounds.
SmallVector<Value> Attention::foldParts(const QueryRows &rows) {
  IndexMath m = program.math();
  int64_t tokens = schedule.getPart();
  if (tokens == 0)
    return foldKeys(rows);
  int64_t count = tokens * tile.group;
  auto loop = scf::ForOp::create(
      builder, loc, m.constant(0), m.ceilDiv(getExistingTokens(), tokens),
      m.constant(1), getInitialState(rows.count),
      [&](OpBuilder &, Location, Value part, ValueRange carried) {
        Value firstRow = m.mul(part, count);
        Value first = m.add(tile.firstToken, m.mul(part, tokens));
        Value end = m.min(m.add(first, tokens), tile.numTokens);
        QueryRows few =
            scorer.slice(rows, firstRow, count, first, m.add(end, -1));
        scf::YieldOp::create(builder, loc,
                             insertState(foldKeys(few), carried, firstRow));
      });
  return SmallVector<Value>(loop.getResults());
}

/// Number of the tile's tokens that exist. The tile may reach beyond the end.
Value Attention::getExistingTokens() {
  IndexMath m = program.math();
  Value left = m.sub(tile.numTokens, tile.firstToken);
  return m.max(m.min(left, m.constant(tile.tokens)), m.constant(0));
}

SmallVector<Value> Attention::insertState(ValueRange part, ValueRange whole,
                                          Value firstRow) {
  SmallVector<Value> state;
  for (auto [rows, tile] : llvm::zip_equal(part, whole))
    state.push_back(insertRows(builder, loc, rows, tile, firstRow));
  return state;
}

//===----------------------------------------------------------------------===//
// Results behind the last key
//===----------------------------------------------------------------------===//

AttendTiles Attention::finishSoftmax(const QueryRows &rows, ValueRange state) {
  TileMath math(builder, loc, rows.count, channels);
  Tile max = {state[0], TileAxes::Row}, sum = {state[1], TileAxes::Row};
  Value acc = onlyLse ? math.constant(TileAxes::Matrix, 0.0) : state[2];
  if (!op.getSink().empty()) {
    // The sink is one more score, without a value.
    std::optional<Demand> demand = scorer.getDemand(nsa::Clause::Sink, &rows);
    Tile sink = {
        math.toRow(tileRegion(op.getSink(), scorer.getRowArguments(rows), math,
                              scorer.getContext(demand))),
        TileAxes::Row};
    Value column = nsatile::BroadcastOp::create(
        builder, loc,
        RankedTensorType::get({rows.count, 1}, builder.getF32Type()),
        sink.value, ArrayRef<int64_t>{1});
    auto update = nsatile::SoftmaxUpdateOp::create(
        builder, loc, max.value.getType(), sum.value.getType(),
        column.getType(), max.value.getType(), max.value, sum.value, column,
        math.constant(TileAxes::Scalar, 1.0), /*rows=*/Value());
    max.value = update.getNewMax();
    sum.value = update.getNewSum();
    acc = math.apply<arith::MulFOp>({acc, TileAxes::Matrix},
                                    {update.getDecay(), TileAxes::Row})
              .value;
  }
  auto end = nsatile::SoftmaxFinalizeOp::create(builder, loc, acc.getType(),
                                                max.value.getType(), max.value,
                                                sum.value, acc);
  if (onlyLse)
    return {Value(), end.getLse(), max.value, sum.value};
  Tile output = {end.getOutput(), TileAxes::Matrix};
  if (!op.getSink().empty()) {
    // A row that saw nothing has no output, whatever the sink is.
    Tile zero = {math.constant(TileAxes::Scalar, 0.0), TileAxes::Scalar};
    Tile sawNothing = math.compare(arith::CmpFPredicate::OEQ,
                                   {state[1], TileAxes::Row}, zero);
    output = math.select(sawNothing, zero, output);
  }
  return {output.value, end.getLse(), max.value, sum.value};
}

Value Attention::finishWeights(const QueryRows &rows, ValueRange state) {
  if (!isNormalized())
    return state[0];
  TileMath math(builder, loc, rows.count, channels);
  Tile acc = {state[0], TileAxes::Matrix}, visible = {state[2], TileAxes::Row};
  Type integers = math.getType(TileAxes::Row, builder.getI64Type());
  Type indices = math.getType(TileAxes::Row, builder.getIndexType());
  Value count = arith::IndexCastOp::create(
      builder, loc, indices,
      arith::FPToSIOp::create(builder, loc, integers, visible.value));
  SmallVector<Tile> arguments = {{state[1], TileAxes::Row},
                                 {count, TileAxes::Row}};
  arguments.append(scorer.getRowArguments(rows));
  Value zero = math.constant(TileAxes::Row, 0.0);
  Tile takesPart = {arith::CmpFOp::create(builder, loc,
                                          arith::CmpFPredicate::UNE, state[3],
                                          zero),
                    TileAxes::Row};
  std::optional<Demand> demand =
      scorer.getDemand(nsa::Clause::Normalize, &rows, takesPart);
  Tile norm =
      tileRegion(op.getNormalize(), arguments, math, scorer.getContext(demand));
  Tile quotient = math.apply<arith::DivFOp>(acc, norm);
  Tile empty = {arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                                      state[3], zero),
                TileAxes::Row};
  return math
      .select(empty, {math.constant(TileAxes::Scalar, 0.0), TileAxes::Scalar},
              quotient)
      .value;
}

AttendTiles Attention::finish(const QueryRows &rows, ValueRange state) {
  if (op.isSoftmax())
    return finishSoftmax(rows, state);
  return {finishWeights(rows, state), Value()};
}

AttendTiles Attention::run() {
  QueryRows rows = scorer.getAllRows();
  return finish(rows, fold(rows));
}

AttendTiles nsacc::attendTile(ProgramBuilder &program, const QueryTile &tile,
                              AttendOp op, nsatile::ScheduleAttr schedule,
                              bool onlyLse) {
  Attention attention(program, tile, op, schedule, onlyLse);
  PlanBuilder &plan = program.getPlan();
  if (const PartialStates *partial = plan.getPartialStates(op)) {
    StateSlices *slices = partial->selection ? plan.getStateSlices() : nullptr;
    if (slices && !tile.stateSlices)
      joinSlices(plan, *slices);
    return attention.merge(*partial);
  }
  return attention.run();
}
