//===- AttendTiles.cpp - Attention of one query tile ----------------------===//

#include "AttendTiles.h"
#include "QueryProgram.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
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
/// normaliser asks for them, the sum of weights, the number of visible keys and
/// the number of those whose score isn't -inf).
class Attention {
public:
  Attention(ProgramBuilder &program, const QueryTile &tile, AttendOp op,
            nsatile::ScheduleAttr schedule, bool onlyLse)
      : program(program), builder(program.getBuilder()), loc(program.getLoc()),
        tile(tile), op(op), order(schedule.getOrder()), onlyLse(onlyLse),
        scorer(program, tile, cast<ScoringOpInterface>(op.getOperation()),
               schedule) {
    auto type = cast<NamedTensorType>(op.getValue().getType());
    channels = *program.getPlan().getStaticSize(type.getDims().back());
  }

  AttendTiles run();
  /// The same from what key-major programs left.
  AttendTiles merge(const PartialStates &partial);
  /// One unit of keys of a key-major program: a tile of keys or, under a
  /// selection, a block. Loads, changes and stores the state of `split`.
  void updatePartial(const PartialStates &partial, Value split, Value unit);
  void storeState(const PartialStates &partial, Value split, ValueRange state);

  SmallVector<Value> getInitialState(int64_t rows);

private:
  SmallVector<Value> fold(const QueryRows &rows, ValueRange initial);
  SmallVector<Value> foldKeys(const QueryRows &rows, ValueRange initial);
  SmallVector<Value> foldParts(const QueryRows &rows, ValueRange initial);
  SmallVector<Value> foldSelected(const QueryRows &rows, ValueRange initial);
  SmallVector<Value> foldSelectedTogether(const QueryRows &rows,
                                          ValueRange initial);
  SmallVector<Value> foldUnion(const QueryRows &rows, ValueRange initial);
  SmallVector<Value> step(const QueryRows &rows, const KeyTile &keys,
                          ValueRange state);
  SmallVector<Value> stepSoftmax(const QueryRows &rows, const KeyTile &keys,
                                 ValueRange state);
  SmallVector<Value> stepWeights(const QueryRows &rows, const KeyTile &keys,
                                 ValueRange state);
  AttendTiles finish(const QueryRows &rows, ValueRange state);
  AttendTiles finishSoftmax(const QueryRows &rows, ValueRange state);
  Value finishWeights(const QueryRows &rows, ValueRange state);
  SmallVector<Value> loadState(const PartialStates &partial, Value split);
  SmallVector<Value> mergeStates(ValueRange lhs, ValueRange rhs);

  SelectionType getSelectionType() {
    return cast<SelectionType>(op.getSelection().getType());
  }
  bool selectsPerQueryHead() {
    return getSelectionType().getDims().back() == tile.dims.head;
  }
  /// Rows that share a selection: those of a token, or a single one.
  int64_t getUnitRows();
  Value getToken(Value unit);
  Value getExistingTokens();
  SmallVector<Value>
  forEachUnit(ValueRange initial,
              llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body);
  SmallVector<Value> insertState(ValueRange part, ValueRange whole,
                                 Value firstRow);
  /// Which units of the tile selected a block: 1 or 0, tensor<U x f32>.
  Value getSelectingUnits(Value selection, Value block);
  /// The same for rows, tensor<R x f32>.
  Value getSelecting(Value selection, Value block);
  /// The blocks that any row selected, ascending, with negative ones between.
  Value getUnion(Value selection);

  /// acc + probs · v, for the keys whose score isn't -inf.
  Value accumulate(Value probs, Value scores, const KeyTile &keys, Value acc);
  Value takesPart(Value scores);
  bool isNormalized() { return !op.getNormalize().empty(); }

  ProgramBuilder &program;
  OpBuilder &builder;
  Location loc;
  const QueryTile &tile;
  AttendOp op;
  nsatile::LoopOrder order;
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
    state.append(3, math.constant(Spread::Row, 0.0));
  return state;
}

/// The pairs whose score isn't -inf: a key with that score isn't seen.
Value Attention::takesPart(Value scores) {
  auto type = cast<RankedTensorType>(scores.getType());
  TileMath math(builder, loc, type.getDimSize(0), type.getDimSize(1));
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE, scores,
                               math.constant(Spread::Matrix, -kInfinity));
}

