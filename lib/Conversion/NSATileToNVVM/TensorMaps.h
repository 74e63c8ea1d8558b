//===- TensorMaps.h - Buffers as bulk copies see them -----------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_TENSORMAPS_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_TENSORMAPS_H

#include "NSATile/IR/NSATileOps.h"
#include "NSATile/IR/SharedShape.h"
#include <optional>

namespace nsacc {

/// Bytes of 64 columns of 16 bits: the width that bulk copies and products of a
/// warpgroup swizzle.
constexpr int64_t kSlabRowBytes = 2 * nsatile::kSlabColumns;

/// A map with boxes of `sizes` along the buffer's dimensions `dims`; `steps`
/// are the distances between elements, if given.
nsatile::TensorMapAttr getTensorMap(mlir::BlockArgument buffer,
                                    llvm::ArrayRef<int64_t> dims,
                                    llvm::ArrayRef<int64_t> sizes,
                                    llvm::ArrayRef<int64_t> steps = {});
/// Whether a bulk copy brings the tile. If not, lanes of a warp copy it: rows
/// that a list names, and vectors, which may begin anywhere.
bool isBulkCopy(nsatile::ProducerLoadOp op);
/// The map of the buffer that such an `nsatile.producer_load` reads.
nsatile::TensorMapAttr getTensorMap(nsatile::ProducerLoadOp op);

/// A store of a warpgroup's rows of a result as one box.
struct BulkStore {
  /// None if the rows aren't a box, or the distance of the buffer's rows isn't
  /// a multiple of 16 bytes.
  static std::optional<BulkStore> get(nsatile::StoreOp op);
  /// Reason why the op has no bulk store; empty if it has one.
  static llvm::StringRef explainNone(nsatile::StoreOp op);

  /// Bytes of shared memory for the whole tile.
  int64_t getBytes() const;

  int64_t rows, columns, warps;
  /// A box's extent in the tile's outermost dimension.
  int64_t boxOuter;
  nsatile::TensorMapAttr map;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_TENSORMAPS_H
