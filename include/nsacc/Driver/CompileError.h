//===- CompileError.h - Errors of compilations ------------------*- C++ -*-===//

#ifndef NSACC_DRIVER_COMPILEERROR_H
#define NSACC_DRIVER_COMPILEERROR_H

#include "nsacc/Frontend/Diagnostics.h"
#include "llvm/Support/Error.h"

namespace nsacc {

/// Diagnostics of a compilation that failed, at least one of them an error.
class CompileError : public llvm::ErrorInfo<CompileError> {
public:
  static char ID;

  explicit CompileError(std::vector<frontend::DiagnosticData> diagnostics)
      : diagnostics(std::move(diagnostics)) {}

  llvm::ArrayRef<frontend::DiagnosticData> getDiagnostics() const {
    return diagnostics;
  }

  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

private:
  std::vector<frontend::DiagnosticData> diagnostics;
};

/// Adds a note to each error of a CompileError.
llvm::Error addNote(llvm::Error error, const llvm::Twine &message);

/// The error of a run that RunOptions::isInterrupted ended.
class InterruptedError : public llvm::ErrorInfo<InterruptedError> {
public:
  static char ID;

  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;
};

} // namespace nsacc

#endif // NSACC_DRIVER_COMPILEERROR_H
