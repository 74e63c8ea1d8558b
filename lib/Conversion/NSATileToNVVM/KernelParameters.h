//===- KernelParameters.h - Parameters of a kernel --------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_KERNELPARAMETERS_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_KERNELPARAMETERS_H

#include "Kernel.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/SetVector.h"

namespace nsacc {

/// Those of a program's arguments, taken apart, and behind them what else the
/// host gives.
class KernelParameters {
public:
  explicit KernelParameters(nsatile::ProgramOp program);

  /// `values` are the kernel's arguments.
  void map(Kernel &kernel, mlir::ValueRange values);
  /// What they take.
  int64_t countBytes() const;
  /// How memory that arguments point to is used.
  void setAttributes(mlir::LLVM::LLVMFuncOp function);
  /// Of the launch, for what isn't one of the program's arguments.
  mlir::ArrayAttr getHostParameters();

  llvm::SmallVector<mlir::Type> types;
  /// The program marks rows for a later one, or is the one that computes them
  /// again.
  bool raises = false, repairs = false;

private:
  void addHostParameters();

  nsatile::ProgramOp program;
  /// Parameters that are buffers which the kernel doesn't write.
  llvm::SmallVector<unsigned> readOnly;
  bool hasAssertions = false, hasCounter = false, hasRaised = false,
       hasFirstZ = false;
  llvm::SetVector<nsatile::TensorMapAttr> tensorMaps;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_KERNELPARAMETERS_H
