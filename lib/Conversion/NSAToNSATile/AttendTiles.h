//===- AttendTiles.h - Attention of one query tile --------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_ATTENDTILES_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_ATTENDTILES_H

#include "NSA/Analysis/MaskAnalysis.h"
#include "QueryTile.h"

namespace nsacc {

/// Rows of a query tile that see the same key tiles.
struct QueryRows {
  int64_t count;
  mlir::Value query;         ///< tensor<count x D>, as stored
  mlir::Value tokens, heads; ///< tensor<count x index>
  mlir::Value first, last;   ///< positions of the first and the last row
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
  /// Rows [first, first + count) of `rows`, of token `token`.
  QueryRows slice(const QueryRows &rows, mlir::Value first, int64_t count,
                  mlir::Value token);

  /// The end of the keys that any of the rows may see.
  mlir::Value getLastKey(const QueryRows &rows);
  /// Position of a query minus its token index.
  mlir::Value getShift() { return shift; }
  int64_t getTileKeys() { return schedule.getKeys(); }

  using Step = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value firstKey, bool masked, mlir::ValueRange state)>;
  /// Folds `step` over the tiles of keys that any of the rows may see. Tiles
  /// are `masked` unless every pair in them is visible.
  llvm::SmallVector<mlir::Value>
  foldKeyTiles(const QueryRows &rows, mlir::ValueRange initial, Step step);
  /// The same over the blocks that stand in `list[prefix]`, without padding.
  llvm::SmallVector<mlir::Value>
  foldBlocks(const QueryRows &rows, mlir::Value list, mlir::ValueRange prefix,
             int64_t blockSize, mlir::ValueRange initial, Step step);

  /// Tokens [firstKey, + count * step) of a key-like tensor, one every `step`.
  mlir::Value loadKeys(mlir::Value tensor, mlir::Value firstKey, int64_t count,
                       int64_t step = 1);

  /// Scores against `count` keys, one every `step`. `rawScale` leaves the scale
  /// to the caller.
  ScoreTile score(const QueryRows &rows, mlir::Value firstKey, int64_t count,
                  int64_t step, bool masked, bool rawScale);
  /// The value of the op's weight region for scores.
  mlir::Value weigh(const QueryRows &rows, mlir::Value scores,
                    mlir::Value firstKey, int64_t step);
  mlir::Value getScale() { return scale; }
  /// Column of key indices.
  Tile getKeyIndices(TileMath &math, mlir::Value firstKey, int64_t step);
  /// The arguments (b, h, t, i) of regions over rows.
  llvm::SmallVector<Tile> getRowArguments(const QueryRows &rows);
  ScalarContext getContext() { return {program, tile.batchRow}; }

private:
  /// Keys [low, high) are looked at; [fullLow, fullHigh) are visible for every
  /// row, if the interval is exact.
  struct Bounds {
    mlir::Value low, high, fullLow, fullHigh;
    bool exact;
  };
  Bounds getBounds(const QueryRows &rows, const nsa::KeyInterval &interval);
  using Branch = llvm::function_ref<llvm::SmallVector<mlir::Value>()>;
  llvm::SmallVector<mlir::Value> choose(mlir::Value condition, Branch yes,
                                        Branch no);
  mlir::Value evaluate(mlir::AffineExpr expr, const QueryRows &rows,
                       bool greatest);
  mlir::Value getSymbol(const nsa::MaskSymbol &symbol);
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

/// Output and log-sum-exp of an attention for the rows of a tile. The output is
/// null where only the log-sum-exp is wanted.
struct AttendTiles {
  mlir::Value output, lse;
};
AttendTiles attendTile(ProgramBuilder &program, const QueryTile &tile,
                       nsa::AttendOp op, nsatile::ScheduleAttr schedule,
                       bool onlyLse);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_ATTENDTILES_H
