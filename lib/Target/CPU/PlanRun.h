//===- PlanRun.h - Runs a plan in host memory -------------------*- C++ -*-===//

#ifndef NSACC_LIB_TARGET_CPU_PLANRUN_H
#define NSACC_LIB_TARGET_CPU_PLANRUN_H

#include "nsacc/RT/Plan.h"
#include "nsacc/Target/CPU/CPU.h"

namespace nsacc::cpu {

/// A strided buffer at run time.
struct Buffer {
  char *data = nullptr;
  llvm::SmallVector<int64_t, 4> sizes, strides;
};

/// One run of a plan. Workspaces have memory while launches use them.
class PlanRun {
public:
  /// Runs launch `index` at every point of a grid, with its arguments in slots.
  /// False where it was interrupted.
  using Launcher =
      llvm::function_ref<bool(size_t index, llvm::ArrayRef<int64_t> grid,
                              llvm::ArrayRef<uint64_t> slots)>;

  PlanRun(const rt::Plan &plan, std::vector<Buffer> arguments);
  ~PlanRun();
  llvm::Error run(Launcher launch, Usage &usage);

private:
  llvm::Error computeNumbers();
  llvm::Error runLaunch(size_t index, Launcher launch, Usage &usage);
  llvm::Error allocate(size_t workspace, Usage &usage);
  void release(size_t workspace);
  llvm::SmallVector<uint64_t> getSlots(const rt::Launch &launch) const;

  const rt::Plan &plan;
  size_t numArguments;
  std::vector<const int64_t *> sizes; ///< of arguments
  std::vector<int64_t> numbers;
  std::vector<Buffer> buffers; ///< arguments, then workspaces
  /// Of each workspace that has memory; else 0.
  std::vector<int64_t> bytes;
  int64_t allBytes = 0;
};

} // namespace nsacc::cpu

#endif // NSACC_LIB_TARGET_CPU_PLANRUN_H
