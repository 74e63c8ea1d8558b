//===- ScalarTrial.h - Scalar code evaluated at trial values ----*- C++ -*-===//

#ifndef NSACC_NSA_ANALYSIS_SCALARTRIAL_H
#define NSACC_NSA_ANALYSIS_SCALARTRIAL_H

#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Region.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace nsacc::nsa {

/// Evaluates a clause's code by folding it, for warnings. Doesn't change the
/// code.
class ScalarTrial {
public:
  explicit ScalarTrial(mlir::Region &region);

  /// The value that the code yields for `arguments`; null if it isn't certain,
  /// or if the code is too long for a trial. A null argument is unknown, and so
  /// are elements of tables and sizes of dimensions that aren't given.
  mlir::Attribute evaluate(llvm::ArrayRef<mlir::Attribute> arguments,
                           std::optional<int64_t> size = std::nullopt);
  /// Evaluates with arguments that may be anything.
  mlir::Attribute evaluate(std::optional<int64_t> size = std::nullopt);
  mlir::MLIRContext *getContext() const { return region.getContext(); }
  /// Sets the value of all tables' elements. It is truncated for integers; a
  /// condition may still be either.
  void setTables(double element) { table = element; }
  /// A value of the code in the last trial: null if it isn't certain.
  mlir::Attribute lookup(mlir::Value value) const {
    return values.lookup(value);
  }

private:
  mlir::Attribute evaluate(mlir::Operation &op, std::optional<int64_t> size);

  mlir::Region &region;
  bool isShort;
  std::optional<double> table;
  /// Copies of ops, since folding may change an op in place: it may swap the
  /// operands of an 'and', for instance, whose second one may have no value.
  llvm::DenseMap<mlir::Operation *, mlir::OwningOpRef<mlir::Operation *>>
      copies;
  llvm::DenseMap<mlir::Value, mlir::Attribute> values;
};

/// A mask at pairs of a query and a key.
class MaskTrial {
public:
  /// The trial is in the batch row and head `place`, or in any.
  MaskTrial(mlir::Region &mask, std::optional<int64_t> place)
      : mask(mask), code(mask), place(place) {}

  /// Whether the pair is visible; none if that isn't certain.
  std::optional<bool> isVisible(int64_t query, int64_t key);

private:
  mlir::Region &mask;
  ScalarTrial code;
  std::optional<int64_t> place;
};

/// The value of a score or weight at the score `s` of a pair in the first head
/// of the first row; none if it isn't certain.
std::optional<double> evaluateAt(ScalarTrial &trial, mlir::MLIRContext *context,
                                 double s, int64_t query, int64_t key);

/// Elements of tables in trials of formulas.
inline constexpr double kTriedElements[] = {1, -1, 0.5, 3};

/// Scores in trials of formulas, in ascending order.
inline constexpr double kTriedScores[] = {-1e6, -100, -1,  -0.01,
                                          0.01, 1,    100, 1e6};

/// A key that is `distance` tokens or a little more after a query, or before it
/// if `distance` is negative: a token, or a window with all of its tokens.
int64_t findKey(mlir::Attribute tokens, int64_t query, int64_t distance);

} // namespace nsacc::nsa

#endif // NSACC_NSA_ANALYSIS_SCALARTRIAL_H
