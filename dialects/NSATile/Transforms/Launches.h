//===- Launches.h - Programs and what launches give them --------*- C++ -*-===//

#ifndef NSACC_NSATILE_TRANSFORMS_LAUNCHES_H
#define NSACC_NSATILE_TRANSFORMS_LAUNCHES_H

#include "NSATile/IR/NSATileOps.h"

namespace nsacc::nsatile {

llvm::SmallVector<LaunchOp> findLaunches(ProgramOp program);

llvm::SmallVector<mlir::Value> getGrid(LaunchOp launch);

/// New arguments of a program behind its others: what `getValues` says of each
/// of its launches, at least one.
llvm::SmallVector<mlir::Value> addArguments(
    ProgramOp program, llvm::ArrayRef<LaunchOp> launches,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(LaunchOp)> getValues);

/// Lets `op`, whose region's arguments are a point of a grid, work on that
/// point where it worked on the program's.
void replaceProgramIds(mlir::Operation *op);

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_TRANSFORMS_LAUNCHES_H
