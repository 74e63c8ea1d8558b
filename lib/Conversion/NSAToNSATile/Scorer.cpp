//===- Scorer.cpp - Scores, masks and key loops of one query tile ---------===//

#include "AttendTiles.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

/// Tiles at the end of a block are a multiple of this wide.
static constexpr int64_t kKeyGranularity = 16;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The sequence dimension of a tensor of keys or values.
static Attribute getSequenceDim(Value keys) {
  auto type = cast<NamedTensorType>(keys.getType());
  return type.getDims()[type.isRagged() ? 0 : 1];
}

/// The token dimension that positions count in: S for keys over S or pooled
/// from S.
static Attribute getPositionDim(Attribute sequence) {
  if (auto pooled = dyn_cast<PooledDimAttr>(sequence))
    return NamedDimAttr::get(sequence.getContext(), pooled.getBase(),
                             pooled.getRagged());
  return sequence;
}

ProgramBuilder::Row nsacc::getKeyRow(ProgramBuilder &program, Value keys,
                                     Value batchRow) {
  return program.getRow(getSequenceDim(keys), batchRow);
}

Scorer::Scorer(ProgramBuilder &program, const QueryTile &tile,
               ScoringOpInterface op, nsatile::ScheduleAttr schedule)
    : program(program), tile(tile), op(op), schedule(schedule),
      mask(analyzeMask(op)) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  Attribute sequence = getSequenceDim(op.getKey());
  keyRow = getKeyRow(program, op.getKey(), tile.batchRow);
  Value numTokens =
      program.getRow(getPositionDim(sequence), tile.batchRow).size;
  shift = program.math().sub(numTokens, tile.numTokens);

  if (!op.getScale().empty()) {
    TileMath math(builder, loc, 1, 1);
    std::optional<Demand> demand = getDemand(Clause::Scale);
    scale = tileRegion(op.getScale(), {}, math, getContext(demand)).value;
  } else {
    auto type = cast<NamedTensorType>(op.getQuery().getType());
    int64_t size = *program.getPlan().getStaticSize(type.getDims().back());
    scale = arith::ConstantOp::create(
        builder, loc, builder.getF32FloatAttr(1.0 / std::sqrt(size)));
  }
}

QueryRows Scorer::getAllRows() {
  IndexMath m = program.math();
  auto type = cast<NamedTensorType>(op.getQuery().getType());
  int64_t channels = *program.getPlan().getStaticSize(type.getDims().back());
  Value end = m.min(m.add(tile.firstToken, tile.tokens), tile.numTokens);
  Value query = loadQueryMatrix(program, tile, op.getQuery(), channels);
  // A product has operands of one type.
  if (hasMixedTypes())
    query = widen(program.getBuilder(), program.getLoc(), query, type);
  Value first = tile.firstToken, exist;
  if (schedule.getWarps() > 0) {
    // A warpgroup's share of the last tile's rows may lie beyond their end.
    auto range = nsatile::RowRangeOp::create(
        program.getBuilder(), program.getLoc(), first, end, tile.tokens,
        /*groups=*/IntegerAttr());
    first = range.getOwnFirst();
    end = range.getOwnEnd();
    exist = m.less(first, end);
  }
  return {tile.getRows(),
          query,
          tile.tokenOfRow,
          tile.headOfRow,
          m.add(first, shift),
          m.add(m.add(end, -1), shift),
          exist};
}

QueryRows Scorer::slice(const QueryRows &rows, Value first, int64_t count,
                        Value firstToken, Value lastToken) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  IndexMath m = program.math();
  auto extract = [&](Value value) {
    return extractRows(builder, loc, value, first, count);
  };
  return {count,
          extract(rows.query),
          extract(rows.tokens),
          extract(rows.heads),
          m.add(firstToken, shift),
          m.add(lastToken, shift)};
}

//===----------------------------------------------------------------------===//
// Loops over key tiles
//===----------------------------------------------------------------------===//

