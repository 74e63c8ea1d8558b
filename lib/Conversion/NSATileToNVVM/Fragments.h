//===- Fragments.h - Operands of tensor cores -------------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_FRAGMENTS_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_FRAGMENTS_H

#include "SharedMemory.h"
#include "ThreadMap.h"

namespace nsacc {

/// Two 16-bit numbers in a register, the first one low.
mlir::Value pack(CodeBuilder &b, mlir::Value low, mlir::Value high);
std::array<mlir::Value, 2> unpack(CodeBuilder &b, mlir::Type element,
                                  mlir::Value word);

/// Loads fragments from tiles that are swizzled for this purpose.
class FragmentLoader {
public:
  FragmentLoader(CodeBuilder &b, ThreadMap &threads, SharedMemory &shared)
      : b(b), threads(threads), shared(shared) {}

  /// Address of a lane's row of an 8 by 8 matrix: row `laneRow` + `row` and
  /// column 8 `laneChunk` + `column`. `laneChunk` is 0 or 1, `row` a multiple
  /// of 8, and `column` a multiple of 16, or of 8 if `laneChunk` is 0. Apart
  /// from one of four patterns of the swizzle, all differences between
  /// fragments are in the instruction.
  mlir::Value getPointer(const SharedTile &tile, mlir::Value laneRow,
                         mlir::Value laneChunk, int64_t row, int64_t column);
  /// Loads 16 columns of the left operand from column 16 `step` on, in the
  /// `m`th of the tile's `numM` parts of `warps` x 16 rows: the warp's own
  /// rows. With `isTransposed`, the tile is that operand transposed.
  llvm::SmallVector<mlir::Value, 4> loadLeft(const SharedTile &tile,
                                             int64_t warps, int64_t numM,
                                             int64_t m, int64_t step,
                                             bool isTransposed = false);

  /// Stores four words as a fragment, the inverse of `loadLeft`. Rows have to
  /// be within the tile.
  void storeLeft(const SharedTile &tile, int64_t warps, int64_t m, int64_t step,
                 mlir::ValueRange words);

private:
  mlir::Value getLeftRow();
  llvm::SmallVector<mlir::Value, 4>
  loadColumns(const SharedTile &tile, mlir::Value warpColumn, int64_t row);

  CodeBuilder &b;
  ThreadMap &threads;
  SharedMemory &shared;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_FRAGMENTS_H
