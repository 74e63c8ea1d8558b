//===- AttendTiles.h - Attention of one query tile --------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_ATTENDTILES_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_ATTENDTILES_H

#include "NSA/Analysis/MaskAnalysis.h"
#include "NSA/IR/NSAClauses.h"
#include "QueryTile.h"

namespace nsacc {

/// Keys that one step scores: one every `step` from `first` on.
struct KeyTile {
  mlir::Value first;
  int64_t count;
  int64_t step = 1;
  /// Whether the mask or the end of the sequence may hide a pair.
  bool masked = true;
  /// Whether keys before 0 are among them, which nobody sees.
  bool mayBeNegative = false;
  /// Keys from here on aren't part of the tile; null where all are.
  mlir::Value end = {};
  /// The rows that look at the tile, tensor<R x i1>; null where all do.
  mlir::Value rows = {};
  /// The tile of keys and values, where several steps share them.
  mlir::Value keys = {}, values = {};
};

/// Keys [low, high) are looked at by some row; [fullLow, fullHigh) are visible
/// for every row, if the interval is exact.
struct KeyBounds {
  mlir::Value low, high, fullLow, fullHigh;
  bool exact;
};

/// Rows of a query tile that see the same key tiles.
struct QueryRows {
  int64_t count;
  mlir::Value query;         ///< tensor<count x D>, as stored
  mlir::Value tokens, heads; ///< tensor<count x index>
  mlir::Value first, last;   ///< positions of the first and the last row
  mlir::Value exist = {};    ///< whether there are any; null where there are
};

/// The scores of query rows against a tile of keys: scaled and, where the op
/// has a score region, changed by it. `visible` is null where every pair is.
struct ScoreTile {
  mlir::Value scores;
  mlir::Value visible;
};

/// Scores, masks and key loops of one op that scores pairs.
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
  int64_t getTileKeys() { return schedule.getKeys(); }

  /// The intervals of keys that any of the rows may see.
  llvm::SmallVector<KeyBounds> getBounds(const QueryRows &rows);
  /// Whether any of the rows may see a key of [first, end).
  mlir::Value isSeen(llvm::ArrayRef<KeyBounds> bounds, mlir::Value first,
                     mlir::Value end);

  using State = llvm::SmallVector<mlir::Value>;
  using Step =
      llvm::function_ref<State(const KeyTile &tile, mlir::ValueRange state)>;
  /// Folds `step` over the tiles of keys that any of the rows may see. Tiles
  /// are masked unless every pair in them is visible.
  State foldKeyTiles(const QueryRows &rows, mlir::ValueRange initial,
                     Step step);
  /// The same over a list of blocks, of which negative ones are skipped.
  struct BlockList {
    int64_t width, blockSize;
    llvm::function_ref<mlir::Value(mlir::Value entry)> getBlock;
    /// Which rows selected the block, tensor<R x i1>; null: all.
    llvm::function_ref<mlir::Value(mlir::Value block)> getRows = {};
  };
  State foldBlocks(const QueryRows &rows, const BlockList &list,
                   mlir::ValueRange initial, Step step);
  /// The same over the tiles of one block.
  State foldBlock(llvm::ArrayRef<KeyBounds> bounds, mlir::Value block,
                  int64_t blockSize, mlir::Value selecting,
                  mlir::ValueRange initial, Step step);
  /// Into how many parts a loop over blocks cuts each: 1, or its tiles where
  /// they are many.
  int64_t getParts(int64_t blockSize);
  /// The same over one part.
  State foldPart(llvm::ArrayRef<KeyBounds> bounds, mlir::Value block,
                 int64_t blockSize, mlir::Value part, mlir::Value selecting,
                 mlir::ValueRange initial, Step step);
  /// The step over one tile, which isn't masked where it needn't be.
  State foldTile(llvm::ArrayRef<KeyBounds> bounds, KeyTile tile,
                 mlir::ValueRange initial, Step step);

  /// The tokens of a tile of keys, from a key-like tensor.
  mlir::Value loadKeys(mlir::Value tensor, const KeyTile &keys);

  bool hidesKeysBeyondEnd();

  /// Scores against a tile of keys. `rawScale` leaves the scale to the caller.
  ScoreTile score(const QueryRows &rows, const KeyTile &tile, bool rawScale);
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
  ScalarContext getContext(const std::optional<Demand> &demand) {
    return {program, tile.batchRow, demand ? &*demand : nullptr};
  }

  /// Whether queries and keys are stored as different types.
  bool hasMixedTypes();

  using Branch = llvm::function_ref<State()>;
  State choose(mlir::Value condition, Branch yes, Branch no);

private:
  KeyBounds getBounds(const QueryRows &rows, const nsa::KeyInterval &interval);
  State foldIntervals(llvm::ArrayRef<KeyBounds> bounds,
                      mlir::ValueRange initial, Step step);
  mlir::Value getOrigin(const QueryRows &rows);
  /// Behind the tile's last token that exists.
  mlir::Value getEndToken();
  mlir::Value isFull(llvm::ArrayRef<KeyBounds> bounds, mlir::Value first,
                     mlir::Value end);
  mlir::Value evaluate(mlir::AffineExpr expr, const QueryRows &rows,
                       bool greatest);
  bool mayLeaveIndex(mlir::AffineExpr bound);
  mlir::Value getSymbol(const nsa::MaskSymbol &symbol);
  /// The pairs that the mask shows; `active` ones have to have a value.
  Tile evaluateMask(const QueryRows &rows, const KeyTile &tile,
                    llvm::ArrayRef<Tile> arguments, TileMath &math,
                    Tile active);
  nsa::ScalarPlaces getPlaces(nsa::Clause clause);
  mlir::Region &getRegion(nsa::Clause clause);
  llvm::SmallVector<Tile> getPairArguments(const QueryRows &rows, Tile keys);

  ProgramBuilder &program;
  const QueryTile &tile;
  nsa::ScoringOpInterface op;
  nsatile::ScheduleAttr schedule;
  nsa::MaskInfo mask;
  ProgramBuilder::Row keyRow;
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
