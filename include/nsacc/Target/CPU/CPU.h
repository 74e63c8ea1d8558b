//===- CPU.h - Compiles and runs tile programs on this machine --*- C++ -*-===//

#ifndef NSACC_TARGET_CPU_CPU_H
#define NSACC_TARGET_CPU_CPU_H

#include "mlir/IR/BuiltinOps.h"
#include "nsacc/RT/Host.h"
#include "nsacc/Tensor/Signature.h"
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
  /// Names of dimensions, and sizes to check; may be null.
  const Signature *signature = nullptr;
  /// Threads that compile programs side by side, at most; 0: one for each core.
  unsigned threads = 0;
  /// Where the time of the phases is counted; may be null.
  mlir::TimingScope *timing = nullptr;
  /// Called with the lowering's pass manager before it runs; may be empty.
  std::function<void(mlir::PassManager &, mlir::ModuleOp)> preparePasses;
};

using RunOptions = rt::HostOptions;
using Usage = rt::HostUsage;

/// Compiled programs and their plan. Runs may overlap.
class Executable {
public:
  /// Inputs, then results: what programs write to.
  llvm::ArrayRef<rt::Parameter> getParameters() const {
    return module.getPackage().parameters;
  }
  /// Stack that one program takes at most.
  int64_t getScratchBytes() const {
    return module.getPackage().variants.front().targets.front().stackBytes;
  }
  /// Runs the plan on inputs and results in the order of its parameters. What
  /// it computes doesn't depend on the number of threads. A run that is
  /// interrupted fails.
  llvm::Error run(llvm::ArrayRef<Tensor> tensors,
                  const RunOptions &options = {}, Usage *usage = nullptr) const;

private:
  friend llvm::Expected<std::unique_ptr<Executable>> load(rt::Package package);

  explicit Executable(rt::Package package) : module(std::move(package)) {}

  mutable rt::HostModule module;
};

/// Code of this process's processor, of `compileToPackage` or of a file.
llvm::Expected<std::unique_ptr<Executable>> load(rt::Package package);

/// Compiles a module of programs and a plan to a package of one variant, and
/// leaves it as it is. What is wrong with the module is told by diagnostics,
/// too.
llvm::Expected<rt::Package> compileToPackage(mlir::ModuleOp module,
                                             const Options &options);

/// Writes that code as assembly, for people to read.
llvm::Expected<std::string> compileToAssembly(mlir::ModuleOp module,
                                              const Options &options);

/// The package of a module, loaded.
llvm::Expected<std::unique_ptr<Executable>> compile(mlir::ModuleOp module,
                                                    const Options &options);

/// The levels of processors that packages have code for, the best first.
llvm::ArrayRef<llvm::StringLiteral> getPackageLevels();
/// Whether the options are those of a level, whose code others can look for.
bool isLevel(const Options &options);

/// What code of these options depends on beside the program: the processor and
/// the stack of its threads.
std::string describeProcessor(const Options &options);

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
