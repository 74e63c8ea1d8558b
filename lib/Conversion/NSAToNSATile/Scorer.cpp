//===- Scorer.cpp - Scores and masks of one query tile --------------------===//

#include "Scorer.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <cmath>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

Scorer::Scorer(ProgramBuilder &program, const QueryTile &tile,
               ScoringOpInterface op, nsatile::ScheduleAttr schedule,
               PairRows rowsAre)
    : program(program), tile(tile), op(op), schedule(schedule),
      rowsAre(rowsAre), bounds(program, tile, op, schedule) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
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

bool Scorer::hasMixedTypes() {
  return cast<NamedTensorType>(op.getQuery().getType()).getElementType() !=
         cast<NamedTensorType>(op.getKey().getType()).getElementType();
}

/// First token past the tile's tokens that exist.
static Value getEndToken(ProgramBuilder &program, const QueryTile &tile) {
  if (tile.listed)
    return tile.listed->endToken;
  IndexMath m = program.math();
  return m.min(m.add(tile.firstToken, tile.tokens), tile.numTokens);
}

TileMath Scorer::getMath(int64_t queries, int64_t keys) {
  if (rowsAre == PairRows::Keys)
    std::swap(queries, keys);
  return TileMath(program.getBuilder(), program.getLoc(), queries, keys);
}

QueryRows Scorer::getRows(const QueryTile &of) {
  IndexMath m = program.math();
  auto type = cast<NamedTensorType>(op.getQuery().getType());
  int64_t channels = *program.getPlan().getStaticSize(type.getDims().back());
  Value end = getEndToken(program, of);
  Value query = loadQueryMatrix(program, of, op.getQuery(), channels);
  // A product has operands of one type.
  if (hasMixedTypes())
    query = widen(program.getBuilder(), program.getLoc(), query, type);
  Value first = of.firstToken, exist;
  // A list's tokens aren't neighbours, so positions don't bound rows.
  if (schedule.getWarps() > 0 && rowsAre == PairRows::Queries && !of.listed) {
    // A warpgroup's share of the last tile's rows may lie beyond their end.
    auto range = nsatile::RowRangeOp::create(
        program.getBuilder(), program.getLoc(), first, end, of.tokens,
        /*groups=*/IntegerAttr());
    first = range.getOwnFirst();
    end = range.getOwnEnd();
    exist = m.less(first, end);
  }
  return {of.getRows(),
          query,
          of.tokenOfRow,
          of.headOfRow,
          m.add(first, getShift()),
          m.add(m.add(end, -1), getShift()),
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
          m.add(firstToken, getShift()),
          m.add(lastToken, getShift())};
}

//===----------------------------------------------------------------------===//
// One tile of keys
//===----------------------------------------------------------------------===//

Value Scorer::loadKeys(Value tensor, const KeyTile &keys) {
  return loadChannels(tensor, keys, {});
}

Value Scorer::loadValues(Value tensor, const KeyTile &keys) {
  return loadChannels(tensor, keys, tile.slice);
}

Value Scorer::loadChannels(Value tensor, const KeyTile &keys,
                           const std::optional<ChannelSlice> &slice) {
  IndexMath m = program.math();
  auto type = cast<NamedTensorType>(tensor.getType());
  int64_t channels = *program.getPlan().getStaticSize(type.getDims().back());
  Value buffer = program.getBuffer(tensor);
  nsatile::TilePlace place = {
      .shape = {keys.count, slice ? slice->count : channels}};
  if (!type.isRagged())
    place.offsets.push_back(tile.batchRow);
  int64_t sequence = place.offsets.size();
  place.offsets.append({m.add(getKeyRow().start, keys.first), tile.keyHead,
                        slice ? slice->first : m.constant(0)});
  place.limits = {m.add(getKeyRow().start, getKeyRow().size),
                  m.constant(channels)};
  place.dims = {sequence, sequence + 2};
  if (keys.step != 1)
    place.steps = {keys.step, 1};
  return nsatile::loadTile(program.getBuilder(), program.getLoc(), buffer,
                           place);
}

