//===- CompileError.cpp - Errors of compilations --------------------------===//

#include "nsacc/Driver/CompileError.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace nsacc;

char CompileError::ID = 0;
char InterruptedError::ID = 0;

void CompileError::log(llvm::raw_ostream &os) const {
  llvm::SourceMgr noSources;
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (const frontend::DiagnosticData &diagnostic : diagnostics)
    frontend::print(diagnostic, noSources, stream);
  os << llvm::StringRef(text).rtrim('\n');
}

std::error_code CompileError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

void InterruptedError::log(llvm::raw_ostream &os) const {
  os << "the run was interrupted";
}

std::error_code InterruptedError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

llvm::Error nsacc::addNote(llvm::Error error, const llvm::Twine &message) {
  using frontend::DiagnosticData;
  DiagnosticData note;
  note.severity = DiagnosticData::Severity::Note;
  note.message = message.str();
  return llvm::handleErrors(
      std::move(error), [&](const CompileError &failed) -> llvm::Error {
        std::vector<DiagnosticData> diagnostics = failed.getDiagnostics().vec();
        for (DiagnosticData &diagnostic : diagnostics)
          if (diagnostic.severity == DiagnosticData::Severity::Error)
            diagnostic.notes.push_back(note);
        return llvm::make_error<CompileError>(std::move(diagnostics));
      });
}
