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

/// A diagnostic without MLIR: what packages, editors and printers need.
struct DiagnosticData {
  enum class Severity { Error, Warning, Remark, Note };

  bool hasPlace() const { return line != 0; }

  Severity severity = Severity::Error;
  /// Empty, and `line` 0, where the place isn't known.
  std::string file;
  /// From 1; columns count bytes. The end is the first byte behind the range.
  unsigned line = 0, column = 0, endLine = 0, endColumn = 0;
  std::string message;
  std::vector<DiagnosticData> notes;
};

/// "error", "warning", "remark", "note"
llvm::StringRef getName(DiagnosticData::Severity severity);

DiagnosticData toData(mlir::Diagnostic &diagnostic);

/// Prints `file:line:column: error: message`, the source line with a caret
/// under the range, and the notes. `sources` may lack the file: then no line is
/// shown. Long lines are cut around the caret.
void print(const DiagnosticData &diagnostic, llvm::SourceMgr &sources,
           llvm::raw_ostream &os);

/// Keeps what is reported on a context while it lives.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext &context);

  /// The diagnostics so far, which leave the collector.
  std::vector<DiagnosticData> take() { return std::move(diagnostics); }

private:
  std::vector<DiagnosticData> diagnostics;
  mlir::ScopedDiagnosticHandler handler;
};

/// Prints what is reported on a context while it lives.
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
