//===- AttendTiles.h - Attention of one query tile --------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_ATTENDTILES_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_ATTENDTILES_H

#include "NSA/Analysis/MaskAnalysis.h"
#include "NSA/Analysis/NeededEntries.h"
#include "NSA/IR/NSAClauses.h"
#include "QueryTile.h"

namespace nsacc {

/// Keys that one step scores: every `step`-th one from `first` on.
struct KeyTile {
  mlir::Value first;
  int64_t count;
  int64_t step = 1;
  /// Whether the mask or the end of the sequence may hide a pair, i1. Null
  /// where they may.
  mlir::Value partial = {};
  /// Whether the tile may have keys before 0, which no row sees.
  bool mayBeNegative = false;
  /// Keys from here on aren't part of the tile. Null where all are.
  mlir::Value end = {};
  /// Rows that look at the tile, tensor<R x i1>. Null where all do.
  mlir::Value rows = {};
  /// The tile's keys and values, where several steps share them.
  mlir::Value keys = {}, values = {};
  /// Size of the block that has all keys of the tile; 0 if it isn't known.
  int64_t block = 0;
};

/// Bounds of keys. Rows look at no keys outside [low, high). All rows see
/// [fullLow, fullHigh), if the interval is exact.
struct KeyBounds {
  mlir::Value low, high, fullLow, fullHigh;
  bool exact;
};

/// Keys of the tiles of a fold.
struct KeyTiling {
  /// Keys of a tile.
  int64_t width = 0;
  /// The first key of tile 0.
  mlir::Value origin = {};
  /// Keys of a block. Each block begins with a new tile. 0 for no blocks.
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
/// exact program has the parts of the program that it repairs, which has query
/// tiles of `tokens` tokens. A part begins a multiple of `keys` keys behind the
/// first key.
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
  mlir::Value exist = {};    ///< whether rows exist; null where they do
};

/// The scores of query rows against a tile of keys, changed by the op's score
/// region where it has one. Hidden pairs have -inf. `counts` is the number of
/// keys that each row sees, tensor<R x f32>; null where it isn't asked for.
struct VisibleScores {
  mlir::Value scores, counts;
};

/// Cuts the ranges to tiles [low, high).
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
  /// Rows [first, first + count) of `rows`, from token `firstToken` to
  /// `lastToken`.
  QueryRows slice(const QueryRows &rows, mlir::Value first, int64_t count,
                  mlir::Value firstToken, mlir::Value lastToken);

  /// First key past the keys that any of the rows may see.
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
  /// Tiles of a part, counted from the first key of its whole query tile.
  KeyTiling getTiling(const QueryRows &rows, const KeyPart &part);
  /// The intervals as ranges of tiles. A tile is full if all rows see all of
  /// it, in an exact interval.
  llvm::SmallVector<nsatile::TileRange>
  getRanges(llvm::ArrayRef<KeyBounds> bounds, const KeyTiling &tiling);

  /// Cuts the ranges of rows to the tiles of a part. A part has the same keys
  /// for all rows of the query tile.
  llvm::SmallVector<nsatile::TileRange>
  cut(llvm::ArrayRef<nsatile::TileRange> ranges, const QueryRows &rows,
      const KeyTiling &tiling, const KeyPart &part);

  /// Loads a tile of keys from a tensor of keys or values.
  mlir::Value loadKeys(mlir::Value tensor, const KeyTile &keys);
  /// Loads the tile's channels only.
  mlir::Value loadValues(mlir::Value tensor, const KeyTile &keys);

  bool hidesKeysBeyondEnd();

  /// Scores against a tile of keys. `rawScale` leaves the scale to the caller.
  VisibleScores scoreVisible(const QueryRows &rows, const KeyTile &tile,
                             bool rawScale, bool counts);
  /// Applies the op's weight region to scores.
  mlir::Value weigh(const QueryRows &rows, mlir::Value scores,
                    const KeyTile &tile);
  mlir::Value getScale() { return scale; }
  /// Column of key indices.
  Tile getKeyIndices(TileMath &math, const KeyTile &tile);
  /// The arguments (b, h, t, i) of regions over rows.
  llvm::SmallVector<Tile> getRowArguments(const QueryRows &rows);
  /// Elements for which a clause's code needs values: rows of the batch row, if
  /// given, that are `active`, against keys, if given. None if the code has
  /// values everywhere.
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
  /// All rows of the tile, where `rows` may be the rows of one warpgroup.
  QueryRows ofTile(const QueryRows &rows);
  /// All rows of the query tile whose keys are cut.
  QueryRows ofPart(const QueryRows &rows, const KeyPart &part);
  /// Rows of neighbouring tokens, as far as they exist.
  QueryRows ofTokens(const QueryRows &rows, mlir::Value first, int64_t count);
  /// First token past the tile's tokens that exist.
  mlir::Value getEndToken();
  mlir::Value evaluate(mlir::AffineExpr expr, const QueryRows &rows,
                       bool greatest);
  bool mayLeaveIndex(mlir::AffineExpr bound);
  mlir::Value getSymbol(const nsa::MaskSymbol &symbol);
  /// Query rows times keys.
  Tile multiply(const QueryRows &rows, const KeyTile &tile, bool rawScale);
  /// Applies the op's score region to scores. It has to have a value for
  /// `active` pairs.
  Tile changeScores(const QueryRows &rows, const KeyTile &tile, Tile scores,
                    Tile active);
  /// The visible pairs; none where all are visible. In a full tile neither the
  /// mask nor the end of the sequence hides any. With `ofAllRows`, all rows
  /// count as looking at the tile.
  std::optional<Tile> getVisible(const QueryRows &rows, const KeyTile &tile,
                                 bool isFull, bool ofAllRows);
  /// The pairs that the mask shows. It has to have a value for `active` pairs.
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
  /// First entry that is needed. Earlier ones are left out.
  int64_t firstKey = 0;
  mlir::Value shift;
  mlir::Value scale;
};

/// The tokens of a batch row in a tensor of keys or values.
ProgramBuilder::Row getKeyRow(ProgramBuilder &program, mlir::Value keys,
                              mlir::Value batchRow);

/// Output and log-sum-exp of an attention for the rows of a tile. The output is
/// null where only the log-sum-exp is wanted. A softmax also has the parts of
/// its log-sum-exp: the largest score and the sum of exponentials behind it.
struct AttendTiles {
  mlir::Value output, lse, max = {}, sum = {};
};
AttendTiles attendTile(ProgramBuilder &program, const QueryTile &tile,
                       nsa::AttendOp op, nsatile::ScheduleAttr schedule,
                       bool onlyLse);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_ATTENDTILES_H
