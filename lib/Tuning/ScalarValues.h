//===- ScalarValues.h - Numbers that programs compute -----------*- C++ -*-===//

#ifndef NSACC_LIB_TUNING_SCALARVALUES_H
#define NSACC_LIB_TUNING_SCALARVALUES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include <array>
#include <functional>
#include <optional>

namespace nsacc::tuning {

/// Evaluates the scalar code of a plan or of a program at one point of its
/// grid: sizes of grids, bounds of loops, limits of accesses.
class ScalarValues {
public:
  /// Reads an element of a buffer; none if its contents aren't known.
  using Read = std::function<std::optional<int64_t>(
      mlir::Value buffer, llvm::ArrayRef<int64_t> place)>;

  explicit ScalarValues(Read read) : read(std::move(read)) {}

  void set(mlir::Value value, int64_t number) { known[value] = number; }
  /// The value of an index, an integer or a flag; none if it depends on
  /// contents of buffers that aren't known.
  std::optional<int64_t> get(mlir::Value value);

  /// Moves on to a point of a grid: values that were computed are forgotten,
  /// and values that were set stay.
  void setPoint(const std::array<int64_t, 3> &next);
  /// Number of values that were computed, and the values after that number are
  /// forgotten: for another step of a loop.
  size_t countComputed() const { return order.size(); }
  void forgetFrom(size_t number);

  /// Dimensions of the grid that any value depended on.
  std::array<bool, 3> dimsRead = {};
  /// A number to go on with for integers that depend on contents of buffers
  /// that aren't known.
  std::optional<int64_t> assumed;

private:
  std::optional<int64_t> compute(mlir::Value value);

  Read read;
  std::array<int64_t, 3> point = {};
  llvm::DenseMap<mlir::Value, int64_t> known;
  llvm::DenseMap<mlir::Value, std::optional<int64_t>> computed;
  llvm::SmallVector<mlir::Value, 0> order;
};

} // namespace nsacc::tuning

#endif // NSACC_LIB_TUNING_SCALARVALUES_H
