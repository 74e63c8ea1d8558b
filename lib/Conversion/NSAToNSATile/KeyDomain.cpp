//===- KeyDomain.cpp - Keys that a query tile sees ------------------------===//

#include "AttendTiles.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/IR/Matchers.h"
#include <limits>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

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

/// Whether an expression depends on the head. The rows of a tile have several
/// heads, so it can't bound a loop over all of them.
static bool mentionsHead(AffineExpr expr, const MaskInfo &mask) {
  for (auto [index, symbol] : llvm::enumerate(mask.symbols))
    if (symbol.kind == MaskSymbol::Kind::Head && expr.isFunctionOfSymbol(index))
      return true;
  return false;
}

/// Whether a bound may exceed an index. Indices have 32 bits on GPUs, and sizes
/// are below 2^29. A bound beyond them is ignored on all targets.
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
  Value zero = m.constant(0), start = m.constant(firstKey);
  KeyBounds bounds = {start, keyRow.size, start, keyRow.size, interval.exact};
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
    // Tables have no elements at negative positions, so every pair is looked
    // at.
    Value negative = m.less(shift, zero);
    bounds.low = m.select(negative, start, bounds.low);
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

Value Scorer::isSeen(ArrayRef<KeyBounds> all, Value first, Value end) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  IndexMath m = program.math();
  Value any;
  for (const KeyBounds &bounds : all) {
    Value seen = arith::AndIOp::create(builder, loc, m.less(first, bounds.high),
                                       m.less(bounds.low, end));
    any = any ? arith::OrIOp::create(builder, loc, any, seen) : seen;
  }
  return any ? any
             : arith::ConstantOp::create(builder, loc,
                                         builder.getBoolAttr(false));
}

Value Scorer::isPartial(ArrayRef<KeyBounds> all, Value first, Value last) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  IndexMath m = program.math();
  Value partial =
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  for (const KeyBounds &bounds : all) {
    if (!bounds.exact)
      continue;
    Value sticksOut =
        arith::OrIOp::create(builder, loc, m.less(first, bounds.fullLow),
                             m.less(m.add(bounds.fullHigh, -1), last));
    partial = arith::AndIOp::create(builder, loc, partial, sticksOut);
  }
  return partial;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

KeyTiling KeyTiling::ofBlocks(int64_t block, int64_t keys) {
  // Tiles of whole vectors, also at the end of a block of odd size.
  constexpr int64_t granularity = 16;
  KeyTiling tiling;
  tiling.block = block;
  tiling.width = block % keys == 0
                     ? keys
                     : llvm::alignTo(llvm::divideCeil(
                                         block, llvm::divideCeil(block, keys)),
                                     granularity);
  tiling.parts = llvm::divideCeil(block, tiling.width);
  return tiling;
}

KeyTile KeyTiling::getTile(IndexMath m, Value number) const {
  if (block == 0)
    return {.first = m.add(origin, m.mul(number, width)),
            .count = width,
            .block = matchPattern(origin, m_Zero()) ? width : 0};
  Value entry = m.floorDiv(number, parts);
  Value first = m.mul(entry, block);
  KeyTile tile = {.first = first, .count = width, .block = block};
  if (parts > 1)
    tile.first = m.add(first, m.mul(m.sub(number, m.mul(entry, parts)), width));
  if (parts * width != block)
    tile.end = m.add(first, block);
  return tile;
}

Value KeyTiling::getTileBefore(IndexMath m, Value key) const {
  if (block == 0)
    return m.floorDiv(m.sub(key, origin), width);
  Value entry = m.floorDiv(key, block);
  if (parts == 1)
    return entry;
  Value rest = m.sub(key, m.mul(entry, block));
  return m.add(m.mul(entry, parts), m.floorDiv(rest, width));
}

Value KeyTiling::getTileBehind(IndexMath m, Value key) const {
  if (block == 0)
    return m.ceilDiv(m.sub(key, origin), width);
  if (parts == 1)
    return m.ceilDiv(key, block);
  Value entry = m.floorDiv(key, block);
  Value rest = m.sub(key, m.mul(entry, block));
  return m.add(m.mul(entry, parts),
               m.min(m.ceilDiv(rest, width), m.constant(parts)));
}

QueryRows Scorer::ofTile(const QueryRows &rows) {
  return rows.exist ? ofTokens(rows, tile.firstToken, tile.tokens) : rows;
}

QueryRows Scorer::ofPart(const QueryRows &rows, const KeyPart &part) {
  IndexMath m = program.math();
  Value number = m.floorDiv(tile.firstToken, part.tokens);
  return ofTokens(rows, m.mul(number, part.tokens), part.tokens);
}

