//===- CompareCheck.h - Compiled programs against the oracle ----*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_COMPARECHECK_H
#define NSACC_TOOLS_NSACC_COMPARECHECK_H

#include "Check.h"
#include "nsacc/Driver/CompiledProgram.h"

namespace nsacc {

struct CompareChecks {
  std::vector<CheckResult> checks;
  /// Operations of q·k and p·v over visible pairs, counted by the oracle.
  int64_t usefulOperations = 0;
};

/// Checks a compiled run: that results have the same bits on another number of
/// threads, that finite inputs give no NaN, and that the errors of results
/// against the oracle's are within the bounds of docs/Numerics.md.
llvm::Expected<CompareChecks> checkCompiled(nsa::KernelOp kernel,
                                            const CompiledProgram &program,
                                            const RunOptions &options,
                                            llvm::ArrayRef<Tensor> inputs,
                                            llvm::ArrayRef<Tensor> results);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_COMPARECHECK_H
