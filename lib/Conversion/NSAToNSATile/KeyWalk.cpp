//===- KeyWalk.cpp - Orders in which rows meet keys -----------------------===//

#include "KeyWalk.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

Value KeyWalk::countTokens() {
  IndexMath m = program.math();
  Value left = m.sub(tile.numTokens, tile.firstToken);
  return m.max(m.min(left, m.constant(tile.tokens)), m.constant(0));
}

RowState KeyWalk::insert(ValueRange part, ValueRange whole, Value firstRow) {
  RowState state;
  for (auto [rows, tile] : llvm::zip_equal(part, whole))
    state.push_back(insertRows(builder, loc, rows, tile, firstRow));
  return state;
}

RowState KeyWalk::foldTiles(const QueryRows &rows,
                            const nsatile::FoldDomain &domain,
                            const KeyTiling &tiling) {
  return fold.fold(rows, domain, {}, [&](Value number, ValueRange) {
    return tiling.getTile(program.math(), number);
  });
}

RowState RangeWalk::walk(const QueryRows &rows) {
  SmallVector<KeyBounds> seen = bounds.getBounds(rows);
  KeyTiling tiling =
      part ? bounds.getTiling(rows, *part) : bounds.getTiling(rows);
  SmallVector<nsatile::TileRange> ranges = bounds.getRanges(seen, tiling);
  if (part)
    ranges = bounds.cut(ranges, rows, tiling, *part);
  return foldTiles(rows, {.ranges = ranges}, tiling);
}

/// A tile that is wide for the sake of its selections walks all other keys in
/// parts with tighter bounds.
RowState RangeWalk::run(const QueryRows &rows) {
  IndexMath m = program.math();
  int64_t tokens = schedule.getPart();
  if (tokens == 0)
    return walk(rows);
  int64_t count = tokens * tile.group;
  auto loop = scf::ForOp::create(
      builder, loc, m.constant(0), m.ceilDiv(countTokens(), tokens),
      m.constant(1), fold.getInitialState(rows.count),
      [&](OpBuilder &, Location, Value part, ValueRange carried) {
        Value firstRow = m.mul(part, count);
        Value first = m.add(tile.firstToken, m.mul(part, tokens));
        Value end = m.min(m.add(first, tokens), tile.numTokens);
        QueryRows few =
            scorer.slice(rows, firstRow, count, first, m.add(end, -1));
        scf::YieldOp::create(builder, loc,
                             insert(walk(few), carried, firstRow));
      });
  return RowState(loop.getResults());
}

RowState OneBlockWalk::run(const QueryRows &rows) {
  IndexMath m = program.math();
  KeyTiling tiling =
      KeyTiling::ofBlocks(selection.getBlock(), schedule.getKeys());
  Value first = m.mul(block, tiling.parts);
  Value end = m.select(exists, m.add(first, tiling.parts), first);
  nsatile::FoldDomain domain = {
      .ranges = clampRanges(m, bounds.getRanges(bounds.getBounds(rows), tiling),
                            first, end)};
  return foldTiles(rows, domain, tiling);
}