Tile Scorer::getKeyIndices(TileMath &math, const KeyTile &tile) {
  OpBuilder &builder = math.getBuilder();
  Location loc = math.getLoc();
  auto type = cast<RankedTensorType>(
      math.getType(getKeyAxes(), builder.getIndexType()));
  IndexMath m(builder, loc);
  if (tile.step == 1)
    return {nsatile::IotaOp::create(builder, loc, type, tile.first),
            getKeyAxes()};
  Tile count = {nsatile::IotaOp::create(builder, loc, type, m.constant(0)),
                getKeyAxes()};
  Tile stepped = math.apply<arith::MulIOp>(
      count, {m.constant(tile.step), TileAxes::Scalar});
  return math.apply<arith::AddIOp>(stepped, {tile.first, TileAxes::Scalar});
}

SmallVector<Tile> Scorer::getRowArguments(const QueryRows &rows) {
  TileMath math = getMath(rows.count, 1);
  Tile tokens = {rows.tokens, getQueryAxes()};
  Tile position =
      math.apply<arith::AddIOp>(tokens, {getShift(), TileAxes::Scalar});
  return {{tile.batchRow, TileAxes::Scalar},
          {rows.heads, getQueryAxes()},
          tokens,
          position};
}

SmallVector<Tile> Scorer::getPairArguments(const QueryRows &rows, Tile keys) {
  SmallVector<Tile> arguments = getRowArguments(rows);
  arguments.push_back(keys);
  return arguments;
}

/// Whether a pair's code reads a table at a place that depends on the key.
static bool readsAtKeys(Region &region) {
  if (region.empty())
    return false;
  // Ops stand in front of their uses.
  llvm::SmallDenseSet<Value> ofKeys = {region.getArguments().back()};
  for (Operation &user : region.front()) {
    if (llvm::none_of(user.getOperands(),
                      [&](Value operand) { return ofKeys.contains(operand); }))
      continue;
    if (isa<TableReadOp>(user))
      return true;
    ofKeys.insert_range(user.getResults());
  }
  return false;
}

/// Whether the mask hides keys beyond the end from rows that exist, if
/// positions of rows count keys. Rows that don't exist may see any key, but
/// tables have no elements there. Positions say nothing about the number of
/// pooled keys.
bool Scorer::hidesKeysBeyondEnd() {
  if (isa<PooledDimAttr>(getSequenceDim(op.getKey())))
    return false;
  for (Clause clause : {Clause::Mask, Clause::Score, Clause::Weight})
    if (readsAtKeys(getRegion(clause)))
      return false;
  auto endsBehindPosition = [&](AffineExpr upper) {
    AffineExpr position = getAffineDimExpr(0, upper.getContext());
    auto distance = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(
        upper - position, 1, bounds.getMask().symbols.size()));
    return distance && distance.getValue() <= 1;
  };
  return !bounds.getMask().intervals.empty() &&
         llvm::all_of(bounds.getMask().intervals,
                      [&](const KeyInterval &interval) {
                        return llvm::any_of(interval.upper, endsBehindPosition);
                      });
}

Tile Scorer::multiply(const QueryRows &rows, const KeyTile &tile,
                      bool rawScale) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  TileMath math = getMath(rows.count, tile.count);
  Value keys = tile.keys ? tile.keys : loadKeys(op.getKey(), tile);
  if (hasMixedTypes())
    keys =
        widen(builder, loc, keys, cast<NamedTensorType>(op.getKey().getType()));
  auto type = cast<RankedTensorType>(
      math.getType(TileAxes::Matrix, builder.getF32Type()));
  Value query = rows.query;
  if (rowsAre == PairRows::Keys)
    std::swap(query, keys);
  Tile scores = {nsatile::DotOp::create(builder, loc, type, query, keys,
                                        Value(), Value(),
                                        /*transpose_rhs=*/true),
                 TileAxes::Matrix};
  return rawScale
             ? scores
             : math.apply<arith::MulFOp>(scores, {scale, TileAxes::Scalar});
}

Tile Scorer::changeScores(const QueryRows &rows, const KeyTile &tile,
                          Tile scores, Tile active) {
  if (op.getScore().empty())
    return scores;
  TileMath math = getMath(rows.count, tile.count);
  SmallVector<Tile> arguments = {scores};
  arguments.append(getPairArguments(rows, getKeyIndices(math, tile)));
  std::optional<Demand> demand = getDemand(Clause::Score, &rows, active, &tile);
  return tileRegion(op.getScore(), arguments, math, getContext(demand, &tile));
}

