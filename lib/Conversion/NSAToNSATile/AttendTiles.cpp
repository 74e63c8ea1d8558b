//===- AttendTiles.cpp - Attention of one query tile ----------------------===//

#include "AttendTiles.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <limits>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace {

/// The loops of one attention. The state that they carry is, per row, for
/// softmax (max, sum, accumulator), for other weights (accumulator, and, if a
/// normaliser asks for them, the sum of weights and the number of visible
/// keys).
class Attention {
public:
  Attention(ProgramBuilder &program, const QueryTile &tile, AttendOp op,
            nsatile::ScheduleAttr schedule, bool onlyLse)
      : program(program), builder(program.getBuilder()), loc(program.getLoc()),
        tile(tile), op(op), onlyLse(onlyLse),
        scorer(program, tile, cast<ScoringOpInterface>(op.getOperation()),
               schedule) {
    auto type = cast<NamedTensorType>(op.getValue().getType());
    channels = *program.getPlan().getStaticSize(type.getDims().back());
  }

  AttendTiles run();

private:
  SmallVector<Value> getInitialState(int64_t rows);
  SmallVector<Value> fold(const QueryRows &rows, ValueRange initial);
  SmallVector<Value> foldSelected(const QueryRows &rows, ValueRange initial);
  SmallVector<Value> step(const QueryRows &rows, Value firstKey, bool masked,
                          ValueRange state);
  SmallVector<Value> stepSoftmax(const QueryRows &rows, Value firstKey,
                                 bool masked, ValueRange state);
  SmallVector<Value> stepWeights(const QueryRows &rows, Value firstKey,
                                 bool masked, ValueRange state);
  AttendTiles finishSoftmax(const QueryRows &rows, ValueRange state);
  Value finishWeights(const QueryRows &rows, ValueRange state);

  /// acc + probs · v
  Value accumulate(Value probs, Value firstKey, Value acc);
  Value dot(Value lhs, Value rhs, Value acc);
  bool isNormalized() { return !op.getNormalize().empty(); }

  ProgramBuilder &program;
  OpBuilder &builder;
  Location loc;
  const QueryTile &tile;
  AttendOp op;
  bool onlyLse;
  Scorer scorer;
  int64_t channels;
};

} // namespace

SmallVector<Value> Attention::getInitialState(int64_t rows) {
  TileMath math(builder, loc, rows, channels);
  SmallVector<Value> state;
  if (op.isSoftmax()) {
    state.push_back(math.constant(Spread::Row, -kInfinity));
    state.push_back(math.constant(Spread::Row, 0.0));
  }
  if (!onlyLse)
    state.push_back(math.constant(Spread::Matrix, 0.0));
  if (isNormalized())
    state.append(2, math.constant(Spread::Row, 0.0));
  return state;
}

Value Attention::accumulate(Value probs, Value firstKey, Value acc) {
  int64_t count = cast<RankedTensorType>(probs.getType()).getDimSize(1);
  Value values = scorer.loadKeys(op.getValue(), firstKey, count);
  Type elementType = getElementTypeOrSelf(values.getType());
  if (!elementType.isF32())
    probs = arith::TruncFOp::create(
        builder, loc,
        cast<RankedTensorType>(probs.getType()).clone(elementType), probs);
  return nsatile::DotOp::create(builder, loc, acc.getType(), probs, values, acc,
                                /*transpose_rhs=*/false);
}

SmallVector<Value> Attention::stepSoftmax(const QueryRows &rows, Value firstKey,
                                          bool masked, ValueRange state) {
  int64_t count = scorer.getTileKeys();
  // A scale of the program's own may be negative, which -inf doesn't survive.
  bool rawScale = op.getScale().empty() && op.getScore().empty();
  ScoreTile tile =
      scorer.score(rows, firstKey, count, /*step=*/1, masked, rawScale);
  TileMath math(builder, loc, rows.count, count);
  if (tile.visible) {
    Tile hidden = {math.constant(Spread::Scalar, -kInfinity), Spread::Scalar};
    tile.scores = math.select({tile.visible, Spread::Matrix},
                              {tile.scores, Spread::Matrix}, hidden)
                      .value;
  }
  Value scale =
      rawScale ? scorer.getScale() : math.constant(Spread::Scalar, 1.0);
  auto update = nsatile::SoftmaxUpdateOp::create(
      builder, loc, state[0].getType(), state[1].getType(),
      tile.scores.getType(), state[0].getType(), state[0], state[1],
      tile.scores, scale);
  SmallVector<Value> next = {update.getNewMax(), update.getNewSum()};
  if (!onlyLse) {
    TileMath output(builder, loc, rows.count, channels);
    Tile decayed = output.apply<arith::MulFOp>(
        {state[2], Spread::Matrix}, {update.getDecay(), Spread::Row});
    next.push_back(accumulate(update.getProbs(), firstKey, decayed.value));
  }
  return next;
}

