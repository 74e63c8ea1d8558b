//===- SoftmaxMath.h - Exponentials of the streaming softmax ----*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_SOFTMAXMATH_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_SOFTMAXMATH_H

#include "CodeBuilder.h"
#include "NSATile/IR/TileLayout.h"
#include <limits>

namespace nsacc {

constexpr float kLog2E = 1.44269504f, kLn2 = 0.693147182f;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Writes the arithmetic of a row's softmax on its maximum.
class SoftmaxMath {
public:
  /// `seesAll`: no score belongs to a hidden key, so that a maximum of finite
  /// scores is finite.
  SoftmaxMath(CodeBuilder &b, bool assumesFinite, bool seesAll)
      : b(b), assumesFinite(assumesFinite), seesAll(seesAll) {}

  mlir::Value isEqual(mlir::Value x, float value);
  /// The number that exponents are relative to.
  mlir::Value getReference(mlir::Value max);
  /// The summand of exponents of base 2 for a maximum.
  mlir::Value getShift(mlir::Value max);
  /// exp(old - max), or 1 if the maximum is infinite. `shift` is the summand
  /// for the exponents of this step's scores.
  mlir::Value getDecay(mlir::Value old, mlir::Value max, mlir::Value shift);

private:
  CodeBuilder &b;
  bool assumesFinite, seesAll;
};

/// Whether a warp has a reference, a maximum or a log-sum-exp, with an absolute
/// value of `large` or more.
mlir::Value hasLarge(CodeBuilder &b, llvm::ArrayRef<mlir::Value> references,
                     float large);

/// Powers of 2 with exponents from `fuse`, one fused product each. If `isLarge`
/// is given and holds, exponents come from `subtract`, which takes a distance
/// first.
llvm::SmallVector<mlir::Value>
raise(CodeBuilder &b, size_t count, mlir::Value isLarge,
      llvm::function_ref<mlir::Value(size_t)> fuse,
      llvm::function_ref<mlir::Value(size_t)> subtract);

/// Groups a matrix's registers by the register of their row.
llvm::SmallVector<llvm::SmallVector<int64_t>>
groupByRow(const nsatile::TileLayout &matrix, const nsatile::TileLayout &rows);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_SOFTMAXMATH_H
