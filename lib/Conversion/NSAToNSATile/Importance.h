//===- Importance.h - Importances of one query tile -------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_IMPORTANCE_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_IMPORTANCE_H

#include "EntryReduction.h"
#include "Evaluator.h"
#include "Scorer.h"
#include "llvm/ADT/MapVector.h"
#include <memory>

namespace nsacc {

/// Entries first, first + step, … of an importance's last dimension.
struct Columns {
  mlir::Value first;
  int64_t count;
  int64_t step = 1;
};

/// Folds over columns 0 to `end`, `columns` of them at a time. `body` gets the
/// first column of a tile and returns the next state.
nsatile::FoldOp foldColumns(ProgramBuilder &program, mlir::Value end,
                            int64_t columns, mlir::ValueRange inits,
                            llvm::function_ref<llvm::SmallVector<mlir::Value>(
                                mlir::Value first, mlir::ValueRange state)>
                                body);

/// Folds over tiles [first, end) of `columns` columns.
nsatile::FoldOp foldColumnTiles(
    ProgramBuilder &program, mlir::Value first, mlir::Value end,
    int64_t columns, mlir::ValueRange inits,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value first,
                                                      mlir::ValueRange state)>
        body);

/// Indices of these columns.
Tile getIndices(TileMath &math, const Columns &columns);

/// Tiles of importances over pooled keys or blocks. Rows are tokens, or pairs
/// of token and query head, whichever the tensor has. Absent entries are -inf.
class ImportanceTiles {
public:
  ImportanceTiles(ProgramBuilder &program, const QueryTile &tile,
                  mlir::Attribute keyHeadDim, nsatile::ScheduleAttr schedule);

  /// Computes what all columns of `tensor` need, at the insertion point.
  mlir::LogicalResult prepare(mlir::Value tensor);
  /// Steps of columns have to be a multiple of this.
  static int64_t getPeriod(mlir::Value tensor);

  Tile evaluate(mlir::Value tensor, const Columns &columns);

  /// From here on, tiles of `count` columns of `tensor` follow each other from
  /// column 0 on. Windows that blocks share with the blocks in front of them
  /// are computed once, and carried from one tile to the next.
  void startCarrying(mlir::Value tensor, int64_t count);
  /// Values that the next tile of columns needs of the last one.
  llvm::SmallVector<mlir::Value> getCarried() const;
  void setCarried(mlir::ValueRange values);

  /// First entry past the entries that may be present for any row.
  mlir::Value getEnd(mlir::Value tensor);
  /// The number of entries of the batch row.
  mlir::Value getNumColumns(mlir::Attribute dim);

  bool isPerQueryHead(mlir::Value tensor);
  /// Number of a key head's query heads with separate entries.
  int64_t getHeads(mlir::Value tensor) {
    return isPerQueryHead(tensor) ? tile.group : 1;
  }
  int64_t getRows(mlir::Value tensor) { return tile.tokens * getHeads(tensor); }

private:
  struct Source {
    Source(ProgramBuilder &program, const QueryTile &tile, nsa::ImportanceOp op,
           nsatile::ScheduleAttr schedule)
        : scorer(program, tile,
                 mlir::cast<nsa::ScoringOpInterface>(op.getOperation()),
                 schedule),
          rows(scorer.getAllRows()),
          bounds(scorer.getBounds().getBounds(rows)) {}
    Scorer scorer;
    QueryRows rows;
    llvm::SmallVector<KeyBounds> bounds;
    Normalizer normalizer;
  };

  mlir::LogicalResult prepareMap(nsa::MapOp op);
  Tile evaluateImportance(nsa::ImportanceOp op, const Columns &columns);
  Tile evaluateBlocks(nsa::BlocksOp op, const Columns &columns);
  Tile keep(mlir::arith::CmpIPredicate side, mlir::Value start, TileMath &math,
            Tile value, const Columns &columns);
  Tile getShare(TileMath &math, mlir::Value tokens, int64_t stride);
  Tile evaluateMap(nsa::MapOp op, const Columns &columns,
                   llvm::DenseMap<mlir::Value, Tile> &known);
  /// Computes values that several tensors need of these columns once.
  Tile evaluate(mlir::Value tensor, const Columns &columns,
                llvm::DenseMap<mlir::Value, Tile> &known);
  Tile compute(mlir::Value tensor, const Columns &columns,
               llvm::DenseMap<mlir::Value, Tile> &known);
  Tile load(mlir::Value tensor, const Columns &columns);

  ProgramBuilder &program;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  const QueryTile &tile;
  QueryTile keyHeadTile;
  nsatile::ScheduleAttr schedule;
  Evaluator evaluator, keyHeadEvaluator;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<Source>> sources;
  llvm::DenseSet<mlir::Value> prepared;
  /// Inputs of maps without the dimension of columns.
  llvm::DenseMap<mlir::OpOperand *, Tile> rowOperands;
  /// Last entries of each column of the tile before, for each op over blocks.
  llvm::MapVector<mlir::Operation *, llvm::SmallVector<mlir::Value>> carried;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_IMPORTANCE_H
