//===- NSATileUses.h - Uses of values in programs ---------------*- C++ -*-===//

#ifndef NSACC_NSATILE_IR_NSATILEUSES_H
#define NSACC_NSATILE_IR_NSATILEUSES_H

#include "mlir/IR/Value.h"
#include "mlir/IR/Visitors.h"

namespace nsacc::nsatile {

/// True for buffers that the program writes.
bool isStoredTo(mlir::Value buffer);

/// Visits the buffers that an op gets itself or by the place of a tile, and
/// whether the op writes them.
void forEachBuffer(mlir::Operation *op,
                   llvm::function_ref<void(mlir::Value, bool)> visit);

/// Whether an op is code on scalars and places that gives the same result
/// everywhere in the program: it may read buffers that the program doesn't
/// write.
bool isScalarCode(mlir::Operation *op);

/// Visits `value` and the values that it is computed from, as far as `visit`
/// advances. Visits each value once, however often code uses it.
mlir::WalkResult
walkSources(mlir::Value value,
            llvm::function_ref<mlir::WalkResult(mlir::Value)> visit);

/// Whether an op is a loop or contains one.
bool hasLoop(mlir::Operation *op);

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_IR_NSATILEUSES_H