Value Scorer::getSymbol(const MaskSymbol &symbol) {
  switch (symbol.kind) {
  case MaskSymbol::Kind::BatchRow:
    return tile.batchRow;
  case MaskSymbol::Kind::Head:
    llvm_unreachable("bounds that depend on the head are dropped");
  case MaskSymbol::Kind::Dim: {
    MLIRContext *context = op->getContext();
    bool ragged =
        static_cast<bool>(program.getPlan().getOffsetsInput(symbol.dim));
    return program
        .getRow(NamedDimAttr::get(context, symbol.dim, ragged), tile.batchRow)
        .size;
  }
  }
  llvm_unreachable("unknown symbol");
}

/// The rows of a tile have several heads: what depends on the head can't bound
/// a loop over all of them.
static bool mentionsHead(AffineExpr expr, const MaskInfo &mask) {
  for (auto [index, symbol] : llvm::enumerate(mask.symbols))
    if (symbol.kind == MaskSymbol::Kind::Head && expr.isFunctionOfSymbol(index))
      return true;
  return false;
}

Value Scorer::evaluate(AffineExpr expr, const QueryRows &rows, bool greatest) {
  if (mentionsHead(expr, mask))
    return {};
  MLIRContext *context = expr.getContext();
  AffineExpr bound = boundOverRows(expr, getAffineDimExpr(0, context),
                                   getAffineDimExpr(1, context), greatest);
  if (!bound)
    return {};
  SmallVector<Value> symbols;
  for (auto [index, symbol] : llvm::enumerate(mask.symbols))
    symbols.push_back(bound.isFunctionOfSymbol(index) ? getSymbol(symbol)
                                                      : Value());
  return affine::expandAffineExpr(program.getBuilder(), program.getLoc(), bound,
                                  {rows.first, rows.last}, symbols);
}

KeyBounds Scorer::getBounds(const QueryRows &rows,
                            const KeyInterval &interval) {
  IndexMath m = program.math();
  Value zero = m.constant(0);
  KeyBounds bounds = {zero, keyRow.size, zero, keyRow.size, interval.exact};
  for (AffineExpr lower : interval.lower) {
    Value least = evaluate(lower, rows, /*greatest=*/false);
    Value most = evaluate(lower, rows, /*greatest=*/true);
    if (least)
      bounds.low = m.max(bounds.low, least);
    if (most)
      bounds.fullLow = m.max(bounds.fullLow, most);
    bounds.exact &= most != nullptr;
  }
  for (AffineExpr upper : interval.upper) {
    Value most = evaluate(upper, rows, /*greatest=*/true);
    Value least = evaluate(upper, rows, /*greatest=*/false);
    if (most)
      bounds.high = m.min(bounds.high, most);
    if (least)
      bounds.fullHigh = m.min(bounds.fullHigh, least);
    bounds.exact &= least != nullptr;
  }
  for (AffineExpr guard : interval.guards) {
    Value most = evaluate(guard, rows, /*greatest=*/true);
    Value least = evaluate(guard, rows, /*greatest=*/false);
    bounds.exact &= least != nullptr;
    if (most)
      bounds.high = m.select(m.less(most, zero), zero, bounds.high);
    if (least)
      bounds.fullHigh = m.select(m.less(least, zero), zero, bounds.fullHigh);
  }
  bounds.high = m.max(bounds.high, zero);
  bounds.fullHigh = m.max(bounds.fullHigh, zero);
  if (mask.readsAtPositions) {
    // Tables have no elements at negative positions: look at every pair.
    Value negative = m.less(shift, zero);
    bounds.low = m.select(negative, zero, bounds.low);
    bounds.high = m.select(negative, keyRow.size, bounds.high);
    bounds.fullHigh = m.select(negative, zero, bounds.fullHigh);
  }
  if (rows.exist)
    bounds.high = m.select(rows.exist, bounds.high, zero);
  return bounds;
}

