//===- CUDA.h - Tile programs as packages for GPUs --------------*- C++ -*-===//

#ifndef NSACC_TARGET_CUDA_CUDA_H
#define NSACC_TARGET_CUDA_CUDA_H

#include "mlir/IR/BuiltinOps.h"
#include "nsacc/GPU/Device.h"
#include "nsacc/RT/Package.h"
#include "nsacc/Support/Tasks.h"
#include "nsacc/Target/CUDA/Ptxas.h"
#include "nsacc/Tensor/Signature.h"
#include <functional>

namespace mlir {
class PassManager;
class TimingScope;
} // namespace mlir

namespace nsacc::nsatile {
class PlanOp;
} // namespace nsacc::nsatile

namespace nsacc::cuda {

struct Options {
  explicit Options(gpu::Device device) : device(std::move(device)) {}

  /// The GPU that code is made for.
  gpu::Device device;
  /// Make machine code, too, if ptxas is found: among these, on the PATH, or in
  /// its usual place.
  bool assemble = true;
  /// If ptxas can't be asked, leave machine code out and say why in the report;
  /// if false, that is an error.
  bool mayLackMachineCode = false;
  std::vector<std::string> ptxas;
  /// Put all kernels into one image, instead of one image each.
  bool isOneImage = false;
  /// Receives the reports of ptxas on the kernels; may be null.
  AssemblerReport *report = nullptr;
  /// Names of dimensions, and sizes to check; may be null.
  const Signature *signature = nullptr;
  /// Counts the time of the phases; may be null.
  mlir::TimingScope *timing = nullptr;
  /// Called with the lowering's pass manager before it runs; may be empty.
  std::function<void(mlir::PassManager &, mlir::ModuleOp)> preparePasses;
};

/// Fails with NoRoomError if shared memory is too small for a program's tiles;
/// also fails if the module can't be lowered. Doesn't change the module.
llvm::Error checkRoom(mlir::ModuleOp module, const Options &options);

/// The package of a plan whose programs were lowered, without images. Problems
/// are reported as diagnostics.
mlir::FailureOr<rt::Package> packPlan(nsatile::PlanOp plan,
                                      const Options &options);

/// A package whose kernels are being compiled.
class Compilation {
public:
  /// Lowers the only plan of a module, without changing the module. Then
  /// compiles its kernels on `threads`, each to PTX and, if ptxas is there,
  /// machine code. Objects that the options point to must outlive this one.
  static llvm::Expected<std::unique_ptr<Compilation>>
  start(mlir::ModuleOp module, const Options &options,
        CompilerThreads &threads);
  virtual ~Compilation() = default;

  /// Waits for the kernels. Call it once. Fails with the first kernel's error,
  /// in the order of the program.
  virtual llvm::Expected<rt::Package> finish() = 0;
};

/// Registers --nsatile-plan-to-json with mlir-translate.
void registerTranslations();

} // namespace nsacc::cuda

#endif // NSACC_TARGET_CUDA_CUDA_H
