//===- KernelWork.h - Work of kernels, whatever their schedules -*- C++ -*-===//

#ifndef NSACC_LIB_TUNING_KERNELWORK_H
#define NSACC_LIB_TUNING_KERNELWORK_H

#include "nsacc/Tuning/Model.h"

namespace nsacc::tuning {

struct OpWork {
  Work work;
  /// Fraction of the op's keys and values that some query sees.
  double seenKeys = 1;
};

struct KernelWork {
  std::vector<OpWork> ops;
  /// Work of the whole kernel: its inputs are read and its results written
  /// once, and no other bytes count.
  Work all;
};

/// Counts the work of these ops of a kernel from its formulas alone. About
/// `budget` queries or pairs of each op are examined one by one.
KernelWork countWork(nsa::KernelOp kernel,
                     llvm::ArrayRef<mlir::Operation *> ops,
                     const CallSizes &sizes, int64_t budget);

} // namespace nsacc::tuning

#endif // NSACC_LIB_TUNING_KERNELWORK_H
