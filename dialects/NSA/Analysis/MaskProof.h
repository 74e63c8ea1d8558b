//===- MaskProof.h - Masks that hide no pair, or every pair -----*- C++ -*-===//

#ifndef NSACC_NSA_ANALYSIS_MASKPROOF_H
#define NSACC_NSA_ANALYSIS_MASKPROOF_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Region.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <optional>

namespace nsacc::nsa {

/// Proves properties of a mask for all sizes, by linear arithmetic over
/// positions and sizes. Values that aren't linear may be any number.
class MaskProof {
public:
  /// Takes a mask over queries and keys with these dimensions. Only token
  /// dimensions have as many keys as their size; the number of windows and
  /// blocks isn't used.
  MaskProof(mlir::Region &mask, mlir::Attribute queries, mlir::Attribute heads,
            mlir::Attribute keys);

  /// Whether each possible pair is `visible`; false if that isn't proven.
  bool isAlways(bool visible);

  /// Whether an index in a clause over the same pairs is negative for each
  /// visible one; false if that isn't proven. The clause's last arguments are
  /// the mask's.
  bool isNegative(mlir::Value index, mlir::Region &clause);

private:
  /// A sum of variables with factors; the first number is the constant.
  using Sum = llvm::SmallVector<int64_t, 8>;
  /// Sums that are all non-negative.
  using Conjunction = llvm::SmallVector<Sum, 4>;
  using Union = llvm::SmallVector<Conjunction, 4>;

  Sum addVariable();
  Sum getSize(llvm::StringRef dim);
  /// The size of the dimension's tokens, or of a dimension without tokens.
  Sum getSize(mlir::Attribute dim);
  /// None if numbers are too large.
  std::optional<Sum> add(const Sum &lhs, const Sum &rhs, int64_t factor = 1);
  Sum getSum(mlir::Value value);
  std::optional<Sum> getOperation(mlir::Value value);
  /// Adds `one + factor * other + constant >= 0`.
  void addFact(const Sum &one, const Sum &other, int64_t factor,
               int64_t constant = 0);

  Union visit(mlir::Value value, bool expected);
  Union compare(mlir::Value value, bool expected);
  bool isEmpty(const Conjunction &conjunction) const;

  mlir::Region &mask;
  unsigned variables = 0;
  /// The arguments of a mask.
  llvm::SmallVector<Sum, 5> places;
  llvm::StringMap<Sum> sizes;
  llvm::DenseMap<mlir::Value, Sum> sums;
  /// Inequalities that hold for all pairs.
  Conjunction facts;
};

} // namespace nsacc::nsa

#endif // NSACC_NSA_ANALYSIS_MASKPROOF_H
