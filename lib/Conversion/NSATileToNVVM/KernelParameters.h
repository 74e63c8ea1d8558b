//===- KernelParameters.h - Parameters of a kernel --------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_KERNELPARAMETERS_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_KERNELPARAMETERS_H

#include "Kernel.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/SetVector.h"

namespace nsacc {

/// A kernel's parameters: the program's arguments, taken apart, and behind them
/// further parameters that the host passes.
class KernelParameters {
public:
  explicit KernelParameters(nsatile::ProgramOp program);

  /// Maps the program's arguments to `values`, the kernel's arguments.
  void map(Kernel &kernel, mlir::ValueRange values);
  /// Bytes that the parameters take.
  int64_t countBytes() const;
  /// Sets attributes that say how memory of arguments is used.
  void setAttributes(mlir::LLVM::LLVMFuncOp function);
  /// Descriptions for the launch of parameters that aren't arguments of the
  /// program.
  mlir::ArrayAttr getHostParameters();

  llvm::SmallVector<mlir::Type> types;
  /// Whether the program marks rows for a later one, or computes marked rows
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
