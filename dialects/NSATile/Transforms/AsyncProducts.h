//===- AsyncProducts.h - Products that can be in flight ---------*- C++ -*-===//

#ifndef NSACC_NSATILE_TRANSFORMS_ASYNCPRODUCTS_H
#define NSACC_NSATILE_TRANSFORMS_ASYNCPRODUCTS_H

#include "NSATile/IR/NSATileOps.h"

namespace nsacc::nsatile {

/// The circular buffer that a tile, or what it is a reshape of, comes from;
/// null where no producer brings it.
mlir::Value getCircularBuffer(mlir::Value tile);

/// True for products of warpgroups that can be in flight: what they read from
/// shared memory a producer brings, or the warpgroups write for them.
bool canBeAsync(DotOp dot);

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_TRANSFORMS_ASYNCPRODUCTS_H
