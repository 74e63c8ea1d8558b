//===- CPU.h - Compiles and runs tile programs on this machine --*- C++ -*-===//

#ifndef NSACC_TARGET_CPU_CPU_H
#define NSACC_TARGET_CPU_CPU_H

#include "mlir/IR/BuiltinOps.h"
#include "nsacc/RT/Plan.h"
#include "nsacc/Tensor/Tensor.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
class OpPassManager;
class PassManager;
class TimingScope;
} // namespace mlir

namespace nsacc::cpu {

struct Options {
  /// Name of the processor to compile for; empty: this one.
  std::string cpu;
  /// Features on top of the processor's, "+avx2,-avx512f".
  std::string features;
  /// The plan to compile; empty: the module's only one.
  std::string plan;
  /// Threads that compile programs side by side, at most; 0: one for each core.
  unsigned threads = 0;
  /// Where the time of the phases is counted; may be null.
  mlir::TimingScope *timing = nullptr;
  /// Called with the lowering's pass manager before it runs; may be empty.
  std::function<void(mlir::PassManager &, mlir::ModuleOp)> preparePasses;
};

struct RunOptions {
  /// Threads of a run; 0: as many as the machine has cores.
  unsigned threads = 0;
  /// Asked now and then by the calling thread; a run that is interrupted fails
  /// and leaves results half written. May be empty.
  std::function<bool()> isInterrupted = {};
};

/// Processor time of one launch, of all threads of the process.
struct LaunchTime {
  std::string program;
  double seconds;
};

/// What one run took beyond inputs and results.
struct Usage {
  int64_t peakWorkspaceBytes = 0;
  int64_t launches = 0;
  int64_t programs = 0;
  std::vector<LaunchTime> times;
};

/// Compiled programs and their plan. Runs may overlap.
class Executable {
public:
  virtual ~Executable() = default;

  /// Inputs, then results: what programs write to.
  virtual llvm::ArrayRef<rt::Parameter> getParameters() const = 0;
  /// Stack that one program takes at most.
  virtual int64_t getScratchBytes() const = 0;
  /// Runs the plan on inputs and results in the order of its parameters. What
  /// it computes doesn't depend on the number of threads.
  virtual llvm::Error run(llvm::ArrayRef<Tensor> tensors,
                          const RunOptions &options = {},
                          Usage *usage = nullptr) const = 0;
};

/// Compiles a module of programs and a plan, and leaves it as it is. What is
/// wrong with the module is told by diagnostics, too.
llvm::Expected<std::unique_ptr<Executable>> compile(mlir::ModuleOp module,
                                                    const Options &options);

/// Fails with NoRoomError where the stack is too small for a program's tiles,
/// and where these can't be vectors. Leaves the module as it is.
llvm::Error checkRoom(mlir::ModuleOp module, const Options &options);

/// Registers what lowering to LLVM needs with a context's registry.
void registerLowering(mlir::DialectRegistry &registry);
/// Tile programs to vectors of `vectorBits`, and what of them is on the stack.
void buildVectorPipeline(mlir::OpPassManager &passes, unsigned vectorBits);
/// Tile programs to the LLVM dialect, for vectors of `vectorBits`.
void buildLoweringPipeline(mlir::OpPassManager &passes, unsigned vectorBits);
/// The same, as the pipeline `nsacc-cpu-lowering`.
void registerLoweringPipeline();

} // namespace nsacc::cpu

#endif // NSACC_TARGET_CPU_CPU_H
