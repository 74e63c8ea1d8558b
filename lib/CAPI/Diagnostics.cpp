//===- Diagnostics.cpp - Diagnostics of a compilation as data -------------===//

#include "Diagnostics.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

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

static llvm::StringRef getName(nsacc_severity severity) {
  switch (severity) {
  case NSACC_SEVERITY_ERROR:
    return "error";
  case NSACC_SEVERITY_WARNING:
    return "warning";
  case NSACC_SEVERITY_REMARK:
    return "remark";
  case NSACC_SEVERITY_NOTE:
    return "note";
  }
  return "error";
}

static void print(const nsacc_diagnostic &diagnostic, llvm::StringRef source,
                  llvm::raw_ostream &os) {
  if (!diagnostic.file.empty())
    os << diagnostic.file << ':' << diagnostic.line << ':' << diagnostic.column
       << ": ";
  os << getName(diagnostic.severity) << ": " << diagnostic.message << '\n';
  for (const nsacc_diagnostic &note : diagnostic.notes)
    print(note, source, os);
}

Failure nsacc::capi::fail(nsacc_error_kind kind,
                          std::vector<nsacc_diagnostic> diagnostics,
                          llvm::StringRef source) {
  Failure failure = fail(kind, "the program doesn't compile");
  failure->text.clear();
  llvm::raw_string_ostream os(failure->text);
  for (const nsacc_diagnostic &diagnostic : llvm::reverse(diagnostics))
    if (diagnostic.severity == NSACC_SEVERITY_ERROR)
      failure->message = diagnostic.message;
  for (const nsacc_diagnostic &diagnostic : diagnostics)
    print(diagnostic, source, os);
  failure->diagnostics = std::move(diagnostics);
  return failure;
}
