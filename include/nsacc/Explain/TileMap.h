//===- TileMap.h - Tiles that a mask shows fully or in part ------*- C++ -*-==//

#ifndef NSACC_EXPLAIN_TILEMAP_H
#define NSACC_EXPLAIN_TILEMAP_H

#include "nsacc/Tuning/Model.h"

namespace nsacc::explain {

enum class TileState : uint8_t { Empty, Partial, Full };

/// "empty", "partial", "full"
llvm::StringRef getName(TileState state);

/// The tiles of queries and keys of an attention. A tile has the query heads of
/// one key head.
struct TileMap {
  int64_t tileTokens = 1, tileKeys = 1;
  /// Number of tiles of each state, in all batch rows and key heads. `partial`
  /// tiles have both visible and hidden pairs, or a mask that is evaluated pair
  /// by pair.
  Quantity full, partial, empty;
  int64_t batch = 1, keyHeads = 1;
  /// Whether the counts are estimates, because there are too many tiles to look
  /// at all.
  bool isSampled = false;

  /// The batch row and the first and last query head that the cells show, and
  /// the number of tokens and keys there. Of ragged rows, the longest row is
  /// shown; else the middle one.
  int64_t batchRow = 0, firstHead = 0, lastHead = 0, queries = 0, keys = 0;
  /// Whether the map is the same in all batch rows, and in all heads.
  bool areRowsAlike = true, areHeadsAlike = true;
  /// Whether some rows of tiles represent others in the cells.
  bool areCellsSampled = false;
  /// Cells of the map, and tiles of each cell in both directions. A cell is
  /// full or empty if all its tiles are.
  int64_t rows = 0, columns = 0, rowTiles = 1, columnTiles = 1;
  /// Row by row.
  std::vector<TileState> cells;
  /// Attentions within selections: tokens of a block, and the number of blocks
  /// that a query selects among the ones that the mask shows; 0: no selection.
  int64_t block = 0, top = 0;
  /// Whether the mask is more than bounds on keys.
  bool isPerPair = false;

  TileState get(int64_t row, int64_t column) const {
    return cells[row * columns + column];
  }
};

/// Makes the map. More tiles than `most` in a direction share cells.
TileMap makeTileMap(nsa::ScoringOpInterface op, const tuning::CallSizes &sizes,
                    int64_t tileTokens, int64_t tileKeys, int64_t most = 64);

} // namespace nsacc::explain

#endif // NSACC_EXPLAIN_TILEMAP_H