SmallVector<Value> Attention::stepWeights(const QueryRows &rows, Value firstKey,
                                          bool masked, ValueRange state) {
  int64_t count = scorer.getTileKeys();
  ScoreTile tile = scorer.score(rows, firstKey, count, /*step=*/1, masked,
                                /*rawScale=*/false);
  TileMath math(builder, loc, rows.count, count);
  Tile scores = {tile.scores, Spread::Matrix};
  Tile weights = {scorer.weigh(rows, tile.scores, firstKey, /*step=*/1),
                  Spread::Matrix};
  Tile zero = {math.constant(Spread::Scalar, 0.0), Spread::Scalar};
  Tile one = {math.constant(Spread::Scalar, 1.0), Spread::Scalar};
  if (!op.getScore().empty()) {
    // A score of -inf weighs nothing, whatever the weight makes of it.
    Value hidden = math.constant(Spread::Matrix, -kInfinity);
    Value isHidden = arith::CmpFOp::create(
        builder, loc, arith::CmpFPredicate::OEQ, scores.value, hidden);
    weights = math.select({isHidden, Spread::Matrix}, zero, weights);
  }
  if (tile.visible)
    weights = math.select({tile.visible, Spread::Matrix}, weights, zero);
  SmallVector<Value> next = {accumulate(weights.value, firstKey, state[0])};
  if (isNormalized()) {
    auto addRows = [&](Value matrix, Value rowsSoFar) {
      Value sums = nsatile::ReduceOp::create(builder, loc, rowsSoFar.getType(),
                                             nsatile::ReduceKind::Sum, matrix,
                                             /*dim=*/1);
      return arith::AddFOp::create(builder, loc, rowsSoFar, sums);
    };
    Tile counted = one;
    if (tile.visible)
      counted = math.select({tile.visible, Spread::Matrix}, one, zero);
    next.push_back(addRows(weights.value, state[1]));
    next.push_back(addRows(math.toMatrix(counted), state[2]));
  }
  return next;
}

SmallVector<Value> Attention::step(const QueryRows &rows, Value firstKey,
                                   bool masked, ValueRange state) {
  return op.isSoftmax() ? stepSoftmax(rows, firstKey, masked, state)
                        : stepWeights(rows, firstKey, masked, state);
}

SmallVector<Value> Attention::fold(const QueryRows &rows, ValueRange initial) {
  if (op.getSelection())
    return foldSelected(rows, initial);
  return scorer.foldKeyTiles(
      rows, initial, [&](Value firstKey, bool masked, ValueRange state) {
        return step(rows, firstKey, masked, state);
      });
}

/// Token by token (and head by head where each has its own selection): rows of
/// the tile that share a selection walk its blocks.
SmallVector<Value> Attention::foldSelected(const QueryRows &rows,
                                           ValueRange initial) {
  IndexMath m = program.math();
  auto type = cast<SelectionType>(op.getSelection().getType());
  Attribute headDim = type.getDims().back();
  bool perQueryHead = headDim == tile.dims.head;
  int64_t count = perQueryHead ? 1 : tile.group;
  Value list = program.getBuffer(op.getSelection());

  auto sliceOf = [&](Value value, Value first) {
    auto valueType = cast<RankedTensorType>(value.getType());
    SmallVector<OpFoldResult> offsets = {first}, sizes, strides;
    sizes.push_back(builder.getIndexAttr(count));
    if (valueType.getRank() == 2) {
      offsets.push_back(builder.getIndexAttr(0));
      sizes.push_back(builder.getIndexAttr(valueType.getDimSize(1)));
    }
    strides.assign(offsets.size(), builder.getIndexAttr(1));
    return std::tuple(offsets, sizes, strides);
  };
  auto body = [&](OpBuilder &, Location, Value index, ValueRange carried) {
    Value firstRow = m.mul(index, count);
    Value token = m.add(tile.firstToken,
                        perQueryHead ? m.floorDiv(index, tile.group) : index);
    // Tokens behind the batch row's end have no list.
    Value listed = m.min(token, m.add(tile.numTokens, -1));
    QueryRows few = scorer.slice(rows, firstRow, count, token);
    SmallVector<Value> prefix;
    if (tile.dims.batch)
      prefix.push_back(tile.batchRow);
    prefix.push_back(m.add(tile.rowStart, listed));
    Value head = tile.keyHead;
    if (perQueryHead)
      head =
          m.add(m.mul(tile.keyHead, tile.group),
                m.sub(index, m.mul(m.floorDiv(index, tile.group), tile.group)));
    prefix.push_back(head);
    SmallVector<Value> state = scorer.foldBlocks(
        few, list, prefix, type.getBlock(), getInitialState(count),
        [&](Value firstKey, bool masked, ValueRange inner) {
          return step(few, firstKey, masked, inner);
        });
    SmallVector<Value> next;
    for (auto [whole, part] : llvm::zip_equal(carried, state)) {
      auto [offsets, sizes, strides] = sliceOf(whole, firstRow);
      next.push_back(tensor::InsertSliceOp::create(builder, loc, part, whole,
                                                   offsets, sizes, strides));
    }
    scf::YieldOp::create(builder, loc, next);
  };
  // Only tokens that exist: a tile may reach beyond the end.
  Value left = m.sub(tile.numTokens, tile.firstToken);
  Value tokens = m.max(m.min(left, m.constant(tile.tokens)), m.constant(0));
  Value units = perQueryHead ? m.mul(tokens, tile.group) : tokens;
  auto loop = scf::ForOp::create(builder, loc, m.constant(0), units,
                                 m.constant(1), initial, body);
  return SmallVector<Value>(loop.getResults());
}

