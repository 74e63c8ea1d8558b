//===- ProgramDiagnostics.cpp - Diagnostics for editors -------------------===//

#include "ProgramDiagnostics.h"
#include "Lines.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "nsacc/Frontend/Frontend.h"

using namespace nsacc;
using namespace llvm;

static lsp::Range getRange(mlir::Location location, const Lines &lines) {
  auto range = location->findInstanceOf<mlir::FileLineColRange>();
  if (!range)
    return lsp::Range(lsp::Position(0, 0));
  lsp::Position start =
      lines.getPosition(range.getStartLine(), range.getStartColumn());
  lsp::Position end =
      lines.getPosition(range.getEndLine(), range.getEndColumn());
  // Editors draw nothing for an empty range.
  if (!(start < end))
    end = lsp::Position(start.line, start.character + 1);
  return lsp::Range(start, end);
}

static lsp::DiagnosticSeverity getSeverity(mlir::DiagnosticSeverity severity) {
  switch (severity) {
  case mlir::DiagnosticSeverity::Note:
  case mlir::DiagnosticSeverity::Remark:
    return lsp::DiagnosticSeverity::Information;
  case mlir::DiagnosticSeverity::Warning:
    return lsp::DiagnosticSeverity::Warning;
  case mlir::DiagnosticSeverity::Error:
    return lsp::DiagnosticSeverity::Error;
  }
  llvm_unreachable("unknown severity");
}

static lsp::Diagnostic convert(mlir::Diagnostic &problem,
                               const lsp::URIForFile &uri, const Lines &lines) {
  lsp::Diagnostic diagnostic;
  diagnostic.source = "nsacc";
  diagnostic.range = getRange(problem.getLocation(), lines);
  diagnostic.severity = getSeverity(problem.getSeverity());
  diagnostic.message = problem.str();
  std::vector<lsp::DiagnosticRelatedInformation> related;
  for (mlir::Diagnostic &note : problem.getNotes())
    related.emplace_back(
        lsp::Location(uri, getRange(note.getLocation(), lines)), note.str());
  if (!related.empty())
    diagnostic.relatedInformation = std::move(related);
  return diagnostic;
}

std::vector<lsp::Diagnostic>
nsacc::getProgramDiagnostics(const lsp::URIForFile &uri, StringRef text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  Lines lines(text);
  std::vector<lsp::Diagnostic> diagnostics;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &problem) {
        diagnostics.push_back(convert(problem, uri, lines));
      });
  frontend::compile(MemoryBufferRef(text, uri.file()), frontend::Options(),
                    context);
  return diagnostics;
}
