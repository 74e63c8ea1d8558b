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

/// Loads fragments from tiles that are swizzled for it.
class FragmentLoader {
public:
  FragmentLoader(CodeBuilder &b, ThreadMap &threads, SharedMemory &shared)
      : b(b), threads(threads), shared(shared) {}

  /// Where a lane's row of a matrix of 8 by 8 begins: row `laneRow` + `row` and
  /// column 8 `laneChunk` + `column`, `laneChunk` being 0 or 1, `row` a
  /// multiple of 8 and `column` of 16, or of 8 where `laneChunk` is 0. All that
  /// differs between fragments, but for one of four patterns of the swizzle, is
  /// in the instruction.
  mlir::Value getPointer(const SharedTile &tile, mlir::Value laneRow,
                         mlir::Value laneChunk, int64_t row, int64_t column);
  /// The left operand's 16 columns from 16 `step` on, of the warp's rows in the
  /// `m`th of `numM` times `warps` x 16 rows. The tile is that operand
  /// transposed if so said.
  llvm::SmallVector<mlir::Value, 4> loadLeft(const SharedTile &tile,
                                             int64_t warps, int64_t numM,
                                             int64_t m, int64_t step,
                                             bool isTransposed = false);

  /// The inverse, of four words: rows have to be within the tile.
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
