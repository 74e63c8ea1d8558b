//===- QueryGrid.h - Grids over tiles of rows -------------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_QUERYGRID_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_QUERYGRID_H

#include "QueryTile.h"

namespace nsacc {

/// The tiles of a batch row's tokens, `tokens` each: along x, the batch rows
/// along z. Those of ragged rows stand one row's behind the other's along x, so
/// that a grid has about as many as there are tokens for.
struct RowGrid {
  mlir::Attribute dim; ///< of the tokens
  mlir::Value rows;    ///< of the batch, in the plan
  int64_t tokens;
  /// Tiles in one that rows are cut into first.
  int64_t parts = 1;
  /// Places before the first token that may be in a tile, fewer than a tile's.
  int64_t before = 0;

  bool isRagged() const;
};

/// A tile of a row grid: its batch row, and its number among the row's.
struct RowTile {
  mlir::Value batchRow, number;
};

/// The current program's.
RowTile getRowTile(ProgramBuilder &program, const RowGrid &grid);
/// That with a number among those of all rows, which ragged ones have.
RowTile getRowTile(ProgramBuilder &program, const RowGrid &grid,
                   mlir::Value number);
/// Of a batch row or, of ragged ones, of all, in the plan.
mlir::Value countTiles(PlanBuilder &plan, const RowGrid &grid);
/// The number of a batch row's first one: 0 but for ragged rows.
mlir::Value getFirstTile(ProgramBuilder &program, const RowGrid &grid,
                         mlir::Value batchRow);
/// Launches programs for each tile, `y` and, if it isn't null, `z`, which goes
/// along that axis before the batch rows.
void launch(ProgramBuilder &program, const RowGrid &grid, mlir::Value y,
            mlir::Value z = {});

/// Where what programs leave for each tile of `tokens` tokens stands in
/// buffers, [rows, tiles] or, of ragged rows, [tiles]: those of a slice where
/// programs are in a loop over `slices` of results.
llvm::SmallVector<mlir::Value> getTileSizes(PlanBuilder &plan,
                                            const QueryShape &shape,
                                            int64_t tokens,
                                            const StateSlices *slices = {});
llvm::SmallVector<mlir::Value> getTileIndices(ProgramBuilder &program,
                                              const QueryTile &tile,
                                              const StateSlices *slices = {});

/// A grid over tiles of queries, with key heads along y.
struct QueryGrid {
  QueryShape shape;
  int64_t tokens;
  /// A tile is a part of one of so many tokens; 0: it is whole.
  int64_t whole = 0;
  /// Tokens that belong together by their position are in one tile.
  int64_t shareTokens = 1;
  /// Key heads of a program.
  int64_t keyHeads = 1;
  /// Or programs of a key head, each with as many of its query heads.
  int64_t headParts = 1;
  /// How many programs share a tile, side by side along z, a number or a value
  /// of the plan; null: one.
  mlir::OpFoldResult parts = {};
  /// The slices of states or results that programs in their loop read or write;
  /// null: they are in no loop.
  StateSlices *stateSlices = nullptr;

  RowGrid getRows(PlanBuilder &plan) const;
};

/// The place of the current program.
QueryPlace getPlace(ProgramBuilder &program, const QueryGrid &grid);
/// `runs`, in the plan: 0 where a call takes another way; null: 1.
void launch(ProgramBuilder &program, const QueryGrid &grid,
            mlir::Value runs = {});

/// In the plan.
mlir::Value getNumBatchRows(PlanBuilder &plan, const QueryShape &shape);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_QUERYGRID_H