Value Attention::accumulate(Value probs, Value scores, const KeyTile &keys,
                            Value acc) {
  Value values =
      keys.values ? keys.values : scorer.loadKeys(op.getValue(), keys);
  Type elementType = getElementTypeOrSelf(values.getType());
  if (!elementType.isF32())
    probs = arith::TruncFOp::create(
        builder, loc,
        cast<RankedTensorType>(probs.getType()).clone(elementType), probs);
  return nsatile::DotOp::create(builder, loc, acc.getType(), probs, values, acc,
                                takesPart(scores), /*transpose_rhs=*/false);
}

SmallVector<Value> Attention::stepSoftmax(const QueryRows &rows,
                                          const KeyTile &keys,
                                          ValueRange state) {
  // A scale of the program's own may be negative, which -inf doesn't survive.
  bool rawScale = op.getScale().empty() && op.getScore().empty();
  ScoreTile tile = scorer.score(rows, keys, rawScale);
  TileMath math(builder, loc, rows.count, keys.count);
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
    next.push_back(
        accumulate(update.getProbs(), tile.scores, keys, decayed.value));
  }
  return next;
}

SmallVector<Value> Attention::stepWeights(const QueryRows &rows,
                                          const KeyTile &keys,
                                          ValueRange state) {
  ScoreTile tile = scorer.score(rows, keys, /*rawScale=*/false);
  TileMath math(builder, loc, rows.count, keys.count);
  Tile scores = {tile.scores, Spread::Matrix};
  Tile zero = {math.constant(Spread::Scalar, 0.0), Spread::Scalar};
  Tile one = {math.constant(Spread::Scalar, 1.0), Spread::Scalar};
  // A score of -inf weighs nothing, whatever the weight makes of it.
  if (tile.visible) {
    Tile hidden = {math.constant(Spread::Scalar, -kInfinity), Spread::Scalar};
    scores = math.select({tile.visible, Spread::Matrix}, scores, hidden);
  }
  Tile weights = {scorer.weigh(rows, scores.value, keys), Spread::Matrix};
  weights =
      math.select({takesPart(scores.value), Spread::Matrix}, weights, zero);
  SmallVector<Value> next = {
      accumulate(weights.value, scores.value, keys, state[0])};
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
    Tile present =
        math.select({takesPart(scores.value), Spread::Matrix}, one, zero);
    next.push_back(addRows(math.toMatrix(present), state[3]));
  }
  return next;
}

SmallVector<Value> Attention::step(const QueryRows &rows, const KeyTile &keys,
                                   ValueRange state) {
  return op.isSoftmax() ? stepSoftmax(rows, keys, state)
                        : stepWeights(rows, keys, state);
}

SmallVector<Value> Attention::fold(const QueryRows &rows, ValueRange initial) {
  if (!op.getSelection())
    return foldParts(rows, initial);
  if (order == nsatile::LoopOrder::Union)
    return foldUnion(rows, initial);
  return rows.count > getUnitRows() ? foldSelectedTogether(rows, initial)
                                    : foldSelected(rows, initial);
}

SmallVector<Value> Attention::foldKeys(const QueryRows &rows,
                                       ValueRange initial) {
  return scorer.foldKeyTiles(rows, initial,
                             [&](const KeyTile &keys, ValueRange state) {
                               return step(rows, keys, state);
                             });
}

/// A tile that is wide for the sake of its selections walks all other keys in
/// parts, whose bounds are tighter.
SmallVector<Value> Attention::foldParts(const QueryRows &rows,
                                        ValueRange initial) {
  IndexMath m = program.math();
  int64_t tokens = getPartTokens(tile.tokens, tile.group);
  if (tokens == tile.tokens)
    return foldKeys(rows, initial);
  int64_t count = tokens * tile.group;
  auto loop = scf::ForOp::create(
      builder, loc, m.constant(0), m.ceilDiv(getExistingTokens(), tokens),
      m.constant(1), initial,
      [&](OpBuilder &, Location, Value part, ValueRange carried) {
        Value firstRow = m.mul(part, count);
        Value first = m.add(tile.firstToken, m.mul(part, tokens));
        Value end = m.min(m.add(first, tokens), tile.numTokens);
        QueryRows few =
            scorer.slice(rows, firstRow, count, first, m.add(end, -1));
        scf::YieldOp::create(builder, loc,
                             insertState(foldKeys(few, getInitialState(count)),
                                         carried, firstRow));
      });
  return SmallVector<Value>(loop.getResults());
}

