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

  /// What code is made for.
  gpu::Device device;
  /// Machine code, too, where ptxas is found: among these, on the PATH, or in
  /// the usual place.
  bool assemble = true;
  /// Where ptxas can't be asked, there is no machine code, and the report says
  /// why; otherwise that is an error.
  bool mayLackMachineCode = false;
  std::vector<std::string> ptxas;
  /// All kernels stand in one image, not each in its own.
  bool isOneImage = false;
  /// What ptxas says of the kernels; may be null.
  AssemblerReport *report = nullptr;
  /// Names of dimensions, and sizes to check; may be null.
  const Signature *signature = nullptr;
  /// Where the time of the phases is counted; may be null.
  mlir::TimingScope *timing = nullptr;
  /// Called with the lowering's pass manager before it runs; may be empty.
  std::function<void(mlir::PassManager &, mlir::ModuleOp)> preparePasses;
};

/// Fails with NoRoomError where shared memory is too small for a program's
/// tiles, and where the module can't be lowered. Leaves it as it is.
llvm::Error checkRoom(mlir::ModuleOp module, const Options &options);

/// What a package says of a plan whose programs were lowered, without images.
/// What can't be packed is told by diagnostics.
mlir::FailureOr<rt::Package> packPlan(nsatile::PlanOp plan,
                                      const Options &options);

/// A package whose kernels are being compiled.
class Compilation {
public:
  /// Lowers the only plan of a module, which is left as it is. From there its
  /// kernels are compiled on `threads`, each to PTX and, if ptxas is there,
  /// machine code. What the options point to lives as long as this.
  static llvm::Expected<std::unique_ptr<Compilation>>
  start(mlir::ModuleOp module, const Options &options,
        CompilerThreads &threads);
  virtual ~Compilation() = default;

  /// Waits for them. To be called once. Fails with the first kernel's error, in
  /// the order of the program.
  virtual llvm::Expected<rt::Package> finish() = 0;
};

/// Registers --nsatile-plan-to-json with mlir-translate.
void registerTranslations();

} // namespace nsacc::cuda

#endif // NSACC_TARGET_CUDA_CUDA_H