SmallVector<KeyBounds> Scorer::getBounds(const QueryRows &rows) {
  SmallVector<KeyBounds> bounds;
  for (const KeyInterval &interval : mask.intervals)
    bounds.push_back(getBounds(rows, interval));
  return bounds;
}

bool Scorer::hasMixedTypes() {
  return cast<NamedTensorType>(op.getQuery().getType()).getElementType() !=
         cast<NamedTensorType>(op.getKey().getType()).getElementType();
}

Value Scorer::getLastKey(const QueryRows &rows) {
  IndexMath m = program.math();
  Value end = m.constant(0);
  for (const KeyBounds &bounds : getBounds(rows))
    end = m.max(end, bounds.high);
  return end;
}

/// The disjunction of a condition for each of several bounds; null for none.
template <typename Condition>
static Value anyOf(OpBuilder &builder, Location loc, ArrayRef<KeyBounds> all,
                   Condition condition) {
  Value any;
  for (const KeyBounds &bounds : all)
    if (Value one = condition(bounds))
      any = any ? arith::OrIOp::create(builder, loc, any, one) : one;
  return any;
}

Value Scorer::isSeen(ArrayRef<KeyBounds> all, Value first, Value end) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  IndexMath m = program.math();
  Value any = anyOf(builder, loc, all, [&](const KeyBounds &bounds) -> Value {
    return arith::AndIOp::create(builder, loc, m.less(first, bounds.high),
                                 m.less(bounds.low, end));
  });
  return any ? any
             : arith::ConstantOp::create(builder, loc,
                                         builder.getBoolAttr(false));
}

Value Scorer::isFull(ArrayRef<KeyBounds> all, Value first, Value end) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  IndexMath m = program.math();
  return anyOf(builder, loc, all, [&](const KeyBounds &bounds) -> Value {
    if (!bounds.exact)
      return {};
    return arith::AndIOp::create(
        builder, loc,
        m.compare(arith::CmpIPredicate::sge, first, bounds.fullLow),
        m.compare(arith::CmpIPredicate::sle, end, bounds.fullHigh));
  });
}

/// The key that tiles of keys are counted from. In a band it is the first one
/// that any row sees, of all warpgroups' rows: a band covers fewer tiles that
/// begin where it does. Several intervals share tiles, counted from 0.
Value Scorer::getOrigin(const QueryRows &rows) {
  IndexMath m = program.math();
  Value origin = m.constant(0);
  if (mask.intervals.size() != 1 || mask.readsAtPositions)
    return origin;
  QueryRows all = rows;
  if (rows.exist) {
    Value end = m.min(m.add(tile.firstToken, tile.tokens), tile.numTokens);
    all.first = m.add(tile.firstToken, shift);
    all.last = m.add(m.add(end, -1), shift);
  }
  for (AffineExpr lower : mask.intervals.front().lower)
    if (Value least = evaluate(lower, all, /*greatest=*/false))
      origin = m.max(origin, least);
  return origin;
}

