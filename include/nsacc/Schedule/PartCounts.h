//===- PartCounts.h - Number of parts that a call is cut into ---*- C++ -*-===//
//
// Where a schedule leaves the number of splits open, it depends on a call's
// sizes: the plan computes it at run time. `Math` makes values of the plan, or
// in tests numbers.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_SCHEDULE_PARTCOUNTS_H
#define NSACC_SCHEDULE_PARTCOUNTS_H

#include "nsacc/Schedule/QueryShape.h"
#include "llvm/Support/MathExtras.h"

namespace nsacc::schedule {

/// Most keys that a query sees in intervals that move along with it. None where
/// an interval doesn't move, or has a size that isn't known.
std::optional<int64_t> getWidth(nsa::ScoringOpInterface op);

/// Most keys that a tile of `tokens` queries goes over, as far as sizes tell.
/// `getSize` returns the size of a dimension, packed if it is ragged.
template <typename Math, typename GetSize>
auto countWalkedKeys(const Math &m, nsa::ScoringOpInterface op,
                     const QueryShape &shape, int64_t tokens, GetSize getSize) {
  auto keys = llvm::cast<nsa::NamedTensorType>(op.getKey().getType());
  auto all = getSize(keys.getDims()[keys.isRagged() ? 0 : 1]);
  if (mlir::Value selection = op.getSelection()) {
    auto type = llvm::cast<nsa::SelectionType>(selection.getType());
    TileLists lists(type, shape.dims, tokens, shape.group);
    // Few queries don't fill a tile.
    auto there = m.min(getSize(shape.dims.token), m.constant(tokens));
    auto count = m.ceilDiv(m.mul(there, lists.count), tokens);
    return m.min(all, m.mul(m.mul(count, static_cast<int64_t>(type.getTop())),
                            static_cast<int64_t>(type.getBlock())));
  }
  if (std::optional<int64_t> width = getWidth(op))
    return m.min(all, m.constant(*width + tokens));
  return all;
}

/// Number of parts of the keys: as many as blocks that run at once have room
/// for. If that leaves more than an eighth of the blocks idle, it is as many as
/// two rounds have room for, at least three: two parts for each tile take no
/// less time than one. A part is long enough to be worth its fixed cost. One
/// program merges all parts, and a part adds as much to its time as 8 keys to a
/// part's own. `tiles` is the number of query tiles, each of which walks
/// `walked` keys in tiles of `tileKeys`; `blocks` run at once.
template <typename Math, typename Number>
Number countSplits(const Math &m, Number tiles, Number walked, int64_t tileKeys,
                   int64_t blocks) {
  constexpr int64_t most = 64, least = 3, leastTiles = 2, mergedKeys = 8,
                    mostIdle = 8;
  Number one = m.constant(1);
  tiles = m.max(tiles, one);
  Number inOne = m.floorDiv(m.constant(blocks), tiles);
  Number inTwo = m.floorDiv(m.constant(2 * blocks), tiles);
  Number busy = m.mul(m.mul(inOne, tiles), mostIdle);
  Number splits =
      m.select(m.less(busy, m.constant((mostIdle - 1) * blocks)),
               m.select(m.less(inTwo, m.constant(least)), one, inTwo), inOne);
  Number merged = m.constant(2);
  for (int64_t count = 4; count <= most; count *= 2)
    merged = m.select(m.less(walked, m.constant(count * count * mergedKeys)),
                      merged, m.constant(count));
  Number parts = m.ceilDiv(walked, leastTiles * tileKeys);
  return m.clamp(splits, one, m.max(m.min(parts, merged), one));
}

/// Number of parts of a row's blocks of which a top-k ranks `top`, for
/// multiprocessors without a tile. A part has at least half as many blocks as
/// all parts' lists have entries, which one program merges. 1 where each
/// multiprocessor has a tile.
template <typename Math, typename Number>
Number countRankingParts(const Math &m, Number tiles, Number blocks,
                         int64_t top, int64_t running) {
  constexpr int64_t least = 4, most = 64, entriesOfBlock = 2, partsOfBlock = 2;
  Number idle = m.floorDiv(m.constant(partsOfBlock * running),
                           m.max(tiles, m.constant(1)));
  Number parts = m.constant(1);
  for (int64_t count = least; count <= most; count *= 2) {
    Number entries =
        m.constant(llvm::divideCeil(count * count * top, entriesOfBlock));
    Number isMore =
        m.select(m.less(idle, m.constant(count)), parts, m.constant(count));
    parts = m.select(m.less(blocks, entries), parts, isMore);
  }
  return parts;
}

} // namespace nsacc::schedule

#endif // NSACC_SCHEDULE_PARTCOUNTS_H