/// Tokens of the tile that exist: it may reach beyond the end.
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
// Selected blocks
//===----------------------------------------------------------------------===//

static Value isPositive(OpBuilder &builder, Location loc, Value value) {
  Value zero = arith::ConstantOp::create(builder, loc,
                                         builder.getZeroAttr(value.getType()));
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, value,
                               zero);
}

/// tensor<A x B> or tensor<B> to tensor<1 x AB>.
static Value toOneRow(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<ReassociationIndices> both = {{0, 1}};
  if (type.getRank() == 2)
    value = tensor::CollapseShapeOp::create(builder, loc, value, both);
  return tensor::ExpandShapeOp::create(
      builder, loc,
      RankedTensorType::get({1, type.getNumElements()}, type.getElementType()),
      value, both);
}

int64_t Attention::getUnitRows() {
  return selectsPerQueryHead() ? 1 : tile.group;
}

Value Attention::getToken(Value unit) {
  IndexMath m = program.math();
  return m.add(tile.firstToken,
               selectsPerQueryHead() ? m.floorDiv(unit, tile.group) : unit);
}

SmallVector<Value> Attention::forEachUnit(
    ValueRange initial,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  IndexMath m = program.math();
  Value tokens = getExistingTokens();
  Value units = selectsPerQueryHead() ? m.mul(tokens, tile.group) : tokens;
  auto loop = scf::ForOp::create(
      builder, loc, m.constant(0), units, m.constant(1), initial,
      [&](OpBuilder &, Location, Value unit, ValueRange carried) {
        scf::YieldOp::create(builder, loc, body(unit, carried));
      });
  return SmallVector<Value>(loop.getResults());
}

/// Unit by unit: each walks its blocks.
SmallVector<Value> Attention::foldSelected(const QueryRows &rows,
                                           ValueRange initial) {
  IndexMath m = program.math();
  SelectionType type = getSelectionType();
  int64_t count = getUnitRows();
  Value list = program.getBuffer(op.getSelection());
  return forEachUnit(initial, [&](Value unit, ValueRange carried) {
    Value firstRow = m.mul(unit, count);
    Value token = getToken(unit);
    // Tokens behind the batch row's end have no list.
    Value listed = m.min(token, m.add(tile.numTokens, -1));
    QueryRows few = scorer.slice(rows, firstRow, count, token, token);
    SmallVector<Value> prefix;
    if (tile.dims.batch)
      prefix.push_back(tile.batchRow);
    prefix.push_back(m.add(tile.rowStart, listed));
    Value head = tile.keyHead;
    if (selectsPerQueryHead())
      head =
          m.add(m.mul(tile.keyHead, tile.group),
                m.sub(unit, m.mul(m.floorDiv(unit, tile.group), tile.group)));
    prefix.push_back(head);
    auto getBlock = [&](Value entry) -> Value {
      SmallVector<Value> indices(prefix);
      indices.push_back(entry);
      Value stored = memref::LoadOp::create(builder, loc, list, indices);
      return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                        stored);
    };
    SmallVector<Value> state = scorer.foldBlocks(
        few,
        {.width = type.getTop(),
         .blockSize = type.getBlock(),
         .getBlock = getBlock},
        getInitialState(count), [&](const KeyTile &keys, ValueRange inner) {
          return step(few, keys, inner);
        });
    return insertState(state, carried, firstRow);
  });
}

