//===- NSAVerify.h - Shared by the verifiers of nsa ops ---------*- C++ -*-===//

#ifndef NSACC_NSA_IR_NSAVERIFY_H
#define NSACC_NSA_IR_NSAVERIFY_H

#include "NSA/IR/NSAClauses.h"
#include "NSA/IR/NSAOps.h"

namespace nsacc::nsa {

/// The dimensions of queries, keys or values by their meaning.
struct SequenceDims {
  mlir::Attribute batch; ///< null if ragged rows are packed
  mlir::Attribute tokens, heads, features;

  bool isRagged() const { return !batch; }
};

/// Reads `[B, T, H, D]` or `[ragged T, H, D]`; anything else is an error about
/// `what` ("the query").
mlir::FailureOr<SequenceDims> getSequenceDims(mlir::Operation *op,
                                              llvm::StringRef what,
                                              NamedTensorType type);

/// `[B, T]` or `[ragged T]`, followed by other dimensions.
llvm::SmallVector<mlir::Attribute>
getRowDims(const SequenceDims &dims, llvm::ArrayRef<mlir::Attribute> tail);

/// Fails unless `found` has exactly these dimensions and this element type.
/// `reason` says where they come from.
mlir::LogicalResult expectTensor(mlir::Operation *op, llvm::StringRef what,
                                 NamedTensorType found,
                                 llvm::ArrayRef<mlir::Attribute> dims,
                                 mlir::Type elementType,
                                 llvm::StringRef reason);

/// Fails unless the elements are bf16, f16 or f32.
mlir::LogicalResult expectReals(mlir::Operation *op, llvm::StringRef what,
                                NamedTensorType found);

/// Fails unless `found` and `expected` are the same dimension.
mlir::LogicalResult expectDim(mlir::Operation *op, llvm::StringRef what,
                              mlir::Attribute found, mlir::Attribute expected,
                              llvm::StringRef reason);

/// Fails unless an argument of the kernel around `op` has dimension `name`, so
/// that its size is known.
mlir::LogicalResult expectKernelDim(mlir::Operation *op, llvm::StringRef name);

/// Fails unless the region is empty, or scalar code with the clause's arguments
/// and result.
mlir::LogicalResult verifyClause(mlir::Operation *op, Clause clause,
                                 mlir::Region &region);

/// Fails unless `body` is scalar code that yields a `result`.
mlir::LogicalResult verifyScalarCode(mlir::Block &body, mlir::Type result);

} // namespace nsacc::nsa

#endif // NSACC_NSA_IR_NSAVERIFY_H
