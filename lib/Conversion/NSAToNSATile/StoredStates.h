//===- StoredStates.h - States of rows in memory ----------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_STOREDSTATES_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_STOREDSTATES_H

#include "PairFold.h"

namespace nsacc {

/// The states of a tile's rows that programs over parts of the keys leave in
/// memory, and their merge.
class StoredStates {
public:
  StoredStates(ProgramBuilder &program, const QueryTile &tile, PairFold &fold,
               const PartialStates &partial)
      : program(program), builder(program.getBuilder()), loc(program.getLoc()),
        tile(tile), fold(fold), partial(partial) {}

  /// Stores or loads the state of one part.
  void store(mlir::Value split, mlir::ValueRange state);
  RowState load(mlir::Value split);
  /// Merges the states of all parts in their order, whichever was done first.
  RowState merge();

private:
  /// State that a block left for the rows that have it. Other rows have the
  /// initial state.
  RowState loadEntry(mlir::Value entry);
  /// Merges the states of splits [first, end) with `state`, `count` at a time.
  RowState mergeSplits(mlir::ValueRange state, mlir::Value first,
                       mlir::Value end, int64_t count);

  ProgramBuilder &program;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  const QueryTile &tile;
  PairFold &fold;
  const PartialStates &partial;
};

/// The form that a state has in memory where matrices are scaled
/// (PartialStates).
RowState scaleState(ProgramBuilder &program, mlir::ValueRange state);

/// Allocates buffers for the states that programs over parts of the keys leave.
/// States with channels have `channels` of them.
PartialStates allocatePartialStates(PlanBuilder &plan, const QueryDims &dims,
                                    mlir::OpFoldResult splits,
                                    llvm::ArrayRef<mlir::Value> state,
                                    int64_t channels);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_STOREDSTATES_H
