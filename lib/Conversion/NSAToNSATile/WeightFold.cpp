//===- WeightFold.cpp - States of weights other than softmax's ------------===//

#include "AttendFold.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

RowState WeightFold::getInitialState(int64_t rows) {
  TileMath math(builder, loc, rows, channels);
  RowState state = {math.constant(TileAxes::Matrix, 0.0)};
  if (isNormalized())
    state.append(3, math.constant(TileAxes::Row, 0.0));
  return state;
}

/// acc + weights · values, for keys with a score other than -inf.
Value WeightFold::accumulate(Value weights, Value scores, const KeyTile &keys,
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

RowState WeightFold::step(const QueryRows &rows, const KeyTile &keys,
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
  RowState next = {accumulate(weights.value, scores.value, keys, state[0])};
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

RowState WeightFold::fold(const QueryRows &rows,
                          const nsatile::FoldDomain &domain, ValueRange initial,
                          GetKeys getKeys) {
  RowState inits(initial);
  if (inits.empty())
    inits = getInitialState(rows.count);
  return foldKeys(program, domain, inits, getKeys,
                  [&](const KeyTile &keys, ValueRange state) {
                    return step(rows, keys, state);
                  });
}

RowState WeightFold::merge(ValueRange lhs, ValueRange rhs) {
  RowState merged;
  for (auto [left, right] : llvm::zip_equal(lhs, rhs))
    merged.push_back(arith::AddFOp::create(builder, loc, left, right));
  return merged;
}

AttendTiles WeightFold::finish(const QueryRows &rows, ValueRange state) {
  if (!isNormalized())
    return {state[0], Value()};
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
  Tile norm = tileRegion(*op.getNormalizer(), arguments, math,
                         scorer.getContext(demand));
  Tile quotient = math.apply<arith::DivFOp>(acc, norm);
  Tile empty = {arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                                      state[3], zero),
                TileAxes::Row};
  Tile none = {math.constant(TileAxes::Scalar, 0.0), TileAxes::Scalar};
  return {math.select(empty, none, quotient).value, Value()};
}
