//===- SoftmaxUpdate.h - A step of the streaming softmax --------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_SOFTMAXUPDATE_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_SOFTMAXUPDATE_H

#include "Kernel.h"
#include "SoftmaxMath.h"

namespace nsacc {

/// Writes one step. Rows are numbered by the registers of the maxima.
class SoftmaxUpdate {
public:
  SoftmaxUpdate(Kernel &kernel, nsatile::SoftmaxUpdateOp op);
  void write();

private:
  mlir::Value getGreatest(llvm::ArrayRef<int64_t> members);
  /// Computes the new maximum, shift of exponents and decay of a row.
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
  /// The scale if it is a known positive constant, else 0. Scaling by a
  /// positive constant can wait: the greatest score stays the greatest.
  double factorOfScale = 0;
  mlir::Value scale, least, factor;
  llvm::SmallVector<mlir::Value> scores, probs, maxima, shifts, sums, decays;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_SOFTMAXUPDATE_H