QueryRows Scorer::ofTokens(const QueryRows &rows, Value first, int64_t count) {
  IndexMath m = program.math();
  QueryRows all = rows;
  Value end = m.min(m.add(first, count), tile.numTokens);
  all.first = m.add(first, shift);
  all.last = m.add(m.add(end, -1), shift);
  all.exist = {};
  return all;
}

/// The key from which tiles of keys are counted. In a band it is the first key
/// that any row of any warpgroup sees: a band covers fewer tiles if they begin
/// where it does. Several intervals share tiles, counted from 0.
Value Scorer::getOrigin(const QueryRows &rows) {
  IndexMath m = program.math();
  Value origin = m.constant(0);
  if (mask.intervals.size() != 1 || mask.readsAtPositions)
    return origin;
  QueryRows all = ofTile(rows);
  for (AffineExpr lower : mask.intervals.front().lower)
    if (Value least = evaluate(lower, all, /*greatest=*/false))
      origin = m.max(origin, least);
  return origin;
}

KeyTiling Scorer::getTiling(const QueryRows &rows) {
  KeyTiling tiling;
  tiling.width = schedule.getTileColumns();
  tiling.origin = getOrigin(rows);
  return tiling;
}

KeyTiling Scorer::getTiling(const QueryRows &rows, const KeyPart &part) {
  return getTiling(ofPart(rows, part));
}

SmallVector<nsatile::TileRange> Scorer::getRanges(ArrayRef<KeyBounds> allBounds,
                                                  const KeyTiling &tiling) {
  IndexMath m = program.math();
  SmallVector<nsatile::TileRange> ranges;
  for (auto [interval, bounds] : llvm::zip_equal(mask.intervals, allBounds)) {
    nsatile::TileRange range;
    range.first = tiling.getTileBefore(m, bounds.low);
    range.end = m.max(tiling.getTileBehind(m, bounds.high), range.first);
    range.fullFirst = range.fullEnd = range.first;
    if (bounds.exact) {
      // Without a lower bound the first tile is whole for every row.
      if (!interval.lower.empty())
        range.fullFirst =
            m.max(m.min(tiling.getTileBehind(m, bounds.fullLow), range.end),
                  range.first);
      range.fullEnd =
          m.max(m.min(tiling.getTileBefore(m, bounds.fullHigh), range.end),
                range.fullFirst);
    }
    ranges.push_back(range);
  }
  // A mask that is false for all pairs has no ranges, but a fold needs one.
  if (Value none = m.constant(0); ranges.empty())
    ranges.push_back({none, none, none, none});
  return ranges;
}

SmallVector<nsatile::TileRange> Scorer::cut(ArrayRef<nsatile::TileRange> ranges,
                                            const QueryRows &rows,
                                            const KeyTiling &tiling,
                                            const KeyPart &part) {
  IndexMath m = program.math();
  KeyTiling units = tiling;
  units.width = part.keys;
  SmallVector<nsatile::TileRange> whole =
      getRanges(getBounds(ofPart(rows, part)), units);
  // Parts share the keys from the first of all ranges to the last. A tile in
  // several ranges counts once, so it has to be in one part.
  Value first = whole.front().first, end = whole.front().end;
  for (const nsatile::TileRange &range : llvm::drop_begin(whole)) {
    first = m.min(first, range.first);
    end = m.max(end, range.end);
  }
  Value share = m.divideUnsigned(
      m.add(m.sub(end, first), m.add(part.count, -1)), part.count);
  Value begin = m.min(m.add(first, m.mul(part.number, share)), end);
  int64_t tilesOfUnit = units.width / tiling.width;
  Value low = m.mul(begin, tilesOfUnit);
  Value high = m.mul(m.min(m.add(begin, share), end), tilesOfUnit);
  return clampRanges(m, ranges, low, high);
}

SmallVector<nsatile::TileRange>
nsacc::clampRanges(IndexMath m, ArrayRef<nsatile::TileRange> ranges, Value low,
                   Value high) {
  SmallVector<nsatile::TileRange> cut;
  for (const nsatile::TileRange &own : ranges) {
    nsatile::TileRange range;
    range.first = m.clamp(low, own.first, own.end);
    range.end = m.clamp(high, range.first, own.end);
    // Ends of a range that are known to be equal stay so.
    range.fullFirst = own.hasHead()
                          ? m.clamp(own.fullFirst, range.first, range.end)
                          : range.first;
    range.fullEnd = !own.hasFull() ? range.fullFirst
                    : !own.hasTail()
                        ? range.end
                        : m.clamp(own.fullEnd, range.fullFirst, range.end);
    cut.push_back(range);
  }
  return cut;
}
