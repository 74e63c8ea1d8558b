//===- TensorMaps.h - Buffers as bulk copies see them -----------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_TENSORMAPS_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_TENSORMAPS_H

#include "NSATile/IR/NSATileOps.h"
#include "NSATile/IR/SharedShape.h"
#include <optional>

namespace nsacc {

/// The bytes of 64 columns of 16 bits, which bulk copies and products of a
/// warpgroup swizzle.
constexpr int64_t kSlabRowBytes = 2 * nsatile::kSlabColumns;

/// Boxes of `sizes` along the buffer's dimensions `dims`, of every so many
/// elements if there are steps.
nsatile::TensorMapAttr getTensorMap(mlir::BlockArgument buffer,
                                    llvm::ArrayRef<int64_t> dims,
                                    llvm::ArrayRef<int64_t> sizes,
                                    llvm::ArrayRef<int64_t> steps = {});
/// Of the buffer that `nsatile.producer_load` reads.
nsatile::TensorMapAttr getTensorMap(nsatile::ProducerLoadOp op);

/// How a warpgroup's rows of a result go to memory as one box.
struct BulkStore {
  /// None where the rows aren't a box, or the buffer's aren't 16 bytes apart.
  static std::optional<BulkStore> get(nsatile::StoreOp op);
  /// Why there is none for the op; empty where there is one.
  static llvm::StringRef explainNone(nsatile::StoreOp op);

  /// Of shared memory, for the whole tile.
  int64_t getBytes() const;

  int64_t rows, columns, warps;
  /// A box's extent in the tile's outermost dimension.
  int64_t boxOuter;
  nsatile::TensorMapAttr map;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_TENSORMAPS_H
