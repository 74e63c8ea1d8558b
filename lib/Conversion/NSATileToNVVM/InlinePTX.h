//===- InlinePTX.h - Instructions missing in NVVM ---------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_INLINEPTX_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_INLINEPTX_H

#include "CodeBuilder.h"

namespace nsacc::ptx {

/// 2 to the power of x; denormals are flushed to 0. Intrinsic: the dialect has
/// no ex2.
mlir::Value exp2(CodeBuilder &b, mlir::Value x);
/// Whether a value comes from `exp2`.
bool isExp2(mlir::Value value);
/// The logarithm to base 2. Intrinsic: the dialect has no lg2.
mlir::Value log2(CodeBuilder &b, mlir::Value x);
/// Waits for all of the thread's copies. Intrinsic: the dialect's waits leave
/// out copies that aren't in a group yet.
void waitAllCopies(CodeBuilder &b);

/// The thread's number in the block, read anew. Assembly: LLVM merges all reads
/// by the op, and values computed from the number would stay in registers for
/// code that rarely runs.
mlir::Value readThread(CodeBuilder &b);
/// A sum of words. Assembly: it hides from LLVM that two counters rise
/// together. LLVM would compute one from the other.
mlir::Value addHidden(CodeBuilder &b, mlir::Value lhs, mlir::Value rhs);
/// Whether a condition holds for all of `threads` threads, which wait for each
/// other. Assembly: the dialect's op supports barrier 0 only.
mlir::Value allThreads(CodeBuilder &b, int64_t barrier, int64_t threads,
                       mlir::Value condition);
/// Waits until the phase of this parity has ended. Assembly: the branches of an
/// LLVM loop don't say that all lanes take them together.
void waitBarrier(CodeBuilder &b, mlir::Value barrier, mlir::Value parity);
/// Waits until other blocks have raised a word of global memory to `count`;
/// their writes in front of that can then be read. Assembly: as above.
void waitForCount(CodeBuilder &b, mlir::Value pointer, mlir::Value count);
/// Arrives if `predicate` isn't 0. Assembly: a branch would separate the lanes.
void arriveIf(CodeBuilder &b, mlir::Value barrier, mlir::Value predicate);
/// The word if `predicate` isn't 0, else 0. Assembly: a branch would separate
/// the lanes.
mlir::Value loadSharedIf(CodeBuilder &b, mlir::Value address,
                         mlir::Value predicate);

/// A product acc + lhs · rhsᵀ of a warpgroup; `lhs` has 64 rows.
struct WarpgroupProduct {
  int64_t columns, inner;
  mlir::Type element;
  /// Matrix descriptors; `lhs` is null if all of it is in registers.
  mlir::Value lhs, rhs;
  /// The first columns of the left operand, in registers of two elements each;
  /// may be empty.
  mlir::ValueRange head;
  /// Bytes from one slab of 64 columns to the next.
  int64_t lhsSlabBytes = 0, rhsSlabBytes = 0;
  /// Whether rows of `rhs` run along the inner dimension.
  bool transposeRhs = false;
  /// Whether a row of `lhs` is one inner element of the product's 64 rows.
  bool transposeLhs = false;
  /// May be empty; if `adds` (null: true) is false, it counts as 0.
  mlir::ValueRange acc;
  mlir::Value adds;
};
/// Starts a product as a group. Assembly: the dialect's op has no operands in
/// registers, and no condition of adding that is only known at run time.
llvm::SmallVector<mlir::Value> startProduct(CodeBuilder &b,
                                            const WarpgroupProduct &product);
/// Waits for all products but the last `allow` ones; returns the accumulators.
/// Assembly: the dialect's wait doesn't name them, and LLVM would move code
/// that reads them in front of the wait.
llvm::SmallVector<mlir::Value> waitProducts(CodeBuilder &b, int64_t allow,
                                            mlir::ValueRange acc);

} // namespace nsacc::ptx

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_INLINEPTX_H
