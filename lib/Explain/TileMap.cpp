//===- TileMap.cpp - Tiles that a mask shows whole, in part or not --------===//

#include "nsacc/Explain/TileMap.h"
#include "nsacc/Tuning/KeyBounds.h"
#include "llvm/Support/MathExtras.h"

using namespace nsacc;
using namespace nsacc::explain;
using namespace nsacc::nsa;

namespace {

using Keys = tuning::KeyRanges;
using tuning::normalize;

/// Counts of tiles, by state.
struct Counts {
  int64_t full = 0, touched = 0;
};

} // namespace

llvm::StringRef explain::getName(TileState state) {
  static constexpr llvm::StringLiteral names[] = {"empty", "partial", "full"};
  return names[static_cast<size_t>(state)];
}

static Keys intersect(const Keys &lhs, const Keys &rhs) {
  Keys both;
  for (size_t left = 0, right = 0; left < lhs.size() && right < rhs.size();) {
    int64_t low = std::max(lhs[left].first, rhs[right].first);
    int64_t high = std::min(lhs[left].second, rhs[right].second);
    if (low < high)
      both.push_back({low, high});
    ++(lhs[left].second < rhs[right].second ? left : right);
  }
  return both;
}

namespace {

/// What the queries of a tile see.
class TileRow {
public:
  void add(Keys exact, Keys any) {
    normalize(exact);
    seenByAll = isFirst ? std::move(exact) : intersect(seenByAll, exact);
    isFirst = false;
    llvm::append_range(seenByAny, any);
    normalize(seenByAny);
  }

  /// Of tiles with so many keys from `first` on and before `last`.
  Counts count(int64_t tileKeys, int64_t keys, int64_t first,
               int64_t last) const {
    Counts found;
    for (auto [low, high] : seenByAll) {
      int64_t begin = std::max<int64_t>(llvm::divideCeil(low, tileKeys), first);
      int64_t end = high >= keys ? last : std::min(high / tileKeys, last);
      found.full += std::max<int64_t>(end - begin, 0);
    }
    int64_t behind = first;
    for (auto [low, high] : seenByAny) {
      int64_t begin = std::max(low / tileKeys, behind);
      int64_t end = std::min<int64_t>(llvm::divideCeil(high, tileKeys), last);
      found.touched += std::max<int64_t>(end - begin, 0);
      behind = std::max(behind, end);
    }
    return found;
  }

private:
  bool isFirst = true;
  Keys seenByAll, seenByAny;
};

} // namespace

/// Of a tile, so many queries are looked at, at most: bounds of more follow
/// from those of its first and last. There are fewer where tiles are many.
static constexpr int64_t kMostQueries = 1024, kMostOfMany = 64;

/// Of the rows of tiles that share cells, so many are looked at, at most.
static constexpr int64_t kMostTileRows = 32;

static TileRow lookAt(const tuning::KeyBounds &bounds, const MaskInfo &mask,
                      int64_t first, int64_t last, int64_t most) {
  TileRow row;
  int64_t step = std::max<int64_t>(llvm::divideCeil(last - first, most), 1);
  auto add = [&](int64_t query) {
    Keys exact, any;
    for (const KeyInterval &interval : mask.intervals) {
      auto keys = bounds.get(interval, query + bounds.getShift());
      any.push_back(keys);
      if (interval.exact)
        exact.push_back(keys);
    }
    row.add(std::move(exact), std::move(any));
  };
  for (int64_t query = first; query < last - 1; query += step)
    add(query);
  add(last - 1);
  return row;
}

/// Of the cells that rows of tiles share. Those that are looked at are spread
/// evenly from the first to the last.
static std::vector<Counts> countCells(const TileMap &map,
                                      const tuning::KeyBounds &bounds,
                                      const MaskInfo &mask, int64_t begin,
                                      int64_t rows, int64_t tileColumns) {
  std::vector<Counts> counts(map.columns);
  int64_t looks = std::min(rows, kMostTileRows);
  for (int64_t look = 0; look < looks; ++look) {
    // rows - 1 is below 2^40, and looks are few.
    int64_t row = looks > 1 ? begin + look * (rows - 1) / (looks - 1) : begin;
    int64_t first = row * map.tileTokens;
    TileRow seen = lookAt(bounds, mask, first,
                          std::min(first + map.tileTokens, map.queries),
                          map.isSampled ? kMostOfMany : kMostQueries);
    for (int64_t column = 0; column < map.columns; ++column) {
      int64_t left = column * map.columnTiles;
      Counts found = seen.count(map.tileKeys, map.keys, left,
                                std::min(left + map.columnTiles, tileColumns));
      counts[column].full += found.full;
      counts[column].touched += found.touched;
    }
  }
  return counts;
}

TileMap explain::makeTileMap(ScoringOpInterface op,
                             const tuning::CallSizes &sizes, int64_t tileTokens,
                             int64_t tileKeys, int64_t most) {
  MaskInfo mask = analyzeMask(op);
  tuning::KeyBounds bounds(op, mask, sizes);
  TileMap map;
  map.queries = bounds.countQueries();
  map.keys = bounds.countKeys();
  map.tileTokens = std::max<int64_t>(tileTokens, 1);
  map.tileKeys = std::max<int64_t>(tileKeys, 1);
  map.isPerPair = !mask.isExact();
  if (auto attend = dyn_cast<AttendOp>(op.getOperation());
      attend && attend.getSelection()) {
    auto type = cast<SelectionType>(attend.getSelection().getType());
    map.block = type.getBlock();
    map.top = type.getTop();
  }
  int64_t tileRows = llvm::divideCeil(map.queries, map.tileTokens);
  int64_t tileColumns = llvm::divideCeil(map.keys, map.tileKeys);
  if (tileRows == 0 || tileColumns == 0)
    return map;
  map.rowTiles = llvm::divideCeil(tileRows, most);
  map.columnTiles = llvm::divideCeil(tileColumns, most);
  map.rows = llvm::divideCeil(tileRows, map.rowTiles);
  map.columns = llvm::divideCeil(tileColumns, map.columnTiles);
  map.isSampled = map.rowTiles > kMostTileRows;
  double full = 0, touched = 0;
  for (int64_t row = 0; row < map.rows; ++row) {
    int64_t begin = row * map.rowTiles,
            rows = std::min(map.rowTiles, tileRows - begin);
    std::vector<Counts> counts =
        countCells(map, bounds, mask, begin, rows, tileColumns);
    auto share = static_cast<double>(rows) /
                 static_cast<double>(std::min(rows, kMostTileRows));
    for (int64_t column = 0; column < map.columns; ++column) {
      const Counts &cell = counts[column];
      int64_t columns =
          std::min(map.columnTiles, tileColumns - column * map.columnTiles);
      full += static_cast<double>(cell.full) * share;
      touched += static_cast<double>(cell.touched) * share;
      map.cells.push_back(cell.touched == 0 ? TileState::Empty
                          : cell.full == std::min(rows, kMostTileRows) * columns
                              ? TileState::Full
                              : TileState::Partial);
    }
  }
  map.full = Quantity::ofReal(full);
  map.partial = Quantity::ofReal(touched - full);
  map.empty = Quantity::ofReal(static_cast<double>(tileRows) *
                                   static_cast<double>(tileColumns) -
                               touched);
  return map;
}
