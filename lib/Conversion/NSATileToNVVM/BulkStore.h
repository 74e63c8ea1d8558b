//===- BulkStore.h - Stores that bulk copies do -----------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_BULKSTORE_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_BULKSTORE_H

#include "NSATile/IR/NSATileOps.h"
#include <optional>

namespace nsacc {

/// How a warpgroup's rows of a result go to memory as one box.
struct BulkStore {
  /// None where the rows aren't a box, or the buffer's aren't 16 bytes apart.
  static std::optional<BulkStore> get(nsatile::StoreOp op);

  /// Of shared memory, for the whole tile.
  int64_t getBytes() const;

  int64_t rows, columns, warps;
  /// A box's extent in the tile's outermost dimension.
  int64_t boxOuter;
  nsatile::TensorMapAttr map;
};

/// How bulk copies see a buffer: boxes of `sizes` along its dimensions `dims`.
nsatile::TensorMapAttr getTensorMap(mlir::BlockArgument buffer,
                                    llvm::ArrayRef<int64_t> dims,
                                    llvm::ArrayRef<int64_t> sizes);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_BULKSTORE_H
