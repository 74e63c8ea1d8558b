//===- Products.h - Products of rows with keys and values -------*- C++ -*-===//
//
// Where the oracle spends its time. The same numbers on every machine: vectors
// of any length do the same operations in the same order.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_LIB_INTERPRETER_PRODUCTS_H
#define NSACC_LIB_INTERPRETER_PRODUCTS_H

#include "Rounding.h"
#include "llvm/ADT/ArrayRef.h"
#include <vector>

namespace nsacc::interpreter {

/// Rows of a matrix in memory: row `n` starts at `data + n * stride`.
struct RowsOf {
  const double *data;
  int64_t stride;

  /// From element `first` of all numbers on. Where there are none, there is
  /// nothing to point at.
  static RowsOf from(llvm::ArrayRef<double> numbers, int64_t first,
                     int64_t stride) {
    return {numbers.empty() ? nullptr : numbers.data() + first, stride};
  }
};

/// products[n] = x · rows[places[n]]
void dotRows(const double *x, int64_t size, RowsOf rows,
             llvm::ArrayRef<int64_t> places, double *products);

/// sums += Σ weights[n] rows[places[n]]
void addRows(llvm::ArrayRef<double> weights, RowsOf rows,
             llvm::ArrayRef<int64_t> places, int64_t size, double *sums);

/// The same with every product and every partial sum rounded. The factors are
/// taken as they are.
void addRowsRounded(llvm::ArrayRef<double> weights, RowsOf rows,
                    llvm::ArrayRef<int64_t> places, int64_t size,
                    Rounding rounding, double *sums);

/// Rows in tiles, within a tile by columns: products with the rows of a tile
/// are computed side by side, while each sum waits for its own steps only.
class TiledRows {
public:
  static constexpr int64_t rowsInTile = 32;

  TiledRows() = default;
  TiledRows(RowsOf rows, int64_t numRows, int64_t size);

  /// products[n] = x · row places[n], with every product and every partial sum
  /// rounded, first to last. `places` ascend.
  void dot(const double *x, llvm::ArrayRef<int64_t> places, Rounding rounding,
           double *products) const;

private:
  int64_t size = 0;
  std::vector<double> tiles;
};

} // namespace nsacc::interpreter

#endif // NSACC_LIB_INTERPRETER_PRODUCTS_H
