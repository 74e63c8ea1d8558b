//===- StorageCheck.h - Effect of rounded storage on results ----*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_STORAGECHECK_H
#define NSACC_TOOLS_NSACC_STORAGECHECK_H

#include "Check.h"

namespace nsacc {

/// Runs the kernel with stored values rounded to their types and without, and
/// compares the difference of the results with a bound. A near tie of scores
/// may change which block is picked; query rows with such a change are counted
/// and left out.
llvm::Error checkStorage(nsa::KernelOp kernel, llvm::ArrayRef<Tensor> inputs,
                         interpreter::Options options,
                         std::vector<CheckResult> &checks);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_STORAGECHECK_H
