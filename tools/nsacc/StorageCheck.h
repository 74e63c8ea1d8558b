//===- StorageCheck.h - How far rounded storage moves results ---*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_STORAGECHECK_H
#define NSACC_TOOLS_NSACC_STORAGECHECK_H

#include "Check.h"

namespace nsacc {

/// Runs the kernel with stored values rounded to their types and without, and
/// holds the distance of the results against a bound. A block that is picked by
/// score may change in near ties; query rows that saw such a change are counted
/// and left out.
llvm::Error checkStorage(nsa::KernelOp kernel, llvm::ArrayRef<Tensor> inputs,
                         interpreter::Options options,
                         std::vector<CheckResult> &checks);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_STORAGECHECK_H
