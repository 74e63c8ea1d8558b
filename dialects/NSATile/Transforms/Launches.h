//===- Launches.h - Programs and what launches give them --------*- C++ -*-===//

#ifndef NSACC_NSATILE_TRANSFORMS_LAUNCHES_H
#define NSACC_NSATILE_TRANSFORMS_LAUNCHES_H

#include "NSATile/IR/NSATileOps.h"

namespace nsacc::nsatile {

llvm::SmallVector<LaunchOp> findLaunches(ProgramOp program);

llvm::SmallVector<mlir::Value> getGrid(LaunchOp launch);

/// Adds arguments to a program behind its others. `getValues` gives their
/// values for each of its launches; there is at least one.
llvm::SmallVector<mlir::Value> addArguments(
    ProgramOp program, llvm::ArrayRef<LaunchOp> launches,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(LaunchOp)> getValues);

/// Replaces the program's ids in `op` by the arguments of its region, a point
/// of a grid.
void replaceProgramIds(mlir::Operation *op);

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_TRANSFORMS_LAUNCHES_H
