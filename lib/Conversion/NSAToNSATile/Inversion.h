//===- Inversion.h - Lists of the entries that name a block -----*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_INVERSION_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_INVERSION_H

#include "ListCode.h"
#include "QueryGrid.h"
#include "StateSlices.h"

namespace nsacc {

/// Sorts the entries of a selection's lists by their blocks. Chunks of tokens
/// count their entries of each block. A sum over all counts gives the place of
/// each chunk's entries of a block, and chunks write them there.
class Inversion {
public:
  Inversion(PlanBuilder &plan, const QueryShape &shape, mlir::Value selection,
            int64_t tileTokens)
      : plan(plan), slices(plan.getStateSlices()), selection(selection),
        type(mlir::cast<nsa::SelectionType>(selection.getType())),
        tileTokens(tileTokens), numRows(getNumBatchRows(plan, shape)),
        chunkGrid({.dim = shape.dims.token,
                   .rows = numRows,
                   .tokens = StateSlices::chunkTokens}),
        blockGrid({.dim = plan.getNamedDim(type.getOf()),
                   .rows = numRows,
                   .tokens = static_cast<int64_t>(type.getBlock())}) {}

  InvertedLists build();
  /// Block and entries of a tile.
  struct BlockTile {
    RowTile block;
    llvm::SmallVector<mlir::Value> place; ///< place of the first entry
    mlir::Value end, firstToken, endToken;
  };
  BlockTile getTile(ProgramBuilder &program, const InvertedLists &lists,
                    mlir::Value number, mlir::Value head);
  mlir::Value getGridRows() {
    return isRagged() ? plan.math().constant(1) : numRows;
  }

private:
  bool isRagged() const { return chunkGrid.isRagged(); }
  bool cutsTokens() const { return slices && slices->tokenSlices; }
  /// Converts a number for one slice of the tokens to the number for all of
  /// them.
  mlir::Value multiply(mlir::Value ofSlice) {
    return cutsTokens() ? plan.math().mul(slices->tokenSlices, ofSlice)
                        : ofSlice;
  }
  mlir::Value getHeads() { return plan.getSize(type.getDims().back()); }
  mlir::Value allocate(mlir::Value size, int64_t fields = 1);
  /// Place of element `last` of a head's numbers, for a batch row or the
  /// program's.
  llvm::SmallVector<mlir::Value> getPlace(ProgramBuilder &program,
                                          mlir::Value head, mlir::Value last,
                                          mlir::Value row = {});
  mlir::Value loadStart(ProgramBuilder &program, mlir::Value head,
                        mlir::Value block);

  /// Lists that a chunk's program walks, the number of blocks, and the place of
  /// its counters.
  struct Chunk {
    RowLists lists;
    mlir::Value below;
    NumbersOfKeys counters;
  };
  Chunk getChunk(ProgramBuilder &program);
  void buildClearProgram();
  void buildCountProgram();
  void buildSumProgram();
  void buildTilesProgram();
  void buildSortProgram();

  PlanBuilder &plan;
  const StateSlices *slices;
  mlir::Value selection;
  nsa::SelectionType type;
  int64_t tileTokens;
  mlir::Value numRows;
  RowGrid chunkGrid, blockGrid;
  InvertedLists lists;
  /// Number of blocks, of lists (a block's in each slice), and of their
  /// counters. They are for a batch row, or for all ragged rows.
  mlir::Value numBlocks, numLists, numCounts;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_INVERSION_H
