//===- IntegerRanges.h - What integers of scalar code can be ----*- C++ -*-===//

#ifndef NSA_ANALYSIS_INTEGERRANGES_H
#define NSA_ANALYSIS_INTEGERRANGES_H

#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/DenseMap.h"

namespace nsacc::nsa {

/// The numbers that the integers of a region of scalar code have in all runs
/// whose sizes are below 2^sizeBits. Arithmetic is that of 64 bits: what may
/// wrap around may be any number.
class IntegerRanges {
public:
  explicit IntegerRanges(unsigned sizeBits) : sizeBits(sizeBits) {}

  /// Of an index, or an integer of any width.
  mlir::ConstantIntRanges get(mlir::Value value);
  /// Whether the value can be told from none of the 64-bit numbers, as that of
  /// arithmetic that may wrap around.
  bool isUnknown(mlir::Value value);
  /// Whether all numbers are signed ones of `bits` bits.
  bool fits(mlir::Value value, unsigned bits);
  /// Whether all numbers are nearer to 0 than `limit`.
  bool isWithin(mlir::Value value, int64_t limit);
  /// Whether that is so for `lhs - rhs`.
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
