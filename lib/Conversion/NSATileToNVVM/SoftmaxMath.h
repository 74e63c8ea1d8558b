//===- SoftmaxMath.h - Exponentials of the streaming softmax ----*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_SOFTMAXMATH_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_SOFTMAXMATH_H

#include "CodeBuilder.h"
#include "NSATile/IR/TileLayout.h"
#include <limits>

namespace nsacc {

constexpr float kLog2E = 1.44269504f, kLn2 = 0.693147182f;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Writes what a row's softmax does with its maximum.
class SoftmaxMath {
public:
  /// `seesAll`: no score is that of a hidden key, so that a maximum of finite
  /// scores is finite.
  SoftmaxMath(CodeBuilder &b, bool assumesFinite, bool seesAll)
      : b(b), assumesFinite(assumesFinite), seesAll(seesAll) {}

  mlir::Value isEqual(mlir::Value x, float value);
  /// What an exponent is taken relative to.
  mlir::Value getReference(mlir::Value max);
  /// What is added to exponents of base 2 for a maximum.
  mlir::Value getShift(mlir::Value max);
  /// exp(old - max), and 1 where the maximum is infinite. `shift` is what the
  /// exponents of this step's scores get.
  mlir::Value getDecay(mlir::Value old, mlir::Value max, mlir::Value shift);

private:
  CodeBuilder &b;
  bool assumesFinite, seesAll;
};

/// Whether a warp has a reference, of a maximum or a log-sum-exp, whose size is
/// `large` or more.
mlir::Value hasLarge(CodeBuilder &b, llvm::ArrayRef<mlir::Value> references,
                     float large);

/// Powers of 2: of exponents that are one fused product each, or, where
/// `isLarge` is given and holds, of a distance that is taken first.
llvm::SmallVector<mlir::Value>
raise(CodeBuilder &b, size_t count, mlir::Value isLarge,
      llvm::function_ref<mlir::Value(size_t)> fuse,
      llvm::function_ref<mlir::Value(size_t)> subtract);

/// Registers of a matrix by the register of their row.
llvm::SmallVector<llvm::SmallVector<int64_t>>
groupByRow(const nsatile::TileLayout &matrix, const nsatile::TileLayout &rows);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_SOFTMAXMATH_H