/// Block by block: the units that selected it share its keys and values, which
/// come from far away otherwise, once for each of them. Each unit meets its
/// blocks in the same order as when it walks them alone.
SmallVector<Value> Attention::foldSelectedTogether(const QueryRows &rows,
                                                   ValueRange initial) {
  IndexMath m = program.math();
  SelectionType type = getSelectionType();
  int64_t count = getUnitRows();
  Value selection = loadSelection(program, tile, op.getSelection());
  SmallVector<KeyBounds> bounds = scorer.getBounds(rows);
  auto isSet = [&](Value tile, Value index) {
    return isPositive(
        builder, loc,
        tensor::ExtractOp::create(builder, loc, tile, index).getResult());
  };
  auto foldBlock = [&](Value block, Value selecting, ValueRange state) {
    auto foldUnits = [&](const KeyTile &tile, ValueRange state) {
      KeyTile keys = tile;
      keys.keys = scorer.loadKeys(op.getKey(), tile);
      if (!onlyLse)
        keys.values = scorer.loadKeys(op.getValue(), tile);
      return forEachUnit(state, [&](Value unit, ValueRange carried) {
        auto fold = [&] {
          Value firstRow = m.mul(unit, count), token = getToken(unit);
          QueryRows few = scorer.slice(rows, firstRow, count, token, token);
          SmallVector<Value> part;
          for (Value whole : carried)
            part.push_back(extractRows(builder, loc, whole, firstRow, count));
          return insertState(step(few, keys, part), carried, firstRow);
        };
        return scorer.choose(isSet(selecting, unit), fold,
                             [&] { return SmallVector<Value>(carried); });
      });
    };
    return scorer.foldBlock(bounds, block, type.getBlock(), Value(), state,
                            foldUnits);
  };
  Value end = m.ceilDiv(scorer.getLastKey(rows), type.getBlock());
  auto loop = scf::ForOp::create(
      builder, loc, m.constant(0), end, m.constant(1), initial,
      [&](OpBuilder &, Location, Value block, ValueRange carried) {
        Value selecting = getSelectingUnits(selection, block);
        Value any = nsatile::ReduceOp::create(
            builder, loc, RankedTensorType::get({1}, builder.getF32Type()),
            nsatile::ReduceKind::Sum, toOneRow(builder, loc, selecting),
            /*dim=*/1);
        scf::YieldOp::create(
            builder, loc,
            scorer.choose(
                isSet(any, m.constant(0)),
                [&] { return foldBlock(block, selecting, carried); },
                [&] { return SmallVector<Value>(carried); }));
      });
  return SmallVector<Value>(loop.getResults());
}

Value Attention::getSelectingUnits(Value selection, Value block) {
  auto type = cast<RankedTensorType>(selection.getType());
  TileMath math(builder, loc, type.getDimSize(0), type.getDimSize(1));
  Tile stored = {
      arith::IndexCastOp::create(builder, loc, builder.getI32Type(), block),
      Spread::Scalar};
  Tile hit = math.compare(arith::CmpIPredicate::eq, {selection, Spread::Matrix},
                          stored);
  Tile ones =
      math.select(hit, {math.constant(Spread::Scalar, 1.0), Spread::Scalar},
                  {math.constant(Spread::Scalar, 0.0), Spread::Scalar});
  return nsatile::ReduceOp::create(
      builder, loc, math.getType(Spread::Row, builder.getF32Type()),
      nsatile::ReduceKind::Max, ones.value, /*dim=*/1);
}

Value Attention::getSelecting(Value selection, Value block) {
  Value selecting = getSelectingUnits(selection, block);
  return selectsPerQueryHead() ? selecting
                               : repeatForHeads(program, tile, selecting);
}

Value Attention::getUnion(Value selection) {
  Value flat = toOneRow(builder, loc, selection);
  int64_t width = cast<RankedTensorType>(flat.getType()).getDimSize(1);
  TileMath math(builder, loc, 1, width);
  Type i64 = builder.getI64Type();
  Tile blocks = math.convert<arith::ExtSIOp>({flat, Spread::Matrix}, i64);
  blocks.value =
      nsatile::SortOp::create(builder, loc, blocks.value.getType(),
                              nsatile::Order::Ascending, blocks.value);
  if (width == 1)
    return blocks.value;
  // What stands behind its like is left out.
  auto attr = [&](int64_t value) -> OpFoldResult {
    return builder.getIndexAttr(value);
  };
  SmallVector<OpFoldResult> sizes = {attr(1), attr(width - 1)};
  SmallVector<OpFoldResult> ones = {attr(1), attr(1)};
  Value left = tensor::ExtractSliceOp::create(
      builder, loc, blocks.value, SmallVector<OpFoldResult>{attr(0), attr(0)},
      sizes, ones);
  Tile none = math.integer(i64, -1);
  Value before = tensor::InsertSliceOp::create(
      builder, loc, left, math.toMatrix(none),
      SmallVector<OpFoldResult>{attr(0), attr(1)}, sizes, ones);
  Tile again =
      math.compare(arith::CmpIPredicate::eq, blocks, {before, Spread::Matrix});
  return math.select(again, none, blocks).value;
}

