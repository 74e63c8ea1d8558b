//===- NSATileUses.h - What ops of programs do with values ------*- C++ -*-===//

#ifndef NSACC_NSATILE_IR_NSATILEUSES_H
#define NSACC_NSATILE_IR_NSATILEUSES_H

#include "mlir/IR/Value.h"

namespace nsacc::nsatile {

/// True for buffers that the program writes.
bool isStoredTo(mlir::Value buffer);

/// Code on scalars that gives the same wherever in the program it is run: it
/// may read buffers that the program doesn't write.
bool isScalarCode(mlir::Operation *op);

/// True for loops, and what one is nested in.
bool hasLoop(mlir::Operation *op);

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_IR_NSATILEUSES_H
