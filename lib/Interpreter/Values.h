//===- Values.h - Tensors and selections of a running kernel ----*- C++ -*-===//

#ifndef NSACC_LIB_INTERPRETER_VALUES_H
#define NSACC_LIB_INTERPRETER_VALUES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace nsacc::interpreter {

/// The importance of an absent pair.
inline constexpr double absent = -std::numeric_limits<double>::infinity();

/// A tensor in row-major order: `reals` for floating-point element types,
/// `integers` for integers and booleans.
struct TensorValue {
  llvm::SmallVector<int64_t, 4> shape;
  std::vector<double> reals;
  std::vector<int64_t> integers;

  static TensorValue makeReal(llvm::ArrayRef<int64_t> shape, double fill = 0);
  static TensorValue makeInteger(llvm::ArrayRef<int64_t> shape);
};

/// For each query row and head: ascending, distinct blocks, then -1.
struct SelectionValue {
  int64_t heads;
  int64_t width;
  std::vector<int64_t> blocks;

  /// Selects nothing.
  SelectionValue(int64_t heads, int64_t width, int64_t rows)
      : heads(heads), width(width), blocks(rows * heads * width, -1) {}

  llvm::ArrayRef<int64_t> get(int64_t row, int64_t head) const {
    return llvm::ArrayRef<int64_t>(blocks).slice((row * heads + head) * width,
                                                 width);
  }
  llvm::MutableArrayRef<int64_t> get(int64_t row, int64_t head) {
    return llvm::MutableArrayRef<int64_t>(blocks).slice(
        (row * heads + head) * width, width);
  }
};

int64_t getNumElements(llvm::ArrayRef<int64_t> shape);

/// "[0, 3, 1]": a flat position as indices.
std::string describePosition(int64_t position, llvm::ArrayRef<int64_t> shape);
/// The position with indices in the program's order of dimensions: the i-th
/// index is of dimension order[i].
std::string describePosition(int64_t position, llvm::ArrayRef<int64_t> shape,
                             llvm::ArrayRef<int64_t> order);

/// An error for the user of the program.
llvm::Error makeError(const llvm::Twine &message);

} // namespace nsacc::interpreter

#endif // NSACC_LIB_INTERPRETER_VALUES_H
