//===- Environment.h - Sizes and batch rows of a running kernel -*- C++ -*-===//
//
// Dense and ragged batches are treated alike: the rows of all batch entries are
// packed one after the other, and offsets say where each entry starts. A dense
// [B, T, …] has packed rows of equal lengths.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_LIB_INTERPRETER_ENVIRONMENT_H
#define NSACC_LIB_INTERPRETER_ENVIRONMENT_H

#include "Values.h"
#include "nsacc/Tensor/Signature.h"

namespace mlir {
class Attribute;
class Value;
} // namespace mlir

namespace nsacc::nsa {
class KernelOp;
class PooledDimAttr;
} // namespace nsacc::nsa

namespace nsacc::interpreter {

/// The first row of each batch entry; one more than there are entries.
class RowOffsets {
public:
  explicit RowOffsets(std::vector<int64_t> offsets)
      : offsets(std::move(offsets)) {}

  int64_t getBatch() const { return offsets.size() - 1; }
  int64_t getNumRows() const { return offsets.back(); }
  int64_t getStart(int64_t b) const { return offsets[b]; }
  int64_t getLength(int64_t b) const { return offsets[b + 1] - offsets[b]; }
  /// The batch entry that holds a packed row.
  int64_t findBatch(int64_t row) const;

private:
  std::vector<int64_t> offsets;
};

class Environment {
public:
  /// Binds the kernel's dimensions from its inputs, checking them.
  static llvm::Expected<Environment> create(nsa::KernelOp kernel,
                                            llvm::ArrayRef<Tensor> inputs);
  /// An environment of known sizes, for code that reads no tensors.
  static Environment of(DimSizes sizes) {
    return Environment(std::move(sizes));
  }

  /// The size of a dimension in memory. Pooled keys and blocks that aren't
  /// packed have the size that the longest batch row needs.
  int64_t getSize(mlir::Attribute dim) const;
  llvm::SmallVector<int64_t>
  getShape(llvm::ArrayRef<mlir::Attribute> dims) const;

  /// The packed rows of a tensor [B, T, …] or [ragged T, …].
  RowOffsets getRows(llvm::ArrayRef<mlir::Attribute> dims) const;

  /// Tokens of batch entry `b` for a dimension of tokens, pooled keys or
  /// blocks.
  int64_t getTokens(mlir::Attribute dim, int64_t b) const;
  /// Entries of batch entry `b` in a dimension of keys or blocks.
  int64_t getEntries(mlir::Attribute dim, int64_t b) const;
  /// The size of a named dimension, within batch entry `b` if it is ragged.
  int64_t getLength(llvm::StringRef name, int64_t b) const;
  bool isRagged(llvm::StringRef name) const;

  /// The rows of a ragged dimension.
  RowOffsets getRaggedRows(llvm::StringRef name) const;

private:
  explicit Environment(DimSizes sizes) : dims(std::move(sizes)) {}

  int64_t getMaxEntries(mlir::Attribute dim) const;
  int64_t getBatch() const { return dims.batchRows.value_or(0); }

  DimSizes dims;
};

} // namespace nsacc::interpreter

#endif // NSACC_LIB_INTERPRETER_ENVIRONMENT_H
