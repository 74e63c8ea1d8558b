//===- FMAProduct.h - Products by FMA ---------------------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_FMAPRODUCT_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_FMAPRODUCT_H

#include "Kernel.h"

namespace nsacc {

/// Layout of a product's accumulator: `numM` times 16 rows of each warp, `numN`
/// times 8 columns, four registers each.
struct AccumulatorShape {
  static AccumulatorShape get(mlir::RankedTensorType result);

  int64_t getIndex(int64_t m, int64_t n, int64_t lowerRows,
                   int64_t oddColumn) const {
    return ((m * numN + n) * 2 + lowerRows) * 2 + oddColumn;
  }
  /// Registers of columns 8 firstN … 8 lastN - 1.
  llvm::SmallVector<int64_t> getColumns(int64_t firstN, int64_t lastN) const;

  int64_t warps, numM, numN;
};

/// A product by FMA from shared memory, one element of the inner dimension
/// after the other: exact for f32, and with hidden elements. It never waits for
/// another warp.
class FMAProduct {
public:
  FMAProduct(Kernel &kernel, nsatile::DotOp op, AccumulatorShape shape);

  /// Marks hidden elements of a left operand by the sign of their zeros. No
  /// other value has to be kept until it is known whether they matter.
  mlir::Value mark(mlir::Value value, mlir::Value visible);
  /// Sets the left operand: a tile in shared memory, or room for a copy.
  void takeLhs(const SharedTile &tile) { lhs = tile; }
  /// Writes a left operand to shared memory, 16 rows to a warp, which reads
  /// only its own rows. A hidden element is -0 there, and no visible one is.
  void writeLhs(llvm::ArrayRef<mlir::Value> registers);
  /// The sums of columns 8 firstN … 8 lastN - 1, added to `sums`.
  llvm::SmallVector<mlir::Value> multiply(llvm::ArrayRef<mlir::Value> sums,
                                          int64_t firstN, int64_t lastN,
                                          bool skipsHidden);

private:
  mlir::Value getCoordinate(int64_t index, unsigned dim);
  mlir::Value load(const SharedTile &tile, mlir::Value row, mlir::Value column);
  llvm::SmallVector<mlir::Value> loadColumns(int64_t firstN, int64_t lastN,
                                             mlir::Value k);

  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  SharedMemory &shared;
  nsatile::DotOp op;
  AccumulatorShape shape;
  const nsatile::TileLayout &result;
  SharedTile lhs, rhs;
  mlir::Type element;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_FMAPRODUCT_H
