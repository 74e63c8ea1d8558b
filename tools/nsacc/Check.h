//===- Check.h - The checks of `nsacc run --check` --------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_CHECK_H
#define NSACC_TOOLS_NSACC_CHECK_H

#include "NSA/IR/NSAOps.h"
#include "nsacc/Interpreter/Interpreter.h"
#include "nsacc/Tensor/Signature.h"

namespace nsacc {

/// One thing that was checked.
struct CheckResult {
  enum class Verdict {
    Pass,
    Fail,
    Report ///< reported, not judged
  };
  std::string name;
  Verdict verdict = Verdict::Pass;
  std::string detail;
};

llvm::StringRef getName(CheckResult::Verdict verdict);

/// Whether finite inputs gave no NaN, or NaN only at elements where the exact
/// results, if given, are NaN.
CheckResult checkNaN(const Signature &signature, llvm::ArrayRef<Tensor> inputs,
                     llvm::ArrayRef<Tensor> results,
                     llvm::ArrayRef<Tensor> exact = {});

/// Checks a run of the oracle against other runs of it: that results have the
/// same bits on another number of threads, that finite inputs give no NaN, and
/// the error of results when every stored value is rounded to its type.
llvm::Expected<std::vector<CheckResult>>
checkOracle(nsa::KernelOp kernel, const Signature &signature,
            llvm::ArrayRef<Tensor> inputs, llvm::ArrayRef<Tensor> results,
            const interpreter::Options &options);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_CHECK_H