Scorer::State Scorer::foldKeyTiles(const QueryRows &rows, ValueRange initial,
                                   Step step) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  IndexMath m = program.math();
  int64_t keys = getTileKeys();
  Value origin = getOrigin(rows);
  State state(initial);
  /// Ranges of tiles that earlier intervals went over.
  SmallVector<std::pair<Value, Value>> earlier;

  auto fold = [&](Value first, Value last, bool masked) {
    auto body = [&](OpBuilder &, Location, Value index, ValueRange carried) {
      Value fresh;
      for (auto [start, end] : earlier) {
        Value before = m.less(index, start);
        Value behind = m.compare(arith::CmpIPredicate::sge, index, end);
        Value outside = arith::OrIOp::create(builder, loc, before, behind);
        fresh = fresh ? arith::AndIOp::create(builder, loc, fresh, outside)
                      : outside;
      }
      auto run = [&] {
        return step({.first = m.add(origin, m.mul(index, keys)),
                     .count = keys,
                     .masked = masked},
                    carried);
      };
      scf::YieldOp::create(
          builder, loc,
          fresh ? choose(fresh, run, [&] { return State(carried); }) : run());
    };
    auto loop = scf::ForOp::create(builder, loc, first, last, m.constant(1),
                                   state, body);
    state.assign(loop.getResults().begin(), loop.getResults().end());
  };

  for (auto [interval, bounds] :
       llvm::zip_equal(mask.intervals, getBounds(rows))) {
    auto floor = [&](Value key) {
      return m.floorDiv(m.sub(key, origin), keys);
    };
    auto ceil = [&](Value key) { return m.ceilDiv(m.sub(key, origin), keys); };
    Value first = floor(bounds.low);
    Value last = m.max(ceil(bounds.high), first);
    if (bounds.exact) {
      // Bounds in an order that passes can prove.
      // Without a lower bound the first tile is whole for every row.
      Value fullFirst = first;
      if (!interval.lower.empty()) {
        fullFirst = m.max(m.min(ceil(bounds.fullLow), last), first);
        fold(first, fullFirst, /*masked=*/true);
      }
      Value fullLast = m.max(m.min(floor(bounds.fullHigh), last), fullFirst);
      fold(fullFirst, fullLast, /*masked=*/false);
      fold(fullLast, last, /*masked=*/true);
    } else {
      fold(first, last, /*masked=*/true);
    }
    earlier.push_back({first, last});
  }
  return state;
}

Scorer::State Scorer::choose(Value condition, Branch yes, Branch no) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  auto build = [&](Branch branch) {
    return [&builder, loc, branch](OpBuilder &, Location) {
      scf::YieldOp::create(builder, loc, branch());
    };
  };
  auto op = scf::IfOp::create(builder, loc, condition, build(yes), build(no));
  return State(op.getResults());
}

Scorer::State Scorer::foldTile(ArrayRef<KeyBounds> bounds, KeyTile tile,
                               ValueRange initial, Step step) {
  tile.masked = true;
  IndexMath m = program.math();
  Value full = tile.end
                   ? Value()
                   : isFull(bounds, tile.first, m.add(tile.first, tile.count));
  auto masked = [&] { return step(tile, initial); };
  if (!full)
    return masked();
  KeyTile plain = tile;
  plain.masked = false;
  return choose(full, [&] { return step(plain, initial); }, masked);
}

Scorer::State Scorer::foldBlock(ArrayRef<KeyBounds> bounds, Value block,
                                int64_t blockSize, Value selecting,
                                ValueRange initial, Step step) {
  IndexMath m = program.math();
  State state(initial);
  Value firstKey = m.mul(block, blockSize);
  Value end = m.add(firstKey, blockSize);
  for (int64_t key = 0; key < blockSize; key += getTileKeys()) {
    // Tiles of whole vectors, also at the end of a block of odd size.
    int64_t left = blockSize - key;
    int64_t count =
        std::min<int64_t>(getTileKeys(), llvm::alignTo(left, kKeyGranularity));
    KeyTile tile = {.first = m.add(firstKey, key), .count = count};
    if (count > left)
      tile.end = end;
    tile.rows = selecting;
    state = foldTile(bounds, tile, state, step);
  }
  return state;
}

Scorer::State Scorer::foldBlocks(const QueryRows &rows, const BlockList &list,
                                 ValueRange initial, Step step) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  IndexMath m = program.math();
  SmallVector<KeyBounds> bounds = getBounds(rows);
  auto loop = scf::ForOp::create(
      builder, loc, m.constant(0), m.constant(list.width), m.constant(1),
      initial, [&](OpBuilder &, Location, Value entry, ValueRange carried) {
        Value block = list.getBlock(entry);
        Value isBlock =
            m.compare(arith::CmpIPredicate::sge, block, m.constant(0));
        auto fold = [&] {
          Value selecting = list.getRows ? list.getRows(block) : Value();
          return foldBlock(bounds, block, list.blockSize, selecting, carried,
                           step);
        };
        scf::YieldOp::create(builder, loc, choose(isBlock, fold, [&] {
                               return State(carried);
                             }));
      });
  return State(loop.getResults());
}

