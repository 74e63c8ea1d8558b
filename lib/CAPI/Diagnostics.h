//===- Diagnostics.h - Diagnostics of a compilation as data -----*- C++ -*-===//

#ifndef NSACC_LIB_CAPI_DIAGNOSTICS_H
#define NSACC_LIB_CAPI_DIAGNOSTICS_H

#include "Error.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MemoryBufferRef.h"

namespace nsacc::capi {

/// Collects what is reported on `context` while it lives.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext *context);

  /// The diagnostics so far, which leave the collector.
  std::vector<nsacc_diagnostic> take() { return std::move(diagnostics); }

private:
  std::vector<nsacc_diagnostic> diagnostics;
  mlir::ScopedDiagnosticHandler handler;
};

/// An error made of diagnostics of which at least one is an error. `source` is
/// the program.
Failure fail(nsacc_error_kind kind, std::vector<nsacc_diagnostic> diagnostics,
             llvm::MemoryBufferRef source);

} // namespace nsacc::capi

#endif // NSACC_LIB_CAPI_DIAGNOSTICS_H
