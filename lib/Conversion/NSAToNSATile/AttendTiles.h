//===- AttendTiles.h - Attention of one query tile --------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_ATTENDTILES_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_ATTENDTILES_H

#include "NSA/Analysis/MaskAnalysis.h"
#include "NSA/Analysis/NeededEntries.h"
#include "NSA/IR/NSAClauses.h"
#include "QueryTile.h"

namespace nsacc {

/// Keys that one step scores: one every `step` from `first` on.
struct KeyTile {
  mlir::Value first;
  int64_t count;
  int64_t step = 1;
  /// Whether the mask or the end of the sequence may hide a pair, i1; null
  /// where they may.
  mlir::Value partial = {};
  /// Whether keys before 0 are among them, which nobody sees.
  bool mayBeNegative = false;
  /// Keys from here on aren't part of the tile; null where all are.
  mlir::Value end = {};
  /// The rows that look at the tile, tensor<R x i1>; null where all do.
  mlir::Value rows = {};
  /// The tile of keys and values, where several steps share them.
  mlir::Value keys = {}, values = {};
  /// All keys that are part of the tile are of one block of so many; 0: not
  /// known.
  int64_t block = 0;
};

/// Keys [low, high) are looked at by some row; [fullLow, fullHigh) are visible
/// for every row, if the interval is exact.
struct KeyBounds {
  mlir::Value low, high, fullLow, fullHigh;
  bool exact;
};

/// Which keys the tiles of a fold have.
struct KeyTiling {
  /// Keys of a tile.
  int64_t width = 0;
  /// The first key of tile 0.
  mlir::Value origin = {};
  /// Keys of a block, each of which begins with a new tile; 0: no blocks.
  int64_t block = 0;
  /// Tiles of a block.
  int64_t parts = 1;

  /// Blocks in tiles of about `keys` keys.
  static KeyTiling ofBlocks(int64_t block, int64_t keys);

  KeyTile getTile(IndexMath m, mlir::Value number) const;
  /// The number of tiles that end at or before a key.
  mlir::Value getTileBefore(IndexMath m, mlir::Value key) const;
  /// The first tile that begins at or behind a key.
  mlir::Value getTileBehind(IndexMath m, mlir::Value key) const;
};

/// One of `count` parts of the keys that a query tile sees, in their order. An
/// exact program has the parts of the one that it repairs, whose query tiles
/// have `tokens`; a part begins a multiple of `keys` keys behind the first one.
struct KeyPart {
  mlir::Value number, count;
  int64_t tokens, keys;
};

/// Rows of a query tile that see the same key tiles.
struct QueryRows {
  int64_t count;
  mlir::Value query;         ///< tensor<count x D>, as stored
  mlir::Value tokens, heads; ///< tensor<count x index>
  mlir::Value first, last;   ///< positions of the first and the last row
  mlir::Value exist = {};    ///< whether there are any; null where there are
};

/// The scores of query rows against a tile of keys, changed by the op's score
/// region where it has one. Those of hidden pairs are -inf. `counts` says how
/// many keys each row sees, tensor<R x f32>; null where nobody asks.
struct VisibleScores {
  mlir::Value scores, counts;
};

/// What ranges have of tiles [low, high).
llvm::SmallVector<nsatile::TileRange>
clampRanges(IndexMath m, llvm::ArrayRef<nsatile::TileRange> ranges,
            mlir::Value low, mlir::Value high);

/// Scores, masks and tiles of keys of one op that scores pairs.
class Scorer {
public:
  Scorer(ProgramBuilder &program, const QueryTile &tile,
         nsa::ScoringOpInterface op, nsatile::ScheduleAttr schedule);

  /// All rows of the tile.
  QueryRows getAllRows();
  /// Rows [first, first + count) of `rows`, of tokens `firstToken` to
  /// `lastToken`.
  QueryRows slice(const QueryRows &rows, mlir::Value first, int64_t count,
                  mlir::Value firstToken, mlir::Value lastToken);

  /// The end of the keys that any of the rows may see.
  mlir::Value getLastKey(const QueryRows &rows);
  /// Position of a query minus its token index.
  mlir::Value getShift() { return shift; }

  /// The intervals of keys that any of the rows may see.
  llvm::SmallVector<KeyBounds> getBounds(const QueryRows &rows);
  /// Whether any of the rows may see a key of [first, end).
  mlir::Value isSeen(llvm::ArrayRef<KeyBounds> bounds, mlir::Value first,
                     mlir::Value end);

  /// Whether a row may not see one of the keys `first` to `last`.
  mlir::Value isPartial(llvm::ArrayRef<KeyBounds> bounds, mlir::Value first,
                        mlir::Value last);

  /// Tiles over the sequence of keys that the rows look at.
  KeyTiling getTiling(const QueryRows &rows);
  /// Those of a part, which begin where its keys do.
  KeyTiling getTiling(const QueryRows &rows, const KeyPart &part);
  /// The intervals as ranges of tiles; those of an exact interval that all rows
  /// see as a whole are full.
  llvm::SmallVector<nsatile::TileRange>
  getRanges(llvm::ArrayRef<KeyBounds> bounds, const KeyTiling &tiling);

