//===- TileMap.cpp - Tiles that a mask shows fully or in part -------------===//

#include "nsacc/Explain/TileMap.h"
#include "nsacc/Tuning/CallRows.h"
#include "nsacc/Tuning/KeyBounds.h"
#include "llvm/Support/MathExtras.h"

using namespace nsacc;
using namespace nsacc::explain;
using namespace nsacc::nsa;

namespace {

using Keys = tuning::KeyRanges;
using tuning::normalize;

/// Number of tiles of each state.
struct Counts {
  double full = 0, touched = 0;

  void add(const Counts &other, double times) {
    full += other.full * times;
    touched += other.touched * times;
  }
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

/// The keys that the queries of a tile see.
class TileRow {
public:
  void add(Keys exact, Keys any) {
    normalize(exact);
    seenByAll = isFirst ? std::move(exact) : intersect(seenByAll, exact);
    isFirst = false;
    llvm::append_range(seenByAny, any);
    normalize(seenByAny);
  }

  /// Counts tiles of `tileKeys` keys from `first` on and before `last`.
  Counts count(int64_t tileKeys, int64_t keys, int64_t first,
               int64_t last) const {
    Counts found;
    for (auto [low, high] : seenByAll) {
      int64_t begin = std::max<int64_t>(llvm::divideCeil(low, tileKeys), first);
      int64_t end = high >= keys ? last : std::min(high / tileKeys, last);
      found.full += static_cast<double>(std::max<int64_t>(end - begin, 0));
    }
    int64_t behind = first;
    for (auto [low, high] : seenByAny) {
      int64_t begin = std::max(low / tileKeys, behind);
      int64_t end = std::min<int64_t>(llvm::divideCeil(high, tileKeys), last);
      found.touched += static_cast<double>(std::max<int64_t>(end - begin, 0));
      behind = std::max(behind, end);
    }
    return found;
  }

private:
  bool isFirst = true;
  Keys seenByAll, seenByAny;
};

} // namespace

/// The most queries of a tile that are looked at; with more, bounds follow from
/// the first and last queries. Fewer if there are many tiles.
static constexpr int64_t kMostQueries = 1024, kMostOfMany = 64;

/// The most rows of tiles that are looked at among the rows that share cells.
static constexpr int64_t kMostTileRows = 32;

/// About the number of rows of tiles that are looked at in all batch rows and
/// heads, and the most batch rows, and heads.
static constexpr int64_t kMostOfAll = 4096, kMostRows = 64;

namespace {

/// The tiles of one batch row and key head.
class TileGrid {
public:
  TileGrid(tuning::KeyBounds &bounds, const MaskInfo &mask, int64_t batchRow,
           const tuning::HeadGroup &group, const TileMap &map)
      : bounds(bounds), mask(mask), batchRow(batchRow), group(group),
        tileTokens(map.tileTokens), tileKeys(map.tileKeys),
        queries(bounds.countQueries()), keys(bounds.countKeys()),
        rows(llvm::divideCeil(std::max<int64_t>(queries, 0), tileTokens)),
        columns(llvm::divideCeil(std::max<int64_t>(keys, 0), tileKeys)) {}

  /// Counts the tiles of some rows, and scales the counts to all.
  Counts count(int64_t mostRows) const;
  /// Fills the cells.
  void draw(TileMap &map, int64_t most) const;

  double getSize() const {
    return static_cast<double>(rows) * static_cast<double>(columns);
  }

