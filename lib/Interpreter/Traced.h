//===- Traced.h - A run and all that was computed in it ---------*- C++ -*-===//

#ifndef NSACC_LIB_INTERPRETER_TRACED_H
#define NSACC_LIB_INTERPRETER_TRACED_H

#include "Context.h"
#include "nsacc/Interpreter/Interpreter.h"

namespace nsacc::interpreter {

struct TracedRun {
  /// With dimensions in the order of the kernel's types.
  std::vector<Tensor> results;
  /// With every tensor and selection on the way.
  Context context;
};

/// Results with dimensions as the program declares them.
std::vector<Tensor> toCallerOrder(nsa::KernelOp kernel,
                                  llvm::ArrayRef<Tensor> results);

/// Of the marked query rows, if any are: others come out as rows that see
/// nothing. See QueryRows for kernels that can do this.
llvm::Expected<TracedRun>
runTraced(nsa::KernelOp kernel, llvm::ArrayRef<Tensor> inputs,
          const Options &options, const std::vector<bool> *onlyRows = nullptr);

} // namespace nsacc::interpreter

#endif // NSACC_LIB_INTERPRETER_TRACED_H
