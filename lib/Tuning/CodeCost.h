//===- CodeCost.h - Work of a program's code --------------------*- C++ -*-===//

#ifndef NSACC_LIB_TUNING_CODECOST_H
#define NSACC_LIB_TUNING_CODECOST_H

#include "NSATile/IR/NSATileOps.h"
#include "llvm/ADT/MapVector.h"

namespace nsacc::tuning {

/// Work of code over tiles, for all elements of its tiles.
struct CodeCost {
  /// Operations of products, as many as of 16-bit ones on GPUs.
  double products = 0;
  double exponentials = 0, instructions = 0;
  /// Instructions on sums that a loop carries.
  double rescaling = 0;
  /// Bytes that are copied from and to memory, by buffer.
  llvm::SmallMapVector<mlir::Value, double, 4> bytes;
  /// Bytes of rows that a list names, among these.
  double listed = 0;
  /// The largest product: rows, columns of scores, and channels of the sums
  /// that it adds to.
  double rows = 0, keys = 0, channels = 0;

  double getBytes() const;
  /// Bytes as the cache takes them: rows that a list names are copied row by
  /// row.
  double getCacheBytes() const;
  void add(const CodeCost &other, double times);
};

/// Kinds of code that a target has for products.
struct ProductCode {
  bool isCPU = false, hasWarpgroups = false;

  /// Rows of a product in registers, of which all are computed.
  double pad(double rows) const;
};

/// Counts the work of a block's ops, without the regions of loops and branches
/// in it.
CodeCost countCode(mlir::Block &block, const ProductCode &target);

} // namespace nsacc::tuning

#endif // NSACC_LIB_TUNING_CODECOST_H
