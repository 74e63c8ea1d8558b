//===- Jit.h - From the LLVM dialect to machine code ------------*- C++ -*-===//

#ifndef NSACC_LIB_TARGET_CPU_JIT_H
#define NSACC_LIB_TARGET_CPU_JIT_H

#include "Processor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/Timing.h"
#include <memory>

namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace nsacc::cpu {

/// A compiled program: its arguments, each in a slot of 8 bytes, and the point
/// of the grid.
using ProgramFunction = void (*)(const uint64_t *slots, int64_t x, int64_t y,
                                 int64_t z);

/// Machine code of a module's functions.
class Jit {
public:
  /// Compiles functions side by side, on so many threads at most; 0: on one for
  /// each core.
  static llvm::Expected<std::unique_ptr<Jit>>
  compile(mlir::ModuleOp module, const Processor &processor, unsigned threads,
          mlir::TimingScope &timing);
  ~Jit();

  llvm::Expected<ProgramFunction> lookup(llvm::StringRef program);

private:
  explicit Jit(std::unique_ptr<llvm::orc::LLJIT> jit);

  std::unique_ptr<llvm::orc::LLJIT> jit;
};

} // namespace nsacc::cpu

#endif // NSACC_LIB_TARGET_CPU_JIT_H
