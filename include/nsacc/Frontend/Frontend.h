//===- Frontend.h - From program text to the nsa dialect --------*- C++ -*-===//

#ifndef NSACC_FRONTEND_FRONTEND_H
#define NSACC_FRONTEND_FRONTEND_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <string>

namespace mlir {
class MLIRContext;
class ModuleOp;
template <typename OpTy> class OwningOpRef;
} // namespace mlir

namespace nsacc::frontend {

struct Options {
  /// Values of compile-time parameters by name, as the user wrote them.
  llvm::StringMap<std::string> params;
  /// Storage type of tensors without one: "bf16", "f16" or "f32".
  std::string dtype = "bf16";
  /// The kernel to generate; empty: every kernel of the file. Parameters must
  /// then be known to each of them.
  std::string kernel;
};

/// Parses and checks a program and generates its verified module. Every problem
/// is an MLIR diagnostic whose location is a FileLineColLoc (or a range) of the
/// buffer's identifier, with notes that say how to fix it; one call reports
/// several. Warnings are diagnostics, too. Null on error. Loads the dialects
/// that it needs into `context`.
mlir::OwningOpRef<mlir::ModuleOp> compile(llvm::MemoryBufferRef source,
                                          const Options &options,
                                          mlir::MLIRContext &context);

} // namespace nsacc::frontend

#endif // NSACC_FRONTEND_FRONTEND_H
