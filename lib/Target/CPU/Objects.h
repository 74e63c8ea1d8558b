//===- Objects.h - From the LLVM dialect to machine code --------*- C++ -*-===//

#ifndef NSACC_LIB_TARGET_CPU_OBJECTS_H
#define NSACC_LIB_TARGET_CPU_OBJECTS_H

#include "Processor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class Module;
} // namespace llvm

namespace nsacc::cpu {

/// Relocatable machine code.
using Object = std::unique_ptr<llvm::MemoryBuffer>;

/// Suffix of a function's name; the resulting symbol is its rt::HostFunction.
inline constexpr char kEntrySuffix[] = "__entry";

/// Code of a module's functions, which don't call each other, each with an
/// entry, rt::HostFunction. Functions are compiled in parallel, on at most
/// `threads` threads; 0: one for each core.
llvm::Expected<std::vector<Object>> compileObjects(mlir::ModuleOp source,
                                                   const Processor &processor,
                                                   unsigned threads,
                                                   mlir::TimingScope &timing);

/// Writes that code as assembly, in one piece.
llvm::Expected<std::string> writeAssembly(mlir::ModuleOp source,
                                          const Processor &processor,
                                          mlir::TimingScope &timing);

/// Compiles a module unchanged.
llvm::Expected<Object> compileModule(llvm::Module &module,
                                     const Processor &processor);

} // namespace nsacc::cpu

#endif // NSACC_LIB_TARGET_CPU_OBJECTS_H
