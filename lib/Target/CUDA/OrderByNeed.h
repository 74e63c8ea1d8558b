//===- OrderByNeed.h - Order of long straight code --------------*- C++ -*-===//

#ifndef NSACC_TARGET_CUDA_ORDERBYNEED_H
#define NSACC_TARGET_CUDA_ORDERBYNEED_H

#include "llvm/IR/Analysis.h"
#include "llvm/IR/PassManager.h"

namespace nsacc::cuda {

/// Formulas are written out for all of a thread's elements in parallel. If that
/// is long, this pass puts one element after the other, and terms directly
/// before the sums that use them: thousands of live values are more than ptxas
/// has registers for, and it takes minutes to find that out.
struct OrderByNeedPass : llvm::PassInfoMixin<OrderByNeedPass> {
  /// Shorter code keeps its order: ptxas schedules it well.
  static constexpr size_t kLong = 6000;

  llvm::PreservedAnalyses run(llvm::Function &function,
                              llvm::FunctionAnalysisManager &manager);
};

/// The longest sequence of instructions without effects.
size_t getLongestRun(llvm::Module &module);

} // namespace nsacc::cuda

#endif // NSACC_TARGET_CUDA_ORDERBYNEED_H