std::optional<Tile> Scorer::getVisible(const QueryRows &rows,
                                       const KeyTile &tile, bool isFull,
                                       bool ofAllRows) {
  TileMath math = getMath(rows.count, tile.count);
  IndexMath m = program.math();
  Tile keys = getKeyIndices(math, tile);
  std::optional<Tile> visible;
  auto require = [&](Tile condition) {
    visible =
        visible ? math.apply<arith::AndIOp>(*visible, condition) : condition;
  };
  Tile looking = {tile.rows, getQueryAxes()};
  if (tile.rows && !ofAllRows)
    require(looking);
  if (tile.end)
    require(math.compare(arith::CmpIPredicate::slt, keys,
                         {tile.end, TileAxes::Scalar}));
  if (isFull)
    return visible;
  // Queries behind the last one were loaded as zeros.
  if (rowsAre == PairRows::Keys)
    require(math.compare(arith::CmpIPredicate::slt,
                         {rows.tokens, getQueryAxes()},
                         {this->tile.numTokens, TileAxes::Scalar}));
  // Keys outside of the sequence were loaded as zeros.
  if (!hidesKeysBeyondEnd())
    require(math.compare(arith::CmpIPredicate::slt, keys,
                         {getKeyRow().size, TileAxes::Scalar}));
  if (tile.mayBeNegative)
    require(math.compare(arith::CmpIPredicate::sge, keys,
                         {m.constant(bounds.getFirstKey()), TileAxes::Scalar}));
  if (op.getMask().empty())
    return visible;
  Tile active = visible.value_or(Tile());
  if (tile.rows && ofAllRows)
    active = visible ? math.apply<arith::AndIOp>(active, looking) : looking;
  require(evaluateMask(rows, tile, getPairArguments(rows, keys), math, active));
  return visible;
}

VisibleScores Scorer::scoreVisible(const QueryRows &rows, const KeyTile &tile,
                                   bool rawScale, bool counts) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  TileMath math = getMath(rows.count, tile.count);
  Tile products = multiply(rows, tile, rawScale), scores = products;
  // Code that may have no value asks for the pairs that need one.
  bool asksVisible = !op.getScore().empty() &&
                     needsAssertion(op.getScore(), getPlaces(Clause::Score));
  if (!asksVisible)
    scores = changeScores(rows, tile, products, Tile());

  // Rows that don't look at the tile are hidden last, where a softmax can leave
  // them out.
  bool hidesRows = tile.rows && !counts && !asksVisible;
  Tile least = {math.constant(TileAxes::Scalar, -kInfinity), TileAxes::Scalar};
  auto hide = [&](bool isFull) -> SmallVector<Value> {
    std::optional<Tile> visible =
        getVisible(rows, tile, isFull, /*ofAllRows=*/hidesRows);
    Tile result = asksVisible ? changeScores(rows, tile, products,
                                             visible.value_or(Tile()))
                              : scores;
    if (visible)
      result = math.select(*visible, result, least);
    SmallVector<Value> values = {math.toMatrix(result)};
    if (!counts)
      return values;
    Tile counted = {math.constant(TileAxes::Scalar, 1.0), TileAxes::Scalar};
    if (visible)
      counted =
          math.select(*visible, counted,
                      {math.constant(TileAxes::Scalar, 0.0), TileAxes::Scalar});
    values.push_back(nsatile::ReduceOp::create(
        builder, loc, math.getType(getQueryAxes(), builder.getF32Type()),
        nsatile::ReduceKind::Sum, math.toMatrix(counted),
        /*dim=*/rowsAre == PairRows::Queries ? 1 : 0));
    return values;
  };
  SmallVector<Value> values;
  if (tile.partial) {
    auto branch = scf::IfOp::create(
        builder, loc, tile.partial,
        [&](OpBuilder &, Location) {
          scf::YieldOp::create(builder, loc, hide(/*isFull=*/false));
        },
        [&](OpBuilder &, Location) {
          scf::YieldOp::create(builder, loc, hide(/*isFull=*/true));
        });
    values.assign(branch.result_begin(), branch.result_end());
  } else {
    values = hide(/*isFull=*/false);
  }
  if (hidesRows)
    values[0] = math.toMatrix(math.select(
        {tile.rows, getQueryAxes()}, {values[0], TileAxes::Matrix}, least));
  return {values[0], counts ? values[1] : Value()};
}

