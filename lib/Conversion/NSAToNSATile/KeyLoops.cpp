//===- KeyLoops.cpp - Which keys a query tile sees, and loops over them ---===//

#include "AttendTiles.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <limits>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

/// Tiles at the end of a block are a multiple of this wide.
static constexpr int64_t kKeyGranularity = 16;
/// Code for more tiles than these takes long to compile and is no faster.
static constexpr int64_t kUnrolledTiles = 4;
/// Each interval has up to three loops of its own, and each loop the code of a
/// tile. More intervals than these share a loop.
static constexpr size_t kIntervalsWithLoops = 3;

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

Value Scorer::getSymbol(const MaskSymbol &symbol) {
  switch (symbol.kind) {
  case MaskSymbol::Kind::BatchRow:
    return tile.batchRow;
  case MaskSymbol::Kind::Head:
    llvm_unreachable("bounds that depend on the head are dropped");
  case MaskSymbol::Kind::Dim:
    return program
        .getRow(program.getPlan().getNamedDim(symbol.dim), tile.batchRow)
        .size;
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

/// Indices have 32 bits on GPUs, and sizes are below 2^29. A bound beyond is no
/// bound on any target.
bool Scorer::mayLeaveIndex(AffineExpr bound) {
  std::optional<int64_t> most = getMagnitude(bound, /*sizeBits=*/29);
  return !most || *most >= std::numeric_limits<int32_t>::max();
}

Value Scorer::evaluate(AffineExpr expr, const QueryRows &rows, bool greatest) {
  if (mentionsHead(expr, mask))
    return {};
  MLIRContext *context = expr.getContext();
  AffineExpr bound = boundOverRows(expr, getAffineDimExpr(0, context),
                                   getAffineDimExpr(1, context), greatest);
  if (!bound || mayLeaveIndex(bound))
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

//===----------------------------------------------------------------------===//
// Loops over key tiles
//===----------------------------------------------------------------------===//

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
    all.first = m.add(tile.firstToken, shift);
    all.last = m.add(m.add(getEndToken(), -1), shift);
  }
  for (AffineExpr lower : mask.intervals.front().lower)
    if (Value least = evaluate(lower, all, /*greatest=*/false))
      origin = m.max(origin, least);
  return origin;
}

/// One loop over the tiles of all intervals, one interval after another. A tile
/// of several intervals counts in the first of them.
Scorer::State Scorer::foldIntervals(ArrayRef<KeyBounds> bounds,
                                    ValueRange initial, Step step) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  IndexMath m = program.math();
  int64_t keys = getTileKeys();
  struct Tiles {
    Value first, last; ///< of the interval
    Value before;      ///< how many those of earlier intervals are
  };
  SmallVector<Tiles> intervals;
  Value count = m.constant(0);
  for (const KeyBounds &interval : bounds) {
    Value first = m.floorDiv(interval.low, keys);
    Value last = m.max(m.ceilDiv(interval.high, keys), first);
    intervals.push_back({first, last, count});
    count = m.add(count, m.sub(last, first));
  }
  auto loop = scf::ForOp::create(
      builder, loc, m.constant(0), count, m.constant(1), initial,
      [&](OpBuilder &, Location, Value index, ValueRange carried) {
        Value number = m.add(intervals.front().first, index);
        for (const Tiles &tiles : ArrayRef(intervals).drop_front())
          number = m.select(m.less(index, tiles.before), number,
                            m.add(tiles.first, m.sub(index, tiles.before)));
        Value known =
            arith::ConstantOp::create(builder, loc, builder.getBoolAttr(false));
        for (auto [tiles, next] :
             llvm::zip(intervals, ArrayRef(intervals).drop_front())) {
          Value later =
              m.compare(arith::CmpIPredicate::sge, index, next.before);
          Value within = arith::AndIOp::create(
              builder, loc,
              m.compare(arith::CmpIPredicate::sge, number, tiles.first),
              m.less(number, tiles.last));
          known = arith::OrIOp::create(
              builder, loc, known,
              arith::AndIOp::create(builder, loc, later, within));
        }
        KeyTile tile = {.first = m.mul(number, keys), .count = keys};
        scf::YieldOp::create(
            builder, loc,
            choose(
                known, [&] { return State(carried); },
                [&] { return foldTile(bounds, tile, carried, step); }));
      });
  return State(loop.getResults());
}

Scorer::State Scorer::foldKeyTiles(const QueryRows &rows, ValueRange initial,
                                   Step step) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  IndexMath m = program.math();
  SmallVector<KeyBounds> allBounds = getBounds(rows);
  if (allBounds.size() > kIntervalsWithLoops)
    return foldIntervals(allBounds, initial, step);
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

  for (auto [interval, bounds] : llvm::zip_equal(mask.intervals, allBounds)) {
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

int64_t Scorer::getParts(int64_t blockSize) {
  int64_t tiles = llvm::divideCeil(blockSize, getTileKeys());
  return tiles <= kUnrolledTiles ? 1 : tiles;
}

Scorer::State Scorer::foldPart(ArrayRef<KeyBounds> bounds, Value block,
                               int64_t blockSize, Value part, Value selecting,
                               ValueRange initial, Step step) {
  if (getParts(blockSize) == 1)
    return foldBlock(bounds, block, blockSize, selecting, initial, step);
  IndexMath m = program.math();
  int64_t keys = getTileKeys();
  Value firstKey = m.mul(block, blockSize);
  KeyTile tile = {.first = m.add(firstKey, m.mul(part, keys)), .count = keys};
  if (blockSize % keys != 0)
    tile.end = m.add(firstKey, blockSize);
  tile.rows = selecting;
  return choose(
      isSeen(bounds, tile.first, m.add(tile.first, tile.count)),
      [&] { return foldTile(bounds, tile, initial, step); },
      [&] { return State(initial); });
}

Scorer::State Scorer::foldBlocks(const QueryRows &rows, const BlockList &list,
                                 ValueRange initial, Step step) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  IndexMath m = program.math();
  SmallVector<KeyBounds> bounds = getBounds(rows);
  int64_t parts = getParts(list.blockSize);
  auto loop = scf::ForOp::create(
      builder, loc, m.constant(0), m.constant(list.width * parts),
      m.constant(1), initial,
      [&](OpBuilder &, Location, Value index, ValueRange carried) {
        Value entry = m.floorDiv(index, parts);
        Value part = m.sub(index, m.mul(entry, parts));
        Value block = list.getBlock(entry);
        Value isBlock =
            m.compare(arith::CmpIPredicate::sge, block, m.constant(0));
        auto fold = [&] {
          Value selecting = list.getRows ? list.getRows(block) : Value();
          return foldPart(bounds, block, list.blockSize, part, selecting,
                          carried, step);
        };
        scf::YieldOp::create(builder, loc, choose(isBlock, fold, [&] {
                               return State(carried);
                             }));
      });
  return State(loop.getResults());
}