//===----------------------------------------------------------------------===//
// One tile of keys
//===----------------------------------------------------------------------===//

Value Scorer::loadKeys(Value tensor, const KeyTile &keys) {
  OpBuilder &builder = program.getBuilder();
  IndexMath m = program.math();
  auto type = cast<NamedTensorType>(tensor.getType());
  int64_t channels = *program.getPlan().getStaticSize(type.getDims().back());
  Value buffer = program.getBuffer(tensor);
  SmallVector<Value> offsets;
  if (!type.isRagged())
    offsets.push_back(tile.batchRow);
  int64_t sequence = offsets.size();
  offsets.push_back(m.add(keyRow.start, keys.first));
  offsets.push_back(tile.keyHead);
  offsets.push_back(m.constant(0));
  SmallVector<Value> limits = {m.add(keyRow.start, keyRow.size),
                               m.constant(channels)};
  DenseI64ArrayAttr steps;
  if (keys.step != 1)
    steps = builder.getDenseI64ArrayAttr({keys.step, 1});
  return nsatile::LoadOp::create(
      builder, program.getLoc(),
      RankedTensorType::get({keys.count, channels}, type.getElementType()),
      buffer, offsets, limits, ArrayRef<int64_t>{sequence, sequence + 2},
      steps);
}

Tile Scorer::getKeyIndices(TileMath &math, const KeyTile &tile) {
  OpBuilder &builder = math.getBuilder();
  Location loc = math.getLoc();
  auto type = cast<RankedTensorType>(
      math.getType(Spread::Column, builder.getIndexType()));
  IndexMath m(builder, loc);
  if (tile.step == 1)
    return {nsatile::IotaOp::create(builder, loc, type, tile.first),
            Spread::Column};
  Tile count = {nsatile::IotaOp::create(builder, loc, type, m.constant(0)),
                Spread::Column};
  Tile stepped =
      math.apply<arith::MulIOp>(count, {m.constant(tile.step), Spread::Scalar});
  return math.apply<arith::AddIOp>(stepped, {tile.first, Spread::Scalar});
}

SmallVector<Tile> Scorer::getRowArguments(const QueryRows &rows) {
  OpBuilder &builder = program.getBuilder();
  TileMath math(builder, program.getLoc(), rows.count, 1);
  Tile tokens = {rows.tokens, Spread::Row};
  Tile position = math.apply<arith::AddIOp>(tokens, {shift, Spread::Scalar});
  return {{tile.batchRow, Spread::Scalar},
          {rows.heads, Spread::Row},
          tokens,
          position};
}

SmallVector<Tile> Scorer::getPairArguments(const QueryRows &rows, Tile keys) {
  SmallVector<Tile> arguments = getRowArguments(rows);
  arguments.push_back(keys);
  return arguments;
}

/// True when a pair's code reads a table at a place that hangs on the key.
static bool readsAtKeys(Region &region) {
  if (region.empty())
    return false;
  SmallVector<Value> open = {region.getArguments().back()};
  while (!open.empty()) {
    for (Operation *user : open.pop_back_val().getUsers()) {
      if (isa<TableReadOp>(user))
        return true;
      llvm::append_range(open, user->getResults());
    }
  }
  return false;
}

