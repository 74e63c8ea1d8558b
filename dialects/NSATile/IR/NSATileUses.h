//===- NSATileUses.h - What ops of programs do with values ------*- C++ -*-===//

#ifndef NSACC_NSATILE_IR_NSATILEUSES_H
#define NSACC_NSATILE_IR_NSATILEUSES_H

#include "mlir/IR/Value.h"
#include "mlir/IR/Visitors.h"

namespace nsacc::nsatile {

class UniteOp;

/// True for buffers that the program writes.
bool isStoredTo(mlir::Value buffer);

/// Code on scalars that gives the same wherever in the program it is run: it
/// may read buffers that the program doesn't write.
bool isScalarCode(mlir::Operation *op);

/// Looks at `value`, and at what it is computed from as far as `visit`
/// advances: each value once, however often code uses it.
mlir::WalkResult
walkSources(mlir::Value value,
            llvm::function_ref<mlir::WalkResult(mlir::Value)> visit);

/// More for long lists, of which each has several hundred entries.
int64_t countWarpsThatUnite(UniteOp unite);

/// True for loops, and what one is nested in.
bool hasLoop(mlir::Operation *op);

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_IR_NSATILEUSES_H
