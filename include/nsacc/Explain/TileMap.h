//===- TileMap.h - Tiles that a mask shows whole, in part or not -*- C++ -*-==//

#ifndef NSACC_EXPLAIN_TILEMAP_H
#define NSACC_EXPLAIN_TILEMAP_H

#include "nsacc/Tuning/Model.h"

namespace nsacc::explain {

enum class TileState : uint8_t { Empty, Partial, Full };

/// "empty", "partial", "full"
llvm::StringRef getName(TileState state);

/// The tiles of queries and keys of an attention. A tile has the query heads of
/// a key head.
struct TileMap {
  int64_t tileTokens = 1, tileKeys = 1;
  /// How many tiles there are of each state, in all batch rows and key heads.
  /// `partial` ones have pairs that are visible and others that aren't, or a
  /// mask that is looked at pair by pair.
  Quantity full, partial, empty;
  int64_t batch = 1, keyHeads = 1;
  /// Whether these are estimates: there are too many to look at all.
  bool isSampled = false;

  /// The batch row and the query heads whose tiles the cells are, from the
  /// first head to the last, and tokens and keys there. Of ragged rows it is
  /// the longest, of others the middle one.
  int64_t batchRow = 0, firstHead = 0, lastHead = 0, queries = 0, keys = 0;
  /// Whether the map is the same in all batch rows, and in all heads.
  bool areRowsAlike = true, areHeadsAlike = true;
  /// Whether some rows of tiles stand for others in the cells.
  bool areCellsSampled = false;
  /// Cells of the map, and tiles of each in both directions. A cell is full or
  /// empty where all its tiles are.
  int64_t rows = 0, columns = 0, rowTiles = 1, columnTiles = 1;
  /// Row by row.
  std::vector<TileState> cells;
  /// Of attentions within selections: tokens of a block, and how many blocks a
  /// query selects, of those that the mask shows; 0: there is none.
  int64_t block = 0, top = 0;
  /// Whether the mask says more than bounds of keys.
  bool isPerPair = false;

  TileState get(int64_t row, int64_t column) const {
    return cells[row * columns + column];
  }
};

/// More tiles than `most` in a direction share cells.
TileMap makeTileMap(nsa::ScoringOpInterface op, const tuning::CallSizes &sizes,
                    int64_t tileTokens, int64_t tileKeys, int64_t most = 64);

} // namespace nsacc::explain

#endif // NSACC_EXPLAIN_TILEMAP_H