/// True where the mask lets rows that exist, whose positions are those of keys,
/// see no later key. Rows that don't exist may see what they like, but tables
/// have no elements there.
bool Scorer::hidesKeysBeyondEnd() {
  for (Clause clause : {Clause::Mask, Clause::Score, Clause::Weight})
    if (readsAtKeys(getRegion(clause)))
      return false;
  auto endsBehindPosition = [&](AffineExpr upper) {
    AffineExpr position = getAffineDimExpr(0, upper.getContext());
    auto distance = dyn_cast<AffineConstantExpr>(
        simplifyAffineExpr(upper - position, 1, mask.symbols.size()));
    return distance && distance.getValue() <= 1;
  };
  return !mask.intervals.empty() &&
         llvm::all_of(mask.intervals, [&](const KeyInterval &interval) {
           return llvm::any_of(interval.upper, endsBehindPosition);
         });
}

ScoreTile Scorer::score(const QueryRows &rows, const KeyTile &tile,
                        bool rawScale) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  TileMath math(builder, loc, rows.count, tile.count);
  Tile keys = getKeyIndices(math, tile);
  Value keyTile = tile.keys ? tile.keys : loadKeys(op.getKey(), tile);
  if (hasMixedTypes())
    keyTile = widen(builder, loc, keyTile,
                    cast<NamedTensorType>(op.getKey().getType()));
  auto type = cast<RankedTensorType>(
      math.getType(Spread::Matrix, builder.getF32Type()));
  Tile scores = {nsatile::DotOp::create(builder, loc, type, rows.query, keyTile,
                                        Value(), Value(),
                                        /*transpose_rhs=*/true),
                 Spread::Matrix};
  if (!rawScale)
    scores = math.apply<arith::MulFOp>(scores, {scale, Spread::Scalar});
  SmallVector<Tile> arguments = getPairArguments(rows, keys);

  std::optional<Tile> visible;
  auto require = [&](Tile condition) {
    visible =
        visible ? math.apply<arith::AndIOp>(*visible, condition) : condition;
  };
  IndexMath m(builder, loc);
  if (tile.rows)
    require({tile.rows, Spread::Row});
  if (tile.end)
    require(math.compare(arith::CmpIPredicate::slt, keys,
                         {tile.end, Spread::Scalar}));
  if (tile.masked) {
    // Keys outside of the sequence were loaded as zeros.
    if (!hidesKeysBeyondEnd())
      require(math.compare(arith::CmpIPredicate::slt, keys,
                           {keyRow.size, Spread::Scalar}));
    if (tile.mayBeNegative)
      require(math.compare(arith::CmpIPredicate::sge, keys,
                           {m.constant(0), Spread::Scalar}));
    if (!op.getMask().empty())
      require(
          evaluateMask(rows, tile, arguments, math, visible.value_or(Tile())));
  }
  if (!op.getScore().empty()) {
    SmallVector<Tile> all = {scores};
    all.append(arguments);
    std::optional<Demand> demand =
        getDemand(Clause::Score, &rows, visible.value_or(Tile()), &tile);
    scores = tileRegion(op.getScore(), all, math, getContext(demand));
  }
  return {math.toMatrix(scores), visible ? math.toMatrix(*visible) : Value()};
}

Tile Scorer::evaluateMask(const QueryRows &rows, const KeyTile &tile,
                          ArrayRef<Tile> arguments, TileMath &math,
                          Tile active) {
  auto evaluate = [&] {
    std::optional<Demand> demand =
        getDemand(Clause::Mask, &rows, active, &tile);
    return tileRegion(op.getMask(), arguments, math, getContext(demand));
  };
  if (getWorstFault(op.getMask(), getPlaces(Clause::Mask)) !=
      Fault::AtNegativePositions)
    return evaluate();
  // Tables are read at i, which is hardly ever negative: what is required
  // stands apart, so that it costs one comparison.
  IndexMath m = program.math();
  scf::IfOp::create(program.getBuilder(), program.getLoc(),
                    m.less(shift, m.constant(0)),
                    [&](OpBuilder &builder, Location loc) {
                      evaluate();
                      scf::YieldOp::create(builder, loc);
                    });
  return tileRegion(op.getMask(), arguments, math, getContext(std::nullopt));
}

