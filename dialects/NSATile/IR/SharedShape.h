//===- SharedShape.h - Tiles in shared memory -------------------*- C++ -*-===//

#ifndef NSACC_NSATILE_IR_SHAREDSHAPE_H
#define NSACC_NSATILE_IR_SHAREDSHAPE_H

#include "mlir/IR/BuiltinTypes.h"

namespace nsacc::nsatile {

/// Alignment of tiles: the pattern of a swizzle starts there.
constexpr int64_t kSharedAlignment = 1024;
/// Number of 16-bit columns that a swizzle keeps side by side.
constexpr int64_t kSlabColumns = 64;

/// A tile in shared memory, as rows of all dimensions but the last.
struct SharedShape {
  int64_t rows = 1, columns = 1;
  /// Sizes with the padding that products read beyond the tile.
  int64_t paddedRows = 1, paddedColumns = 1;
  int64_t elementBytes = 0;
  /// Bytes from a row to the next one. With a swizzle, a row is one of a slab
  /// of 64 columns.
  int64_t pitch = 0;
  int64_t swizzle = 0;
  int64_t bytes = 0;

  /// The shape for the tile's layout; without a swizzle for layouts that aren't
  /// shared.
  static SharedShape get(mlir::RankedTensorType tile);
  static SharedShape get(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                         int64_t swizzle);

  /// Bytes that the tile takes up.
  int64_t getPlaceBytes() const;
};

/// Whether a tile is a vector of f32 in shared memory: threads copy it word by
/// word, wherever it begins, and read it by ordinary loads.
bool isSharedVector(mlir::RankedTensorType tile);

/// Whether a bulk copy can take `size` elements, one every `step`.
bool isBoxSize(int64_t size, int64_t step);

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_IR_SHAREDSHAPE_H
