//===- Interpreter.h - Interpreter of nsa programs --------------*- C++ -*-===//

#ifndef NSACC_INTERPRETER_INTERPRETER_H
#define NSACC_INTERPRETER_INTERPRETER_H

#include "nsacc/Tensor/Tensor.h"
#include "llvm/Support/Error.h"
#include <atomic>
#include <optional>
#include <vector>

namespace nsacc::nsa {
class KernelOp;
} // namespace nsacc::nsa

namespace nsacc::interpreter {

struct Options {
  /// Round values that a compiled program stores (pooled keys, results of
  /// 16-bit type) to their element type. If false, only results are rounded,
  /// when they are written.
  bool roundStorage = false;
  /// Threads over rows; 0: as many as the machine has.
  unsigned threads = 0;
  /// Compute as a simple program in f32 does, operation by operation, and round
  /// each result up or down at random from this seed. This shows the effect of
  /// rounding on the formula. Used with roundStorage.
  std::optional<uint64_t> eagerSeed = std::nullopt;
  /// Give results as f64 instead of their declared real types.
  bool keepF64 = false;
  /// Counts the operations of q·k and p·v over visible pairs; may be null.
  std::atomic<int64_t> *usefulOperations = nullptr;
};

/// Runs a kernel in fp64 on inputs in the order of its arguments. Fails with a
/// message in the program's names if the inputs don't fit it or break a rule of
/// docs/spec.md at run time.
llvm::Expected<std::vector<Tensor>> run(nsa::KernelOp kernel,
                                        llvm::ArrayRef<Tensor> inputs,
                                        const Options &options = {});

} // namespace nsacc::interpreter

#endif // NSACC_INTERPRETER_INTERPRETER_H
