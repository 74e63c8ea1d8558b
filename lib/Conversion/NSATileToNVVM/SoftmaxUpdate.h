//===- SoftmaxUpdate.h - A step of the streaming softmax --------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_SOFTMAXUPDATE_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_SOFTMAXUPDATE_H

#include "Kernel.h"
#include "SoftmaxMath.h"

namespace nsacc {

/// In which order ptxas is to compute a step: as the schedule says, or as its
/// `auto` stands for.
///
/// Rows one after the other need the fewest registers; together they don't wait
/// for their own chains. A chain of sums that begins with the decay lets ptxas
/// compute it before the other exponentials, and fill the time they take with
/// what it scales: three warpgroups are 2 % faster, two 1 % slower (H200). Two
/// warpgroups have registers for the maxima of many keys in front of all
/// exponentials, while the product before is still under way: 1 to 3 % (D 128,
/// H200). Three are up to 3 % slower.
nsatile::SoftmaxOrder getSoftmaxOrder(nsatile::SoftmaxUpdateOp op,
                                      const KernelFacts &facts);

/// Writes one step. Rows are by the registers of the maxima.
class SoftmaxUpdate {
public:
  SoftmaxUpdate(Kernel &kernel, nsatile::SoftmaxUpdateOp op);
  void write();

private:
  mlir::Value getGreatest(llvm::ArrayRef<int64_t> members);
  /// The new maximum, shift of exponents and decay of a row.
  void update(size_t row, mlir::Value greatest);
  mlir::Value isLooking(size_t row);
  void hide(size_t row);
  void raise(llvm::ArrayRef<std::pair<int64_t, size_t>> elements);
  mlir::Value addUp(size_t row);
  void writeRows(size_t first, size_t last);
  bool isPositive() const { return factorOfScale > 0; }

  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  nsatile::SoftmaxUpdateOp op;
  nsatile::SoftmaxOrder order;
  SoftmaxMath math;
  const nsatile::TileLayout &matrix;
  llvm::SmallVector<llvm::SmallVector<int64_t>> rows;
  /// A scale that is known; 0: it isn't, or isn't positive. A positive one can
  /// wait: the greatest stays the greatest.
  double factorOfScale = 0;
  mlir::Value scale, least, factor;
  llvm::SmallVector<mlir::Value> scores, probs, maxima, shifts, sums, decays;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_SOFTMAXUPDATE_H
