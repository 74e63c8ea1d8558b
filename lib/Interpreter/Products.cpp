//===- Products.cpp - Products of rows with keys and values ---------------===//

#include "Products.h"
#include <algorithm>

using namespace nsacc::interpreter;

// Compiled for several vector extensions; the machine's is chosen when the
// program starts.
#if defined(__x86_64__) && defined(__linux__)
#define NSACC_VECTOR_CLONES                                                    \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define NSACC_VECTOR_CLONES
#endif

/// Eight partial sums, always added in the same order.
NSACC_VECTOR_CLONES
void nsacc::interpreter::dotRows(const double *x, int64_t size, RowsOf rows,
                                 llvm::ArrayRef<int64_t> places,
                                 double *products) {
  for (int64_t place : places) {
    const double *y = rows.data + place * rows.stride;
    double sums[8] = {};
    int64_t index = 0;
    for (; index + 8 <= size; index += 8)
      for (int64_t lane = 0; lane < 8; ++lane)
        sums[lane] += x[index + lane] * y[index + lane];
    for (int64_t lane = 0; index < size; ++index, ++lane)
      sums[lane] += x[index] * y[index];
    *products++ = ((sums[0] + sums[4]) + (sums[2] + sums[6])) +
                  ((sums[1] + sums[5]) + (sums[3] + sums[7]));
  }
}

NSACC_VECTOR_CLONES
void nsacc::interpreter::addRows(llvm::ArrayRef<double> weights, RowsOf rows,
                                 llvm::ArrayRef<int64_t> places, int64_t size,
                                 double *__restrict sums) {
  const double *weight = weights.data();
  for (int64_t place : places) {
    const double *row = rows.data + place * rows.stride;
    double factor = *weight++;
    for (int64_t index = 0; index < size; ++index)
      sums[index] += factor * row[index];
  }
}

NSACC_VECTOR_CLONES
void nsacc::interpreter::addRowsRounded(llvm::ArrayRef<double> weights,
                                        RowsOf rows,
                                        llvm::ArrayRef<int64_t> places,
                                        int64_t size, Rounding rounding,
                                        double *__restrict sums) {
  const double *weight = weights.data();
  for (int64_t place : places) {
    const double *row = rows.data + place * rows.stride;
    double factor = *weight++;
    for (int64_t index = 0; index < size; ++index)
      sums[index] =
          rounding.toF32(sums[index] + rounding.toF32(factor * row[index]));
  }
}

/// sums[n] = x · row n of a tile.
NSACC_VECTOR_CLONES
static void dotTile(const double *x, const double *tile, int64_t size,
                    Rounding rounding, double *__restrict sums) {
  constexpr int64_t rows = TiledRows::rowsInTile;
  double partial[rows] = {};
  for (int64_t index = 0; index < size; ++index, tile += rows)
    for (int64_t row = 0; row < rows; ++row)
      partial[row] =
          rounding.toF32(partial[row] + rounding.toF32(x[index] * tile[row]));
  std::copy_n(partial, rows, sums);
}

TiledRows::TiledRows(RowsOf rows, int64_t numRows, int64_t size)
    : size(size),
      tiles((numRows + rowsInTile - 1) / rowsInTile * rowsInTile * size) {
  for (int64_t row = 0; row < numRows; ++row) {
    double *out =
        tiles.data() + row / rowsInTile * rowsInTile * size + row % rowsInTile;
    for (int64_t index = 0; index < size; ++index)
      out[index * rowsInTile] = rows.data[row * rows.stride + index];
  }
}

void TiledRows::dot(const double *x, llvm::ArrayRef<int64_t> places,
                    Rounding rounding, double *products) const {
  double sums[rowsInTile];
  int64_t computed = -1;
  for (int64_t place : places) {
    int64_t tile = place / rowsInTile;
    if (tile != computed)
      dotTile(x, tiles.data() + tile * rowsInTile * size, size, rounding, sums);
    computed = tile;
    *products++ = sums[place % rowsInTile];
  }
}