Value Scorer::weigh(const QueryRows &rows, Value scores, const KeyTile &tile) {
  OpBuilder &builder = program.getBuilder();
  TileMath math(builder, program.getLoc(), rows.count, tile.count);
  Tile keys = getKeyIndices(math, tile);
  SmallVector<Tile> arguments = {{scores, Spread::Matrix}};
  arguments.append(getPairArguments(rows, keys));
  std::optional<Demand> demand;
  if (mayFault(op.getWeight(), getPlaces(Clause::Weight))) {
    // Scores of pairs that aren't visible are -inf.
    Tile least = {math.constant(Spread::Scalar, -kInfinity), Spread::Scalar};
    Tile takesPart = math.compare(arith::CmpFPredicate::UNE,
                                  {scores, Spread::Matrix}, least);
    demand = getDemand(Clause::Weight, &rows, takesPart, &tile);
  }
  return math.toMatrix(
      tileRegion(op.getWeight(), arguments, math, getContext(demand)));
}

//===----------------------------------------------------------------------===//
// Errors of runs
//===----------------------------------------------------------------------===//

ScalarPlaces Scorer::getPlaces(Clause clause) {
  switch (clause) {
  case Clause::Scale:
    return ScalarPlaces::get(op, op.getScale(), /*leading=*/0);
  case Clause::Mask:
    return ScalarPlaces::get(op, op.getMask(), /*leading=*/0);
  case Clause::Score:
    return ScalarPlaces::get(op, op.getScore(), /*leading=*/1);
  case Clause::Weight:
    return ScalarPlaces::get(op, op.getWeight(), /*leading=*/1);
  case Clause::Sink:
  case Clause::Normalize: {
    auto attend = cast<AttendOp>(op.getOperation());
    return clause == Clause::Sink
               ? ScalarPlaces::get(op, attend.getSink(), /*leading=*/0)
               : ScalarPlaces::get(op, attend.getNormalize(), /*leading=*/2);
  }
  }
  llvm_unreachable("unknown clause");
}

Region &Scorer::getRegion(Clause clause) {
  switch (clause) {
  case Clause::Scale:
    return op.getScale();
  case Clause::Mask:
    return op.getMask();
  case Clause::Score:
    return op.getScore();
  case Clause::Weight:
    return op.getWeight();
  case Clause::Sink:
    return cast<AttendOp>(op.getOperation()).getSink();
  case Clause::Normalize:
    return cast<AttendOp>(op.getOperation()).getNormalize();
  }
  llvm_unreachable("unknown clause");
}

std::optional<Demand> Scorer::getDemand(Clause clause, const QueryRows *rows,
                                        Tile active, const KeyTile *keys) {
  Demand demand;
  demand.places = getPlaces(clause);
  if (!mayFault(getRegion(clause), demand.places))
    return std::nullopt;
  demand.active = active;
  demand.clause = clause == Clause::Mask ? "where" : getClauseName(clause);
  demand.op = getOpNumber(op);
  demand.rank = static_cast<int64_t>(clause);
  demand.positions = {{tile.batchRow, Spread::Scalar}};
  if (!rows)
    return demand;
  demand.positions = getRowArguments(*rows);
  int64_t count = keys ? keys->count : 1;
  TileMath math(program.getBuilder(), program.getLoc(), rows->count, count);
  // Tiles of rows that share a selection may start before the first token.
  Tile tokens = {rows->tokens, Spread::Row};
  Tile exists = math.apply<arith::AndIOp>(
      math.compare(arith::CmpIPredicate::sge, tokens,
                   math.integer(program.getBuilder().getIndexType(), 0)),
      math.compare(arith::CmpIPredicate::slt, tokens,
                   {tile.numTokens, Spread::Scalar}));
  demand.active =
      active.value ? math.apply<arith::AndIOp>(active, exists) : exists;
  if (keys) {
    demand.key = getKeyIndices(math, *keys);
    demand.firstKey = keys->first;
  }
  return demand;
}
