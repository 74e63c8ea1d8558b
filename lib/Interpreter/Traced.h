//===- Traced.h - A run with all its values ---------------------*- C++ -*-===//

#ifndef NSACC_LIB_INTERPRETER_TRACED_H
#define NSACC_LIB_INTERPRETER_TRACED_H

#include "Context.h"
#include "nsacc/Interpreter/Interpreter.h"

namespace nsacc::interpreter {

struct TracedRun {
  /// Dimensions are in the order of the kernel's types.
  std::vector<Tensor> results;
  /// Has every tensor and selection that was computed.
  Context context;
};

/// Results with dimensions in the program's order.
std::vector<Tensor> toCallerOrder(nsa::KernelOp kernel,
                                  llvm::ArrayRef<Tensor> results);

/// Computes only the marked query rows, if any are marked: other rows are
/// computed as rows that see nothing. See QueryRows for kernels that allow
/// this.
llvm::Expected<TracedRun>
runTraced(nsa::KernelOp kernel, llvm::ArrayRef<Tensor> inputs,
          const Options &options, const std::vector<bool> *onlyRows = nullptr);

} // namespace nsacc::interpreter

#endif // NSACC_LIB_INTERPRETER_TRACED_H