AttendTiles Attention::finishSoftmax(const QueryRows &rows, ValueRange state) {
  TileMath math(builder, loc, rows.count, channels);
  Tile max = {state[0], Spread::Row}, sum = {state[1], Spread::Row};
  Value acc = onlyLse ? math.constant(Spread::Matrix, 0.0) : state[2];
  if (!op.getSink().empty()) {
    // The sink is one more score, without a value.
    Tile sink = {
        math.toRow(tileRegion(op.getSink(), scorer.getRowArguments(rows), math,
                              scorer.getContext())),
        Spread::Row};
    Value column = nsatile::BroadcastOp::create(
        builder, loc,
        RankedTensorType::get({rows.count, 1}, builder.getF32Type()),
        sink.value, ArrayRef<int64_t>{1});
    auto update = nsatile::SoftmaxUpdateOp::create(
        builder, loc, max.value.getType(), sum.value.getType(),
        column.getType(), max.value.getType(), max.value, sum.value, column,
        math.constant(Spread::Scalar, 1.0));
    max.value = update.getNewMax();
    sum.value = update.getNewSum();
    acc = math.apply<arith::MulFOp>({acc, Spread::Matrix},
                                    {update.getDecay(), Spread::Row})
              .value;
  }
  auto end = nsatile::SoftmaxFinalizeOp::create(builder, loc, acc.getType(),
                                                max.value.getType(), max.value,
                                                sum.value, acc);
  return {onlyLse ? Value() : end.getOutput(), end.getLse()};
}

Value Attention::finishWeights(const QueryRows &rows, ValueRange state) {
  if (!isNormalized())
    return state[0];
  TileMath math(builder, loc, rows.count, channels);
  Tile acc = {state[0], Spread::Matrix}, visible = {state[2], Spread::Row};
  Type integers = math.getType(Spread::Row, builder.getI64Type());
  Type indices = math.getType(Spread::Row, builder.getIndexType());
  Value count = arith::IndexCastOp::create(
      builder, loc, indices,
      arith::FPToSIOp::create(builder, loc, integers, visible.value));
  SmallVector<Tile> arguments = {{state[1], Spread::Row}, {count, Spread::Row}};
  arguments.append(scorer.getRowArguments(rows));
  Tile norm =
      tileRegion(op.getNormalize(), arguments, math, scorer.getContext());
  Tile quotient = math.apply<arith::DivFOp>(acc, norm);
  Value zero = math.constant(Spread::Row, 0.0);
  Tile empty = {arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                                      visible.value, zero),
                Spread::Row};
  return math
      .select(empty, {math.constant(Spread::Scalar, 0.0), Spread::Scalar},
              quotient)
      .value;
}

AttendTiles Attention::run() {
  QueryRows rows = scorer.getAllRows();
  SmallVector<Value> state = fold(rows, getInitialState(rows.count));
  if (op.isSoftmax())
    return finishSoftmax(rows, state);
  return {finishWeights(rows, state), Value()};
}

AttendTiles nsacc::attendTile(ProgramBuilder &program, const QueryTile &tile,
                              AttendOp op, nsatile::ScheduleAttr schedule,
                              bool onlyLse) {
  return Attention(program, tile, op, schedule, onlyLse).run();
}
