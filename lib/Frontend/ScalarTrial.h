//===- ScalarTrial.h - Scalar code at values that are tried -----*- C++ -*-===//

#ifndef NSACC_LIB_FRONTEND_SCALARTRIAL_H
#define NSACC_LIB_FRONTEND_SCALARTRIAL_H

#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Region.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace nsacc::frontend {

/// Evaluates a clause's code by folding it, for warnings. The code stays as it
/// is.
class ScalarTrial {
public:
  explicit ScalarTrial(mlir::Region &region);

  /// What the code yields where `arguments` have these values: null where
  /// that isn't sure, as in code that is too long to be tried. A null argument
  /// may be anything, as may a table's element and, unless given, the size of a
  /// dimension.
  mlir::Attribute evaluate(llvm::ArrayRef<mlir::Attribute> arguments,
                           std::optional<int64_t> size = std::nullopt);
  /// With arguments that may be anything.
  mlir::Attribute evaluate(std::optional<int64_t> size = std::nullopt);
  /// From now on a table's element is this number: cut off where it is an
  /// integer; a condition may still be either.
  void setTables(double element) { table = element; }
  /// What a value of the code was in the last trial: null where that isn't
  /// sure.
  mlir::Attribute lookup(mlir::Value value) const {
    return values.lookup(value);
  }

private:
  mlir::Attribute evaluate(mlir::Operation &op, std::optional<int64_t> size);

  mlir::Region &region;
  bool isShort;
  std::optional<double> table;
  /// Folding may change an op in place: swap its operands, say, of which the
  /// second of an 'and' may have no value.
  llvm::DenseMap<mlir::Operation *, mlir::OwningOpRef<mlir::Operation *>>
      copies;
  llvm::DenseMap<mlir::Value, mlir::Attribute> values;
};

/// A mask at pairs of a query and a key.
class MaskTrial {
public:
  /// In the batch row and head `place`, or in any.
  MaskTrial(mlir::Region &mask, std::optional<int64_t> place)
      : mask(mask), code(mask), place(place) {}

  /// Whether the pair is visible, where that is sure.
  std::optional<bool> isVisible(int64_t query, int64_t key);

private:
  mlir::Region &mask;
  ScalarTrial code;
  std::optional<int64_t> place;
};

/// What a score or weight is at the score `s` of a pair in the first head of
/// the first row; nothing where that isn't sure.
std::optional<double> evaluateAt(ScalarTrial &trial, mlir::MLIRContext *context,
                                 double s, int64_t query, int64_t key);

/// Elements of tables at which formulas are tried.
inline constexpr double kTriedElements[] = {1, -1, 0.5, 3};

/// Scores at which they are, from small to large.
inline constexpr double kTriedScores[] = {-1e6, -100, -1,  -0.01,
                                          0.01, 1,    100, 1e6};

/// A key that lies `distance` tokens or a little more after a query, or before
/// it where that is negative: a token, or a window with all of its tokens.
int64_t findKey(mlir::Attribute tokens, int64_t query, int64_t distance);

} // namespace nsacc::frontend

#endif // NSACC_LIB_FRONTEND_SCALARTRIAL_H
