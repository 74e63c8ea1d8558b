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
  /// The most threads that compile programs at the same time; 0: one for each
  /// core.
  unsigned threads = 0;
  /// Counts the time of the phases; may be null.
  mlir::TimingScope *timing = nullptr;
  /// Called with the lowering's pass manager before it runs; may be empty.
  std::function<void(mlir::PassManager &, mlir::ModuleOp)> preparePasses;
};

using RunOptions = rt::HostOptions;
using Usage = rt::HostUsage;

/// Compiled programs and their plan. Runs may overlap.
class Executable {
public:
  /// Inputs, then results, which programs write to.
  llvm::ArrayRef<rt::Parameter> getParameters() const {
    return module.getPackage().parameters;
  }
  /// The most stack that one program takes.
  int64_t getScratchBytes() const {
    return module.getPackage().variants.front().targets.front().stackBytes;
  }
  /// Runs the plan on inputs and results in the order of its parameters. The
  /// results don't depend on the number of threads. An interrupted run fails.
  llvm::Error run(llvm::ArrayRef<Tensor> tensors,
                  const RunOptions &options = {}, Usage *usage = nullptr) const;

private:
  friend llvm::Expected<std::unique_ptr<Executable>> load(rt::Package package);

  explicit Executable(rt::Package package) : module(std::move(package)) {}

  mutable rt::HostModule module;
};

/// Loads code for this process's processor, from `compileToPackage` or a file.
llvm::Expected<std::unique_ptr<Executable>> load(rt::Package package);

/// Compiles a module of programs and a plan to a package of one variant.
/// Doesn't change the module. Problems of the module are also reported as
/// diagnostics.
llvm::Expected<rt::Package> compileToPackage(mlir::ModuleOp module,
                                             const Options &options);

/// Writes the code as assembly, for people to read.
llvm::Expected<std::string> compileToAssembly(mlir::ModuleOp module,
                                              const Options &options);

/// Compiles a module and loads the package.
llvm::Expected<std::unique_ptr<Executable>> compile(mlir::ModuleOp module,
                                                    const Options &options);

/// The levels of processors that packages have code for, the best one first.
llvm::ArrayRef<llvm::StringLiteral> getPackageLevels();
/// Whether the options name a level; other processes can look up such code.
bool isLevel(const Options &options);

/// The processor's properties that code of these options depends on: the
/// processor and the stack of its threads.
std::string describeProcessor(const Options &options);

/// Fails with NoRoomError if the stack is too small for a program's tiles; also
/// fails if the tiles can't be vectors. Doesn't change the module.
llvm::Error checkRoom(mlir::ModuleOp module, const Options &options);

/// Registers the dialects and interfaces that lowering to LLVM needs.
void registerLowering(mlir::DialectRegistry &registry);
/// Lowers tile programs to vectors of `vectorBits`, with their tiles on the
/// stack.
void buildVectorPipeline(mlir::OpPassManager &passes, unsigned vectorBits);
/// Lowers tile programs to the LLVM dialect, for vectors of `vectorBits`.
void buildLoweringPipeline(mlir::OpPassManager &passes, unsigned vectorBits);
/// Registers the lowering as the pipeline `nsacc-cpu-lowering`.
void registerLoweringPipeline();

} // namespace nsacc::cpu

#endif // NSACC_TARGET_CPU_CPU_H
