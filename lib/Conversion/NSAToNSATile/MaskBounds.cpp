//===- MaskBounds.cpp - Bounds of key and query loops from a mask ---------===//

#include "MaskBounds.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/IR/Remarks.h"
#include <limits>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

Attribute nsacc::getSequenceDim(Value keys) {
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

/// Emits the text of `nsa-report-masks` as a remark.
static void reportMask(ScoringOpInterface op, const MaskInfo &mask) {
  auto kernel = op->getParentOfType<KernelOp>();
  auto options = remark::RemarkOpts::name("MaskBounds")
                     .category("nsa-mask-analysis")
                     .function(kernel ? kernel.getSymName() : StringRef());
  if (auto remark = remark::analysis(op.getLoc(), options))
    remark << toString(mask);
}

MaskBounds::MaskBounds(ProgramBuilder &program, const QueryTile &tile,
                       ScoringOpInterface op, nsatile::ScheduleAttr schedule)
    : program(program), tile(tile), schedule(schedule), mask(analyzeMask(op)) {
  if (!op.getMask().empty())
    reportMask(op, mask);
  keyRow = nsacc::getKeyRow(program, op.getKey(), tile.batchRow);
  Value numTokens =
      program.getRow(getPositionDim(getSequenceDim(op.getKey())), tile.batchRow)
          .size;
  shift = program.math().sub(numTokens, tile.numTokens);
  if (auto importance = dyn_cast<ImportanceOp>(op.getOperation()))
    if (std::optional<NeededEntries> needed = NeededEntries::find(importance))
      leaveOut(*needed, numTokens);
}

/// Leaves out all other entries: code for them may have no value.
void MaskBounds::leaveOut(const NeededEntries &needed, Value numTokens) {
  IndexMath m = program.math();
  Value zero = m.constant(0), end = zero;
  for (int64_t block : needed.blocks)
    end = m.max(end, m.mul(m.ceilDiv(numTokens, block), block));
  Value entries = m.ceilDiv(m.add(end, -needed.dim.getFirstStart()),
                            needed.dim.getStride());
  entries = m.add(m.max(entries, zero), needed.dim.getMemory());
  entries = m.select(m.less(zero, numTokens), entries, zero);
  keyRow.size = m.min(keyRow.size, entries);
  firstKey = needed.getFirst();
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

Value MaskBounds::getSymbol(const MaskSymbol &symbol) const {
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
static bool mayLeaveIndex(AffineExpr bound) {
  std::optional<int64_t> most = getMagnitude(bound, /*sizeBits=*/29);
  return !most || *most >= std::numeric_limits<int32_t>::max();
}

bool MaskBounds::isBound(AffineExpr expr) const {
  return !mentionsHead(expr, mask) && !mayLeaveIndex(expr);
}

Value MaskBounds::evaluate(AffineExpr expr, Value d0, Value d1) const {
  if (!isBound(expr))
    return {};
  SmallVector<Value> symbols;
  for (auto [index, symbol] : llvm::enumerate(mask.symbols))
    symbols.push_back(expr.isFunctionOfSymbol(index) ? getSymbol(symbol)
                                                     : Value());
  return affine::expandAffineExpr(program.getBuilder(), program.getLoc(), expr,
                                  {d0, d1}, symbols);
}

Value MaskBounds::evaluate(AffineExpr expr, const QueryRows &rows,
                           bool greatest) const {
  MLIRContext *context = expr.getContext();
  AffineExpr bound = boundOverRows(expr, getAffineDimExpr(0, context),
                                   getAffineDimExpr(1, context), greatest);
  return bound ? evaluate(bound, rows.first, rows.last) : Value();
}

KeyBounds MaskBounds::getBounds(const QueryRows &rows,
                                const KeyInterval &interval) const {
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

SmallVector<KeyBounds> MaskBounds::getBounds(const QueryRows &rows) const {
  SmallVector<KeyBounds> bounds;
  for (const KeyInterval &interval : mask.intervals)
    bounds.push_back(getBounds(rows, interval));
  return bounds;
}

MaskBounds::Queries MaskBounds::getQueries(const QueryInterval &interval,
                                           Value first, Value last) const {
  IndexMath m = program.math();
  // Positions of the batch row's queries are [shift, shift + T).
  Value low = shift, high = m.add(tile.numTokens, shift);
  for (AffineExpr lower : interval.lower)
    if (Value bound = evaluate(lower, first, last))
      low = m.max(low, bound);
  for (AffineExpr upper : interval.upper)
    if (Value bound = evaluate(upper, first, last))
      high = m.min(high, bound);
  low = m.min(m.sub(low, shift), tile.numTokens);
  return {low, m.max(m.sub(high, shift), low)};
}

MaskBounds::Queries MaskBounds::getQueries(const KeyInterval &interval,
                                           Value first, Value last) const {
  IndexMath m = program.math();
  Queries seen = getQueries(findQueriesOfAny(interval), first, last);
  if (!mask.readsAtPositions)
    return seen;
  // Tables have no elements at negative positions, so every pair is looked at.
  Value negative = m.less(shift, m.constant(0));
  return {m.select(negative, m.constant(0), seen.low),
          m.select(negative, tile.numTokens, seen.high)};
}

MaskBounds::Queries MaskBounds::getQueries(Value first, Value last) const {
  IndexMath m = program.math();
  if (mask.intervals.empty())
    return {m.constant(0), m.constant(0)};
  Queries seen = getQueries(mask.intervals.front(), first, last);
  for (const KeyInterval &interval : llvm::drop_begin(mask.intervals)) {
    Queries more = getQueries(interval, first, last);
    seen = {m.min(seen.low, more.low), m.max(seen.high, more.high)};
  }
  return seen;
}

SmallVector<nsatile::TileRange>
MaskBounds::getQueryRanges(Value first, Value last, int64_t tokens) const {
  IndexMath m = program.math();
  auto isKnown = [&](AffineExpr expr) { return isBound(expr); };
  SmallVector<nsatile::TileRange> ranges;
  for (const KeyInterval &interval : mask.intervals) {
    Queries any = getQueries(interval, first, last);
    nsatile::TileRange range;
    range.first = m.floorDiv(any.low, tokens);
    range.end = m.max(m.ceilDiv(any.high, tokens), range.first);
    range.fullFirst = range.fullEnd = range.first;
    QueryInterval whole = findQueriesOfAll(interval);
    if (whole.exact && llvm::all_of(whole.lower, isKnown) &&
        llvm::all_of(whole.upper, isKnown)) {
      Queries all = getQueries(whole, first, last);
      range.fullFirst =
          m.clamp(m.ceilDiv(all.low, tokens), range.first, range.end);
      range.fullEnd =
          m.clamp(m.floorDiv(all.high, tokens), range.fullFirst, range.end);
      if (mask.readsAtPositions)
        range.fullEnd = m.select(m.less(shift, m.constant(0)), range.fullFirst,
                                 range.fullEnd);
    }
    ranges.push_back(range);
  }
  // A mask that is false for all pairs has no ranges, but a fold needs one.
  if (Value none = m.constant(0); ranges.empty())
    ranges.push_back({none, none, none, none});
  return ranges;
}

Value MaskBounds::getLastKey(const QueryRows &rows) const {
  IndexMath m = program.math();
  Value end = m.constant(0);
  for (const KeyBounds &bounds : getBounds(rows))
    end = m.max(end, bounds.high);
  return end;
}

Value MaskBounds::isSeen(ArrayRef<KeyBounds> all, Value first,
                         Value end) const {
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

Value MaskBounds::isPartial(ArrayRef<KeyBounds> all, Value first,
                            Value last) const {
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

QueryRows MaskBounds::ofTile(const QueryRows &rows) const {
  return rows.exist ? ofTokens(rows, tile.firstToken, tile.tokens) : rows;
}

QueryRows MaskBounds::ofPart(const QueryRows &rows, const KeyPart &part) const {
  IndexMath m = program.math();
  Value number = m.floorDiv(tile.firstToken, part.tokens);
  return ofTokens(rows, m.mul(number, part.tokens), part.tokens);
}

QueryRows MaskBounds::ofTokens(const QueryRows &rows, Value first,
                               int64_t count) const {
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
Value MaskBounds::getOrigin(const QueryRows &rows) const {
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

KeyTiling MaskBounds::getTiling(const QueryRows &rows) const {
  KeyTiling tiling;
  tiling.width = schedule.getTileColumns();
  tiling.origin = getOrigin(rows);
  return tiling;
}

KeyTiling MaskBounds::getTiling(const QueryRows &rows,
                                const KeyPart &part) const {
  return getTiling(ofPart(rows, part));
}

SmallVector<nsatile::TileRange>
MaskBounds::getRanges(ArrayRef<KeyBounds> allBounds,
                      const KeyTiling &tiling) const {
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

SmallVector<nsatile::TileRange>
MaskBounds::cut(ArrayRef<nsatile::TileRange> ranges, const QueryRows &rows,
                const KeyTiling &tiling, const KeyPart &part) const {
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
