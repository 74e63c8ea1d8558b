//===- InlinePTX.h - Instructions missing in NVVM ---------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_INLINEPTX_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_INLINEPTX_H

#include "CodeBuilder.h"

namespace nsacc::ptx {

/// 2 to the power of x, with denormals as 0. No op: the dialect has no ex2.
mlir::Value exp2(CodeBuilder &b, mlir::Value x);
/// Whether a value is one of `exp2`.
bool isExp2(mlir::Value value);
/// The logarithm to base 2. No op: the dialect has no lg2.
mlir::Value log2(CodeBuilder &b, mlir::Value x);
/// Waits for all of the thread's copies. No op: the dialect's waits leave out
/// copies that no group has yet.
void waitAllCopies(CodeBuilder &b);

/// The thread's number in the block, read anew. Assembly: LLVM takes all reads
/// by the op for one, and what depends on it would stay in registers for the
/// sake of code that is rarely run.
mlir::Value readThread(CodeBuilder &b);
/// A sum of words. Assembly: LLVM can't see that one counter goes along with
/// another and compute it from that one.
mlir::Value addHidden(CodeBuilder &b, mlir::Value lhs, mlir::Value rhs);
/// Whether a condition holds for all of so many threads, which wait for each
/// other. Assembly: the dialect's op does that at barrier 0 only.
mlir::Value allThreads(CodeBuilder &b, int64_t barrier, int64_t threads,
                       mlir::Value condition);
/// Waits until the phase of this parity has ended. Assembly: branches of a loop
/// of LLVM's don't say that all lanes take them alike.
void waitBarrier(CodeBuilder &b, mlir::Value barrier, mlir::Value parity);
/// Arrives where `predicate` isn't 0. Assembly: a branch would part the lanes.
void arriveIf(CodeBuilder &b, mlir::Value barrier, mlir::Value predicate);
/// The word where `predicate` isn't 0; 0 elsewhere. Assembly: the same.
mlir::Value loadSharedIf(CodeBuilder &b, mlir::Value address,
                         mlir::Value predicate);

/// acc + lhs · rhsᵀ of a warpgroup; of `lhs`, 64 rows.
struct WarpgroupProduct {
  int64_t columns, inner;
  mlir::Type element;
  /// Descriptors; `lhs` is null where all of it is in registers.
  mlir::Value lhs, rhs;
  /// The left operand's first columns, in registers of two elements each; may
  /// be empty.
  mlir::ValueRange head;
  /// Bytes from one slab of 64 columns to the next.
  int64_t lhsSlabBytes = 0, rhsSlabBytes = 0;
  /// Rows of `rhs` run along the inner dimension.
  bool transposeRhs = false;
  /// Rows of `lhs` are 64 rows of the product, of one inner element each.
  bool transposeLhs = false;
  /// May be empty; where `adds` (null: true) doesn't hold, it counts as 0.
  mlir::ValueRange acc;
  mlir::Value adds;
};
/// Starts a product as a group of its own. Assembly: the dialect's op has no
/// operands in registers, and no condition of adding known at run time only.
llvm::SmallVector<mlir::Value> startProduct(CodeBuilder &b,
                                            const WarpgroupProduct &product);
/// Waits for products but the last `allow` ones; gives the accumulators.
/// Assembly: the dialect's wait doesn't name them, and LLVM would move what
/// reads them over it.
llvm::SmallVector<mlir::Value> waitProducts(CodeBuilder &b, int64_t allow,
                                            mlir::ValueRange acc);

} // namespace nsacc::ptx

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_INLINEPTX_H
