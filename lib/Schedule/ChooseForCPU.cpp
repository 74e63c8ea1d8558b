//===- ChooseForCPU.cpp - Tiles for CPUs ----------------------------------===//

#include "Tiling.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;

/// Number of rows of a tile. A wide tile lets tokens share the blocks that they
/// selected, as long as the accumulators and the lists of all rows stay in a
/// near cache.
static int64_t chooseRows(const Scope &scope, ScoringOpInterface selecting) {
  constexpr int64_t accumulatorElements = 32 << 10, listedEntries = 64 << 10;
  int64_t channels = std::max<int64_t>(1, scope.getChannels());
  auto selection = cast<SelectionType>(selecting.getSelection().getType());
  int64_t rows = std::min<int64_t>(
      accumulatorElements / channels,
      listedEntries / static_cast<int64_t>(selection.getTop()));
  return std::max<int64_t>(rows / kPartRows, 1) * kPartRows;
}

Tiling schedule::tileForCPU(const Scope &scope, nsatile::LoopOrder order) {
  Tiling tiling;
  tiling.reason = "64 rows and 64 keys stay in the nearest cache";
  if (ScoringOpInterface selecting = scope.findSelecting();
      selecting && order == nsatile::LoopOrder::BlockMajor) {
    tiling.selecting = selecting;
    tiling.rows = chooseRows(scope, selecting);
    tiling.reason = "many rows share the blocks that they selected, and their "
                    "accumulators stay in a cache";
  }
  // Rounds down to a multiple of the part.
  int64_t part = std::max<int64_t>(1, kPartRows / scope.group) * scope.group;
  tiling.rows = std::max<int64_t>(1, tiling.rows / part) * part;
  return tiling;
}
