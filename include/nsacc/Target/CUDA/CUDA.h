//===- CUDA.h - Tile programs as packages for GPUs --------------*- C++ -*-===//

#ifndef NSACC_TARGET_CUDA_CUDA_H
#define NSACC_TARGET_CUDA_CUDA_H

#include "mlir/IR/BuiltinOps.h"
#include "nsacc/GPU/Device.h"
#include "nsacc/RT/Package.h"
#include "nsacc/Runtime/Signature.h"
#include "nsacc/Target/CUDA/Ptxas.h"
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
  std::vector<std::string> ptxas;
  /// What ptxas says of the kernels; may be null.
  AssemblerReport *report = nullptr;
  /// Names of dimensions, and sizes to check; may be null.
  const Signature *signature = nullptr;
  /// Where the time of the phases is counted; may be null.
  mlir::TimingScope *timing = nullptr;
  /// Called with the lowering's pass manager before it runs; may be empty.
  std::function<void(mlir::PassManager &, mlir::ModuleOp)> preparePasses;
};

/// Lowers a module behind phase `tile` to PTX with a kernel for each program.
/// What a package needs to know beside it stays in the module: plans, on each
/// program `nsatile.kernel`, and `nsacc.requirements` on the module, as
/// convert-nsatile-to-vector has it.
llvm::Expected<std::string> compileToPTX(mlir::ModuleOp module,
                                         const Options &options);

/// What a package says of a plan whose programs were lowered, without images.
/// What can't be packed is told by diagnostics.
mlir::FailureOr<rt::Package> packPlan(nsatile::PlanOp plan,
                                      const Options &options);

/// The only plan of a module, lowered, with PTX and, if ptxas is there, machine
/// code. The module is left as it is.
llvm::Expected<rt::Package> compile(mlir::ModuleOp module,
                                    const Options &options);

/// Registers --nsatile-plan-to-json with mlir-translate.
void registerTranslations();

} // namespace nsacc::cuda

#endif // NSACC_TARGET_CUDA_CUDA_H
