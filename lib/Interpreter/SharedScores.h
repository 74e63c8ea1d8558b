//===- SharedScores.h - Scores of rows that share a selection ---*- C++ -*-===//

#ifndef NSACC_LIB_INTERPRETER_SHAREDSCORES_H
#define NSACC_LIB_INTERPRETER_SHAREDSCORES_H

#include "Context.h"
#include "NSA/IR/NSAOps.h"

namespace nsacc::interpreter {

/// Packed query rows [begin, end) and `numHeads` heads from `firstHead` on,
/// which share a selection.
struct SharingGroup {
  int64_t begin, end, firstHead, numHeads;
};

/// Visits all groups of `op` with their scores in two runs of the kernel: the
/// importance of each block, reduced over the rows and heads that share.
void compareSharedScores(
    nsa::TopKOp op, const Context &one, const Context &other,
    llvm::function_ref<void(const SharingGroup &, llvm::ArrayRef<double>,
                            llvm::ArrayRef<double>)>
        visit);

} // namespace nsacc::interpreter

#endif // NSACC_LIB_INTERPRETER_SHAREDSCORES_H
