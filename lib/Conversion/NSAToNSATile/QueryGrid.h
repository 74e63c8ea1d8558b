//===- QueryGrid.h - Grids over tiles of rows -------------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_QUERYGRID_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_QUERYGRID_H

#include "QueryTile.h"

namespace nsacc {

/// Tiles of `tokens` tokens of a batch row along x, with batch rows along z.
/// Ragged rows' tiles stand behind each other along x, so that a grid has about
/// as many as there are tokens for.
struct RowGrid {
  mlir::Attribute dim; ///< dimension of the tokens
  mlir::Value rows;    ///< number of batch rows, in the plan
  int64_t tokens;
  /// Number of tiles in a whole tile. Rows are cut into whole tiles first.
  int64_t parts = 1;
  /// Number of places before the first token that may be in a tile, less than a
  /// tile's.
  int64_t before = 0;

  bool isRagged() const;
};

/// A tile of a row grid: its batch row, and its number within the row.
struct RowTile {
  mlir::Value batchRow, number;
};

/// The current program's tile.
RowTile getRowTile(ProgramBuilder &program, const RowGrid &grid);
/// The tile with a number among the tiles of all rows, which are ragged.
RowTile getRowTile(ProgramBuilder &program, const RowGrid &grid,
                   mlir::Value number);
/// Number of whole tiles of a batch row or, if ragged, of all rows, in the
/// plan.
mlir::Value countTiles(PlanBuilder &plan, const RowGrid &grid);
/// Number of a batch row's first tile; 0 unless rows are ragged.
mlir::Value getFirstTile(ProgramBuilder &program, const RowGrid &grid,
                         mlir::Value batchRow);
/// Launches `y` programs for each tile. If `z` isn't null, each batch row has
/// `z` programs side by side along z.
void launch(ProgramBuilder &program, const RowGrid &grid, mlir::Value y,
            mlir::Value z = {});

/// Sizes of buffers with an element for each tile of `tokens` tokens, and a
/// tile's indices: [rows, tiles], or [tiles] for ragged rows. If programs are
/// in a loop over `slices` of results, they are for one slice.
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
  /// Tokens of the whole tile that a tile is a part of; 0 if the tile is whole.
  int64_t whole = 0;
  /// Number of tokens, neighbours by position, that have to be in one tile.
  int64_t shareTokens = 1;
  /// Key heads of a program.
  int64_t keyHeads = 1;
  /// Number of programs of a key head. Each has as many of its query heads.
  int64_t headParts = 1;
  /// Number of programs that share a tile, side by side along z: a number or a
  /// value of the plan. Null for one.
  mlir::OpFoldResult parts = {};
  /// Slices of states or results that programs in their loop read or write.
  /// Null for programs in no loop.
  StateSlices *stateSlices = nullptr;

  RowGrid getRows(PlanBuilder &plan) const;
};

/// Number of programs for the query heads of a key head, of which a tile has
/// `heads`; 0 for all.
int64_t countHeadParts(const QueryShape &shape, int64_t heads);

/// The place of the current program.
QueryPlace getPlace(ProgramBuilder &program, const QueryGrid &grid);
/// Launches a program. `runs`, in the plan, is 0 where a call takes another
/// way. Null for 1.
void launch(ProgramBuilder &program, const QueryGrid &grid,
            mlir::Value runs = {});

/// Number of batch rows, in the plan.
mlir::Value getNumBatchRows(PlanBuilder &plan, const QueryShape &shape);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_QUERYGRID_H