Tile Scorer::evaluateMask(const QueryRows &rows, const KeyTile &tile,
                          ArrayRef<Tile> arguments, TileMath &math,
                          Tile active) {
  auto evaluate = [&] {
    std::optional<Demand> demand =
        getDemand(Clause::Mask, &rows, active, &tile);
    return tileRegion(op.getMask(), arguments, math, getContext(demand, &tile));
  };
  if (getAssertionNeed(op.getMask(), getPlaces(Clause::Mask)) !=
      AssertionNeed::AtNegativePositions)
    return evaluate();
  // Tables are read at i, which is hardly ever negative. The assertions stand
  // apart, so that they cost one comparison.
  IndexMath m = program.math();
  scf::IfOp::create(program.getBuilder(), program.getLoc(),
                    m.less(getShift(), m.constant(0)),
                    [&](OpBuilder &builder, Location loc) {
                      evaluate();
                      scf::YieldOp::create(builder, loc);
                    });
  return tileRegion(op.getMask(), arguments, math,
                    getContext(std::nullopt, &tile));
}

Value Scorer::weigh(const QueryRows &rows, Value scores, const KeyTile &tile) {
  TileMath math = getMath(rows.count, tile.count);
  Tile keys = getKeyIndices(math, tile);
  SmallVector<Tile> arguments = {{scores, TileAxes::Matrix}};
  arguments.append(getPairArguments(rows, keys));
  std::optional<Demand> demand;
  if (needsAssertion(op.getWeight(), getPlaces(Clause::Weight))) {
    // Pairs that aren't visible have scores of -inf.
    Tile least = {math.constant(TileAxes::Scalar, -kInfinity),
                  TileAxes::Scalar};
    Tile takesPart = math.compare(arith::CmpFPredicate::UNE,
                                  {scores, TileAxes::Matrix}, least);
    demand = getDemand(Clause::Weight, &rows, takesPart, &tile);
  }
  return math.toMatrix(
      tileRegion(op.getWeight(), arguments, math, getContext(demand, &tile)));
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
    return ScalarPlaces::get(op, *op.getSinkScore(), /*leading=*/0);
  case Clause::Normalize:
    return ScalarPlaces::get(op, *op.getNormalizer(), /*leading=*/2);
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
    return *op.getSinkScore();
  case Clause::Normalize:
    return *op.getNormalizer();
  }
  llvm_unreachable("unknown clause");
}

std::optional<Demand> Scorer::getDemand(Clause clause, const QueryRows *rows,
                                        Tile active, const KeyTile *keys) {
  Demand demand;
  demand.places = getPlaces(clause);
  if (!needsAssertion(getRegion(clause), demand.places))
    return std::nullopt;
  demand.active = active;
  demand.clause = clause == Clause::Mask ? "where" : getClauseName(clause);
  demand.op = getOpNumber(op);
  demand.rank = static_cast<int64_t>(clause);
  demand.positions = {{tile.batchRow, TileAxes::Scalar}};
  if (!rows)
    return demand;
  demand.positions = getRowArguments(*rows);
  int64_t count = keys ? keys->count : 1;
  TileMath math = getMath(rows->count, count);
  // Tiles of rows that share a selection may start before the first token.
  Tile tokens = {rows->tokens, getQueryAxes()};
  Tile exists = math.apply<arith::AndIOp>(
      math.compare(arith::CmpIPredicate::sge, tokens,
                   math.integer(program.getBuilder().getIndexType(), 0)),
      math.compare(arith::CmpIPredicate::slt, tokens,
                   {tile.numTokens, TileAxes::Scalar}));
  demand.active =
      active.value ? math.apply<arith::AndIOp>(active, exists) : exists;
  if (keys) {
    demand.key = getKeyIndices(math, *keys);
    if (rowsAre == PairRows::Keys)
      demand.active = math.apply<arith::AndIOp>(
          demand.active, math.compare(arith::CmpIPredicate::slt, demand.key,
                                      {getKeyRow().size, TileAxes::Scalar}));
    demand.firstKey = keys->first;
  }
  return demand;
}