  tuning::KeyBounds &bounds;
  const MaskInfo &mask;
  int64_t batchRow;
  const tuning::HeadGroup &group;
  int64_t tileTokens, tileKeys, queries, keys, rows, columns;

private:
  TileRow lookAt(int64_t row, int64_t mostQueries) const;
  void lookAt(TileRow &seen, int64_t query) const;
  void drawRow(TileMap &map, int64_t begin, int64_t count) const;
};

} // namespace

void TileGrid::lookAt(TileRow &seen, int64_t query) const {
  for (const tuning::Sample &head : group.heads) {
    bounds.choose(batchRow, head.number);
    Keys exact, any;
    for (const KeyInterval &interval : mask.intervals) {
      auto found = bounds.get(interval, query + bounds.getShift());
      any.push_back(found);
      if (interval.exact)
        exact.push_back(found);
    }
    seen.add(std::move(exact), std::move(any));
  }
}

TileRow TileGrid::lookAt(int64_t row, int64_t mostQueries) const {
  int64_t first = row * tileTokens,
          last = std::min(first + tileTokens, queries);
  int64_t step =
      std::max<int64_t>(llvm::divideCeil(last - first, mostQueries), 1);
  TileRow seen;
  for (int64_t query = first; query < last - 1; query += step)
    lookAt(seen, query);
  lookAt(seen, last - 1);
  return seen;
}

Counts TileGrid::count(int64_t mostRows) const {
  Counts found;
  for (auto [row, times] : tuning::spread(rows, mostRows))
    found.add(lookAt(row, rows > mostRows ? kMostOfMany : kMostQueries)
                  .count(tileKeys, keys, 0, columns),
              static_cast<double>(times));
  return found;
}

/// Draws the cells that rows of tiles share. The rows that are looked at are
/// spread evenly from the first to the last.
void TileGrid::drawRow(TileMap &map, int64_t begin, int64_t count) const {
  std::vector<Counts> counts(map.columns);
  int64_t looks = std::min(count, kMostTileRows);
  auto getColumns = [&](int64_t column) {
    return std::min(map.columnTiles, columns - column * map.columnTiles);
  };
  for (int64_t look = 0; look < looks; ++look) {
    // count - 1 is below 2^40, and `looks` is small.
    int64_t row = looks > 1 ? begin + look * (count - 1) / (looks - 1) : begin;
    TileRow seen =
        lookAt(row, map.areCellsSampled ? kMostOfMany : kMostQueries);
    for (int64_t column = 0; column < map.columns; ++column) {
      int64_t left = column * map.columnTiles;
      counts[column].add(
          seen.count(tileKeys, keys, left, left + getColumns(column)), 1);
    }
  }
  for (int64_t column = 0; column < map.columns; ++column)
    map.cells.push_back(counts[column].touched == 0 ? TileState::Empty
                        : counts[column].full ==
                                static_cast<double>(looks * getColumns(column))
                            ? TileState::Full
                            : TileState::Partial);
}

void TileGrid::draw(TileMap &map, int64_t most) const {
  map.queries = queries;
  map.keys = keys;
  map.batchRow = batchRow;
  if (rows == 0 || columns == 0)
    return;
  map.rowTiles = llvm::divideCeil(rows, most);
  map.columnTiles = llvm::divideCeil(columns, most);
  map.rows = llvm::divideCeil(rows, map.rowTiles);
  map.columns = llvm::divideCeil(columns, map.columnTiles);
  map.areCellsSampled = map.rowTiles > kMostTileRows;
  for (int64_t row = 0; row < map.rows; ++row) {
    int64_t begin = row * map.rowTiles;
    drawRow(map, begin, std::min(map.rowTiles, rows - begin));
  }
}

/// Sets the query heads that a map of a key head shows.
static void setHeads(TileMap &map, const tuning::CallRows &rows, size_t group) {
  const auto &heads = rows.groups[group].heads;
  map.firstHead = heads.front().number;
  map.lastHead = heads.back().number;
}

static void addCounts(TileMap &map, ScoringOpInterface op,
                      const tuning::CallSizes &sizes, const MaskInfo &mask,
                      const tuning::CallRows &rows, int64_t most) {
  size_t middle =
      map.areRowsAlike || sizes.getSizes().batchRows ? 0 : rows.rows.size() / 2;
  int64_t mostRows = std::max<int64_t>(kMostOfAll / rows.countLooks(), 8);
  Counts all;
  double tiles = 0;
  map.isSampled = !rows.areAll;
  for (auto [number, row] : llvm::enumerate(rows.rows)) {
    tuning::CallSizes own(sizes.getKernel(), row.sizes);
    tuning::KeyBounds bounds(op, mask, own);
    for (auto [head, group] : llvm::enumerate(rows.groups)) {
      TileGrid grid(bounds, mask, row.number, group, map);
      auto times =
          static_cast<double>(row.count) * static_cast<double>(group.count);
      all.add(grid.count(mostRows), times);
      tiles += grid.getSize() * times;
      map.isSampled |= grid.rows > mostRows;
      if (number != middle || head != rows.groups.size() / 2)
        continue;
      setHeads(map, rows, head);
      grid.draw(map, most);
    }
  }
  map.full = Quantity::ofReal(all.full);
  map.partial = Quantity::ofReal(all.touched - all.full);
  map.empty = Quantity::ofReal(tiles - all.touched);
}

TileMap explain::makeTileMap(ScoringOpInterface op,
                             const tuning::CallSizes &sizes, int64_t tileTokens,
                             int64_t tileKeys, int64_t most) {
  MaskInfo mask = analyzeMask(op);
  tuning::CallRows rows(op, sizes, kMostRows);
  TileMap map;
  map.tileTokens = std::max<int64_t>(tileTokens, 1);
  map.tileKeys = std::max<int64_t>(tileKeys, 1);
  map.batch = rows.batch;
  map.keyHeads = rows.keyHeads;
  map.areRowsAlike = rows.rows.size() <= 1;
  map.areHeadsAlike = rows.groups.size() <= 1;
  map.isPerPair = !mask.isExact();
  if (op.getValue() && op.getSelection()) {
    auto type = cast<SelectionType>(op.getSelection().getType());
    map.block = type.getBlock();
    map.top = type.getTop();
  }
  addCounts(map, op, sizes, mask, rows, most);
  return map;
}
