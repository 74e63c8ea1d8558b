//===- SoftmaxFold.cpp - States of softmax --------------------------------===//

#include "AttendFold.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

RowState SoftmaxFold::getInitialState(int64_t rows) {
  TileMath math(builder, loc, rows, channels);
  RowState state = {math.constant(TileAxes::Row, -kInfinity),
                    math.constant(TileAxes::Row, 0.0)};
  if (!onlyLse)
    state.push_back(math.constant(TileAxes::Matrix, 0.0));
  return state;
}

/// The scale stays apart unless the program gives it: its own scale may be
/// negative, and would turn -inf around.
void SoftmaxFold::yieldScores(const QueryRows &rows, const KeyTile &keys) {
  bool rawScale = op.getScale().empty() && op.getScore().empty();
  Value scores =
      scorer.scoreVisible(rows, keys, rawScale, /*counts=*/false).scores;
  TileMath math(builder, loc, rows.count, keys.count);
  Value scale =
      rawScale ? scorer.getScale() : math.constant(TileAxes::Scalar, 1.0);
  nsatile::YieldScoresOp::create(builder, loc, scores, scale,
                                 onlyLse ? Value() : loadValues(keys));
}

RowState SoftmaxFold::fold(const QueryRows &rows,
                           const nsatile::FoldDomain &domain,
                           ValueRange initial, GetKeys getKeys) {
  OpBuilder::InsertionGuard guard(builder);
  auto row = RankedTensorType::get({rows.count}, builder.getF32Type());
  SmallVector<Type> types = {row, row};
  if (!onlyLse)
    types.push_back(row.clone({rows.count, channels}));
  auto fold =
      nsatile::SoftmaxFoldOp::create(builder, loc, domain, types, initial);
  builder.setInsertionPointToEnd(&fold.getBody().front());
  KeyTile keys = getKeys(fold.getTile(), fold.getWords());
  keys.partial = fold.getPartial();
  yieldScores(rows, keys);
  return RowState(fold.getResults());
}

RowState SoftmaxFold::merge(ValueRange lhs, ValueRange rhs) {
  TileMath math(builder, loc, tile.getRows(), channels);
  Type rows = lhs[0].getType();
  auto merge = nsatile::SoftmaxMergeOp::create(
      builder, loc, rows, rows, rows, rows, lhs[0], lhs[1], rhs[0], rhs[1]);
  RowState merged = {merge.getNewMax(), merge.getNewSum()};
  if (onlyLse)
    return merged;
  Tile left = math.apply<arith::MulFOp>({lhs[2], TileAxes::Matrix},
                                        {merge.getLhsDecay(), TileAxes::Row});
  Tile right = math.apply<arith::MulFOp>({rhs[2], TileAxes::Matrix},
                                         {merge.getRhsDecay(), TileAxes::Row});
  merged.push_back(math.apply<arith::AddFOp>(left, right).value);
  return merged;
}

AttendTiles SoftmaxFold::finish(const QueryRows &rows, ValueRange state) {
  TileMath math(builder, loc, rows.count, channels);
  Tile max = {state[0], TileAxes::Row}, sum = {state[1], TileAxes::Row};
  Value acc = onlyLse ? math.constant(TileAxes::Matrix, 0.0) : state[2];
  if (op.getSinkScore()) {
    // The sink is one more score, without a value.
    std::optional<Demand> demand = scorer.getDemand(nsa::Clause::Sink, &rows);
    Tile sink = {
        math.toRow(tileRegion(*op.getSinkScore(), scorer.getRowArguments(rows),
                              math, scorer.getContext(demand))),
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
  if (op.getSinkScore()) {
    // A row that saw nothing has no output, whatever the sink is.
    Tile zero = {math.constant(TileAxes::Scalar, 0.0), TileAxes::Scalar};
    Tile sawNothing = math.compare(arith::CmpFPredicate::OEQ,
                                   {state[1], TileAxes::Row}, zero);
    output = math.select(sawNothing, zero, output);
  }
  return {output.value, end.getLse(), max.value, sum.value};
}
