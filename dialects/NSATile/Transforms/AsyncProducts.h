//===- AsyncProducts.h - Products that can be in flight ---------*- C++ -*-===//

#ifndef NSACC_NSATILE_TRANSFORMS_ASYNCPRODUCTS_H
#define NSACC_NSATILE_TRANSFORMS_ASYNCPRODUCTS_H

#include "NSATile/IR/NSATileOps.h"

namespace nsacc::nsatile {

/// The circular buffer that a tile comes from, directly or through reshapes;
/// null if no producer loads it.
mlir::Value getCircularBuffer(mlir::Value tile);

/// Whether a product of warpgroups can be in flight: a producer has to load its
/// operands in shared memory, or the warpgroups write them themselves.
bool canBeAsync(DotOp dot);

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_TRANSFORMS_ASYNCPRODUCTS_H
