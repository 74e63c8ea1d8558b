//===- OrderByNeed.h - Long code with few values at a time ------*- C++ -*-===//

#ifndef NSACC_TARGET_CUDA_ORDERBYNEED_H
#define NSACC_TARGET_CUDA_ORDERBYNEED_H

#include "llvm/IR/Analysis.h"
#include "llvm/IR/PassManager.h"

namespace nsacc::cuda {

/// Formulas are written out for all of a thread's elements side by side. Where
/// that is long, elements are put one behind the other, and terms in front of
/// what adds them up: thousands of values at a time are more than ptxas has
/// registers for, and it takes minutes to find that out.
struct OrderByNeedPass : llvm::PassInfoMixin<OrderByNeedPass> {
  /// Shorter code is left in its order: ptxas makes the best of it.
  static constexpr size_t kLong = 6000;

  llvm::PreservedAnalyses run(llvm::Function &function,
                              llvm::FunctionAnalysisManager &manager);
};

/// Instructions one after the other, none of which has an effect.
size_t getLongestRun(llvm::Module &module);

} // namespace nsacc::cuda

#endif // NSACC_TARGET_CUDA_ORDERBYNEED_H
