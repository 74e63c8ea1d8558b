//===- IntegerRanges.h - Ranges of integers in scalar code ------*- C++ -*-===//

#ifndef NSA_ANALYSIS_INTEGERRANGES_H
#define NSA_ANALYSIS_INTEGERRANGES_H

#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/DenseMap.h"

namespace nsacc::nsa {

/// The ranges of integers in a region of scalar code, over all runs whose sizes
/// are below 2^sizeBits. Arithmetic has 64 bits: a result that may wrap around
/// may be any number.
class IntegerRanges {
public:
  explicit IntegerRanges(unsigned sizeBits) : sizeBits(sizeBits) {}

  /// The range of an index, or of an integer of any width.
  mlir::ConstantIntRanges get(mlir::Value value);
  /// Whether the value may be any 64-bit number, for instance because its
  /// arithmetic may wrap around.
  bool isUnknown(mlir::Value value);
  /// Whether all numbers are signed ones of `bits` bits.
  bool fits(mlir::Value value, unsigned bits);
  /// Whether the absolute value of all numbers is below `limit`.
  bool isWithin(mlir::Value value, int64_t limit);
  /// Whether `lhs - rhs` fits.
  bool differenceFits(mlir::Value lhs, mlir::Value rhs, unsigned bits);

private:
  mlir::ConstantIntRanges compute(mlir::Value value);
  mlir::ConstantIntRanges computeArgument(mlir::BlockArgument argument);

  unsigned sizeBits;
  llvm::DenseMap<mlir::Value, mlir::ConstantIntRanges> known;
};

/// The product `(x floordiv c) * c` of an `x mod c` whose divisor is known and
/// positive; null for any other op.
mlir::Value getModuloProduct(mlir::Operation *op);

} // namespace nsacc::nsa

#endif // NSA_ANALYSIS_INTEGERRANGES_H
