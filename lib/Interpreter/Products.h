//===- Products.h - Products of rows with keys and values -------*- C++ -*-===//
//
// The oracle spends most of its time here. Every machine computes the same
// numbers: vectors of any length do the same operations in the same order.
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

  /// The rows from element `first` of all numbers on. Empty `numbers` have no
  /// such element.
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

/// Same as addRows, with every product and every partial sum rounded. The
/// factors aren't rounded.
void addRowsRounded(llvm::ArrayRef<double> weights, RowsOf rows,
                    llvm::ArrayRef<int64_t> places, int64_t size,
                    Rounding rounding, double *sums);

/// Rows in tiles; a tile is stored by columns: products with the rows of a tile
/// are computed in parallel, since each sum depends on its own steps only.
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
