//===- Diagnostics.cpp - Diagnostics of a compilation as data -------------===//

#include "Diagnostics.h"
#include "Render.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/STLExtras.h"

using namespace nsacc::capi;

static nsacc_severity toC(mlir::DiagnosticSeverity severity) {
  switch (severity) {
  case mlir::DiagnosticSeverity::Error:
    return NSACC_SEVERITY_ERROR;
  case mlir::DiagnosticSeverity::Warning:
    return NSACC_SEVERITY_WARNING;
  case mlir::DiagnosticSeverity::Remark:
    return NSACC_SEVERITY_REMARK;
  case mlir::DiagnosticSeverity::Note:
    return NSACC_SEVERITY_NOTE;
  }
  return NSACC_SEVERITY_ERROR;
}

static nsacc_diagnostic toC(mlir::Diagnostic &diagnostic) {
  nsacc_diagnostic result;
  result.severity = toC(diagnostic.getSeverity());
  result.message = diagnostic.str();
  if (auto range =
          diagnostic.getLocation()->findInstanceOf<mlir::FileLineColRange>()) {
    result.file = range.getFilename().str();
    result.line = range.getStartLine();
    result.column = range.getStartColumn();
    result.endLine = range.getEndLine();
    result.endColumn = range.getEndColumn();
  }
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    result.notes.push_back(toC(note));
  return result;
}

DiagnosticCollector::DiagnosticCollector(mlir::MLIRContext *context)
    : handler(context, [this](mlir::Diagnostic &diagnostic) {
        diagnostics.push_back(toC(diagnostic));
      }) {}

Failure nsacc::capi::fail(nsacc_error_kind kind,
                          std::vector<nsacc_diagnostic> diagnostics,
                          llvm::MemoryBufferRef source) {
  Failure failure = fail(kind, "the program doesn't compile");
  for (const nsacc_diagnostic &diagnostic : llvm::reverse(diagnostics))
    if (diagnostic.severity == NSACC_SEVERITY_ERROR)
      failure->message = diagnostic.message;
  failure->text = render(diagnostics, source);
  failure->diagnostics = std::move(diagnostics);
  return failure;
}