/// All rows of the tile walk every block that one of them selected.
SmallVector<Value> Attention::foldUnion(const QueryRows &rows,
                                        ValueRange initial) {
  Value selection = loadSelection(program, tile, op.getSelection());
  Value blocks = getUnion(selection);
  auto getBlock = [&](Value entry) -> Value {
    Value zero = program.math().constant(0);
    Value block = tensor::ExtractOp::create(builder, loc, blocks,
                                            ValueRange{zero, entry});
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      block);
  };
  auto getRows = [&](Value block) {
    return isPositive(builder, loc, getSelecting(selection, block));
  };
  return scorer.foldBlocks(
      rows,
      {.width = cast<RankedTensorType>(blocks.getType()).getDimSize(1),
       .blockSize = getSelectionType().getBlock(),
       .getBlock = getBlock,
       .getRows = getRows},
      initial, [&](const KeyTile &keys, ValueRange state) {
        return step(rows, keys, state);
      });
}

//===----------------------------------------------------------------------===//
// What follows the last key
//===----------------------------------------------------------------------===//

AttendTiles Attention::finishSoftmax(const QueryRows &rows, ValueRange state) {
  TileMath math(builder, loc, rows.count, channels);
  Tile max = {state[0], Spread::Row}, sum = {state[1], Spread::Row};
  Value acc = onlyLse ? math.constant(Spread::Matrix, 0.0) : state[2];
  if (!op.getSink().empty()) {
    // The sink is one more score, without a value.
    std::optional<Demand> demand = scorer.getDemand(nsa::Clause::Sink, &rows);
    Tile sink = {
        math.toRow(tileRegion(op.getSink(), scorer.getRowArguments(rows), math,
                              scorer.getContext(demand))),
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
  if (onlyLse)
    return {Value(), end.getLse()};
  Tile output = {end.getOutput(), Spread::Matrix};
  if (!op.getSink().empty()) {
    // Whatever the sink is, a row that saw nothing has no output.
    Tile zero = {math.constant(Spread::Scalar, 0.0), Spread::Scalar};
    Tile sawNothing =
        math.compare(arith::CmpFPredicate::OEQ, {state[1], Spread::Row}, zero);
    output = math.select(sawNothing, zero, output);
  }
  return {output.value, end.getLse()};
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
  Value zero = math.constant(Spread::Row, 0.0);
  Tile takesPart = {arith::CmpFOp::create(builder, loc,
                                          arith::CmpFPredicate::UNE, state[3],
                                          zero),
                    Spread::Row};
  std::optional<Demand> demand =
      scorer.getDemand(nsa::Clause::Normalize, &rows, takesPart);
  Tile norm =
      tileRegion(op.getNormalize(), arguments, math, scorer.getContext(demand));
  Tile quotient = math.apply<arith::DivFOp>(acc, norm);
  Tile empty = {arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                                      state[3], zero),
                Spread::Row};
  return math
      .select(empty, {math.constant(Spread::Scalar, 0.0), Spread::Scalar},
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
  return finish(rows, fold(rows, getInitialState(rows.count)));
}

//===----------------------------------------------------------------------===//
// Key-major order
//===----------------------------------------------------------------------===//

SmallVector<Value> Attention::loadState(const PartialStates &partial,
                                        Value split) {
  SmallVector<Value> state;
  for (Value buffer : partial.buffers)
    state.push_back(
        loadQueryState(program, tile, program.import(buffer), split));
  // The accumulator may be there though only the log-sum-exp is wanted.
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
  int64_t size =
      op.getSelection() ? getSelectionType().getBlock() : scorer.getTileKeys();
  Value first = m.mul(unit, size);
  auto update = [&](Scorer::Step step, Value selecting) {
    SmallVector<Value> state = loadState(partial, split);
    if (op.getSelection())
      state = scorer.foldBlock(bounds, unit, size, selecting, state, step);
    else
      state =
          scorer.foldTile(bounds, {.first = first, .count = size}, state, step);
    storeState(partial, split, state);
  };
  auto stepRows = [&](const KeyTile &keys, ValueRange state) {
    return step(rows, keys, state);
  };
  auto when = [&](Value condition, llvm::function_ref<void()> then) {
    auto branch = scf::IfOp::create(builder, loc, condition,
                                    /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(branch.thenYield());
    then();
  };
  when(scorer.isSeen(bounds, first, m.add(first, size)), [&] {
    if (!op.getSelection())
      return update(stepRows, Value());
    Value selection = loadSelection(program, tile, op.getSelection());
    Value selecting = getSelecting(selection, unit);
    Value any = nsatile::ReduceOp::create(
        builder, loc, RankedTensorType::get({1}, builder.getF32Type()),
        nsatile::ReduceKind::Max, toOneRow(builder, loc, selecting),
        /*dim=*/1);
    any = tensor::ExtractOp::create(builder, loc, any,
                                    ValueRange{program.math().constant(0)});
    when(isPositive(builder, loc, any),
         [&] { update(stepRows, isPositive(builder, loc, selecting)); });
  });
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
  Tile left = math.apply<arith::MulFOp>({lhs[2], Spread::Matrix},
                                        {merge.getLhsDecay(), Spread::Row});
  Tile right = math.apply<arith::MulFOp>({rhs[2], Spread::Matrix},
                                         {merge.getRhsDecay(), Spread::Row});
  merged.push_back(math.apply<arith::AddFOp>(left, right).value);
  return merged;
}

AttendTiles Attention::merge(const PartialStates &partial) {
  IndexMath m = program.math();
  SmallVector<Value> state = loadState(partial, m.constant(0));
  if (partial.splits > 1) {
    auto loop = scf::ForOp::create(
        builder, loc, m.constant(1), m.constant(partial.splits), m.constant(1),
        state, [&](OpBuilder &, Location, Value split, ValueRange carried) {
          scf::YieldOp::create(builder, loc,
                               mergeStates(carried, loadState(partial, split)));
        });
    state.assign(loop.getResults().begin(), loop.getResults().end());
  }
  return finish(scorer.getAllRows(), state);
}

AttendTiles nsacc::attendTile(ProgramBuilder &program, const QueryTile &tile,
                              AttendOp op, nsatile::ScheduleAttr schedule,
                              bool onlyLse) {
  Attention attention(program, tile, op, schedule, onlyLse);
  if (const PartialStates *partial = program.getPlan().getPartialStates(op))
    return attention.merge(*partial);
  return attention.run();
}

/// [splits, batch, token, head] for numbers of a row, with channels behind for
/// the accumulator.
static PartialStates allocatePartialStates(PlanBuilder &plan, AttendOp op,
                                           const QueryDims &dims,
                                           int64_t splits,
                                           ArrayRef<Value> state) {
  OpBuilder &builder = plan.getBuilder();
  PartialStates partial;
  partial.splits = splits;
  for (Value part : state) {
    SmallVector<int64_t> shape = {splits};
    SmallVector<Value> sizes;
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
      shape.push_back(type.getDimSize(1));
    partial.buffers.push_back(
        plan.allocate(MemRefType::get(shape, builder.getF32Type()), sizes));
  }
  return partial;
}

void nsacc::buildKeyMajorProgram(PlanBuilder &plan, const QueryShape &shape,
                                 AttendOp op, nsatile::ScheduleAttr schedule) {
  bool onlyLse = op.isSoftmax() && op.getOutput().use_empty();
  ProgramBuilder program(plan, "partial", schedule);
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  IndexMath m = program.math();
  int64_t tokens = schedule.getTokens(), splits = schedule.getSplits();
  QueryPlace place = getProgramPlace(program);
  Value split = std::exchange(place.tokenTile, Value());

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
    partial = allocatePartialStates(plan, op, shape.dims, splits, state);
    attention.storeState(partial, split, state);
  });
  // Each split is a range of neighbouring units.
  int64_t size = schedule.getKeys();
  if (op.getSelection())
    size = cast<SelectionType>(op.getSelection().getType()).getBlock();
  Value units =
      m.ceilDiv(getKeyRow(program, op.getKey(), place.batchRow).size, size);
  Value share = m.ceilDiv(units, splits);
  Value first = arith::MulIOp::create(builder, loc, split, share);
  forEach(first, m.min(m.add(first, share), units), [&](Value unit) {
    forEachTile([&](Attention &attention) {
      attention.updatePartial(partial, split, unit);
    });
  });
  plan.setPartialStates(op, partial);
  Value rows =
      shape.dims.batch
          ? plan.getSize(shape.dims.batch)
          : plan.getNumRows(cast<NamedDimAttr>(shape.dims.token).getName());
  program.launch(plan.math().constant(splits), plan.getSize(shape.keyHead),
                 rows);
}
