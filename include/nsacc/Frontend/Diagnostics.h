//===- Diagnostics.h - Diagnostics as data and as text ----------*- C++ -*-===//

#ifndef NSACC_FRONTEND_DIAGNOSTICS_H
#define NSACC_FRONTEND_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include <string>
#include <vector>

namespace llvm {
class SourceMgr;
class raw_ostream;
} // namespace llvm

namespace nsacc::frontend {

/// A diagnostic without MLIR's types, for packages, editors and printers.
struct DiagnosticData {
  enum class Severity { Error, Warning, Remark, Note };

  bool hasPlace() const { return line != 0; }

  Severity severity = Severity::Error;
  /// Empty, and `line` 0, if the place isn't known.
  std::string file;
  /// Count from 1; columns count bytes. The end is the first byte past the
  /// range.
  unsigned line = 0, column = 0, endLine = 0, endColumn = 0;
  std::string message;
  std::vector<DiagnosticData> notes;
};

/// "error", "warning", "remark", "note"
llvm::StringRef getName(DiagnosticData::Severity severity);

DiagnosticData toData(mlir::Diagnostic &diagnostic);

/// Prints `file:line:column: error: message`, the source line with a caret
/// under the range, and the notes. If `sources` lacks the file, no source line
/// is shown. Long lines are cut around the caret.
void print(const DiagnosticData &diagnostic, llvm::SourceMgr &sources,
           llvm::raw_ostream &os);

/// Collects the diagnostics that are reported on a context while the collector
/// lives.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext &context);

  /// Moves the diagnostics so far out of the collector.
  std::vector<DiagnosticData> take() { return std::move(diagnostics); }

private:
  std::vector<DiagnosticData> diagnostics;
  mlir::ScopedDiagnosticHandler handler;
};

/// Prints the diagnostics that are reported on a context while the printer
/// lives.
class DiagnosticPrinter {
public:
  DiagnosticPrinter(llvm::SourceMgr &sources, mlir::MLIRContext &context,
                    llvm::raw_ostream &os);

  unsigned getNumErrors() const { return errors; }
  unsigned getNumWarnings() const { return warnings; }

private:
  unsigned errors = 0, warnings = 0;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace nsacc::frontend

#endif // NSACC_FRONTEND_DIAGNOSTICS_H