  /// What a part has of the ranges of rows. The part's keys are the same
  /// whichever of the query tile's rows they are.
  llvm::SmallVector<nsatile::TileRange>
  cut(llvm::ArrayRef<nsatile::TileRange> ranges, const QueryRows &rows,
      const KeyTiling &tiling, const KeyPart &part);

  /// The tokens of a tile of keys, from a key-like tensor.
  mlir::Value loadKeys(mlir::Value tensor, const KeyTile &keys);
  /// Of the tile's channels.
  mlir::Value loadValues(mlir::Value tensor, const KeyTile &keys);

  bool hidesKeysBeyondEnd();

  /// Scores against a tile of keys. `rawScale` leaves the scale to the caller.
  VisibleScores scoreVisible(const QueryRows &rows, const KeyTile &tile,
                             bool rawScale, bool counts);
  /// The value of the op's weight region for scores.
  mlir::Value weigh(const QueryRows &rows, mlir::Value scores,
                    const KeyTile &tile);
  mlir::Value getScale() { return scale; }
  /// Column of key indices.
  Tile getKeyIndices(TileMath &math, const KeyTile &tile);
  /// The arguments (b, h, t, i) of regions over rows.
  llvm::SmallVector<Tile> getRowArguments(const QueryRows &rows);
  /// What a clause's code needs to have values for: for rows, if there are any,
  /// of the batch row and `active`, against keys, if there are any. Nothing if
  /// it has values everywhere.
  std::optional<Demand> getDemand(nsa::Clause clause,
                                  const QueryRows *rows = nullptr,
                                  Tile active = {},
                                  const KeyTile *keys = nullptr);
  ScalarContext getContext(const std::optional<Demand> &demand,
                           const KeyTile *keys = nullptr) {
    ScalarContext context = {program, tile.batchRow,
                             demand ? &*demand : nullptr};
    if (keys && keys->block > 0)
      context.keys = {keys->first, keys->block};
    return context;
  }

  /// Whether queries and keys are stored as different types.
  bool hasMixedTypes();

private:
  mlir::Value loadChannels(mlir::Value tensor, const KeyTile &keys,
                           const std::optional<ChannelSlice> &slice);
  KeyBounds getBounds(const QueryRows &rows, const nsa::KeyInterval &interval);
  mlir::Value getOrigin(const QueryRows &rows);
  /// All rows of the tile, where `rows` may be those of one warpgroup.
  QueryRows ofTile(const QueryRows &rows);
  /// All rows of the query tile whose keys are cut.
  QueryRows ofPart(const QueryRows &rows, const KeyPart &part);
  /// Those of neighbouring tokens, as far as they exist.
  QueryRows ofTokens(const QueryRows &rows, mlir::Value first, int64_t count);
  /// Behind the tile's last token that exists.
  mlir::Value getEndToken();
  mlir::Value evaluate(mlir::AffineExpr expr, const QueryRows &rows,
                       bool greatest);
  bool mayLeaveIndex(mlir::AffineExpr bound);
  mlir::Value getSymbol(const nsa::MaskSymbol &symbol);
  /// Query rows times keys.
  Tile multiply(const QueryRows &rows, const KeyTile &tile, bool rawScale);
  /// What the op's score region makes of scores. It has to have a value for
  /// `active` pairs.
  Tile changeScores(const QueryRows &rows, const KeyTile &tile, Tile scores,
                    Tile active);
  /// The pairs that are visible; none where all are. In a full tile neither the
  /// mask nor the end of the sequence hides any. `ofAllRows`: as if all rows
  /// looked at the tile.
  std::optional<Tile> getVisible(const QueryRows &rows, const KeyTile &tile,
                                 bool isFull, bool ofAllRows);
  /// The pairs that the mask shows; `active` ones have to have a value.
  Tile evaluateMask(const QueryRows &rows, const KeyTile &tile,
                    llvm::ArrayRef<Tile> arguments, TileMath &math,
                    Tile active);
  void leaveOut(const nsa::NeededEntries &needed, mlir::Value numTokens);
  nsa::ScalarPlaces getPlaces(nsa::Clause clause);
  mlir::Region &getRegion(nsa::Clause clause);
  llvm::SmallVector<Tile> getPairArguments(const QueryRows &rows, Tile keys);

  ProgramBuilder &program;
  const QueryTile &tile;
  nsa::ScoringOpInterface op;
  nsatile::ScheduleAttr schedule;
  nsa::MaskInfo mask;
  ProgramBuilder::Row keyRow;
  /// In front of it are entries that nobody asks for.
  int64_t firstKey = 0;
  mlir::Value shift;
  mlir::Value scale;
};

/// The tokens of a batch row that a tensor of keys or values has.
ProgramBuilder::Row getKeyRow(ProgramBuilder &program, mlir::Value keys,
                              mlir::Value batchRow);

/// Output and log-sum-exp of an attention for the rows of a tile. The output is
/// null where only the log-sum-exp is wanted. Of a softmax, what the
/// log-sum-exp was made of: the largest score and the sum of exponentials
/// behind it.
struct AttendTiles {
  mlir::Value output, lse, max = {}, sum = {};
};
AttendTiles attendTile(ProgramBuilder &program, const QueryTile &tile,
                       nsa::AttendOp op, nsatile::ScheduleAttr schedule,
                       bool onlyLse);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_ATTENDTILES_H
