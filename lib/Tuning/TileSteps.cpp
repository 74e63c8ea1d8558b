//===- TileSteps.cpp - Number of steps of tiles ---------------------------===//

#include "TileSteps.h"
#include "NSA/IR/NSAOps.h"
#include "nsacc/Schedule/QueryShape.h"
#include "nsacc/Tuning/CallRows.h"
#include "nsacc/Tuning/KeyBounds.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::tuning;

/// Number of tiles, spread over all, for which bounds are examined, and the
/// most batch rows, and heads, for that.
static constexpr int64_t kMostTiles = 64, kMostRows = 16;

namespace {

/// The tiles of one batch row and key head.
class TilesOfHeads {
public:
  TilesOfHeads(KeyBounds &bounds, const MaskInfo &mask, int64_t batchRow,
               const HeadGroup &group, int64_t tokens, double tileKeys)
      : bounds(bounds), mask(mask), batchRow(batchRow), group(group),
        tokens(tokens), tileKeys(tileKeys) {}

  double countSteps(int64_t tile);

private:
  double countKeys(const KeyInterval &interval, int64_t first, int64_t last);

  KeyBounds &bounds;
  const MaskInfo &mask;
  int64_t batchRow;
  const HeadGroup &group;
  int64_t tokens;
  double tileKeys;
};

} // namespace

/// Number of keys from the first to the last that a query of one of the heads
/// sees.
double TilesOfHeads::countKeys(const KeyInterval &interval, int64_t first,
                               int64_t last) {
  int64_t low = bounds.countKeys(), high = 0;
  for (const Sample &head : group.heads) {
    bounds.choose(batchRow, head.number);
    for (int64_t query : {first, last}) {
      auto keys = bounds.get(interval, query + bounds.getShift());
      if (keys.first >= keys.second)
        continue;
      low = std::min(low, keys.first);
      high = std::max(high, keys.second);
    }
  }
  return static_cast<double>(std::max<int64_t>(high - low, 0));
}

double TilesOfHeads::countSteps(int64_t tile) {
  int64_t first = tile * tokens,
          last = std::min(first + tokens, bounds.countQueries()) - 1;
  double steps = 0;
  for (const KeyInterval &interval : mask.intervals)
    steps += std::ceil(countKeys(interval, first, last) / tileKeys);
  return std::min(
      steps, std::ceil(static_cast<double>(bounds.countKeys()) / tileKeys));
}

double tuning::countTiles(ScoringOpInterface op, const CallSizes &sizes,
                          double tokens) {
  Attribute queries =
      QueryDims::get(cast<NamedTensorType>(op.getQuery().getType())).token;
  double tiles = 0;
  CallRows rows(op, sizes, kMostRows);
  for (const BatchRows &row : rows.rows)
    tiles +=
        static_cast<double>(row.count) *
        std::ceil(CallSizes(sizes.getKernel(), row.sizes).getLength(queries) /
                  std::max(tokens, 1.0));
  return tiles;
}

TileSteps tuning::countSteps(ScoringOpInterface op, const CallSizes &sizes,
                             double tokens, double keys) {
  MaskInfo mask = analyzeMask(op);
  CallRows rows(op, sizes, kMostRows);
  auto step = std::max<int64_t>(static_cast<int64_t>(tokens), 1);
  int64_t most =
      std::clamp<int64_t>(8 * kMostTiles / rows.countLooks(), 8, kMostTiles);
  TileSteps found;
  for (const BatchRows &row : rows.rows) {
    CallSizes own(sizes.getKernel(), row.sizes);
    KeyBounds bounds(op, mask, own);
    int64_t tiles =
        llvm::divideCeil(std::max<int64_t>(bounds.countQueries(), 0), step);
    for (const HeadGroup &group : rows.groups) {
      auto times =
          static_cast<double>(row.count) * static_cast<double>(group.count);
      TilesOfHeads seen(bounds, mask, row.number, group, step, keys);
      found.tiles += times * static_cast<double>(tiles);
      for (auto [tile, count] : spread(tiles, most)) {
        double steps = seen.countSteps(tile);
        found.steps += times * steps * static_cast<double>(count);
        found.mostSteps = std::max(found.mostSteps, steps);
      }
      // One of these tends to be the longest tile.
      for (int64_t tile : {int64_t{0}, tiles - 1})
        if (tile >= 0 && tile < tiles)
          found.mostSteps = std::max(found.mostSteps, seen.countSteps(tile));
    }
  }
  return found;
}
