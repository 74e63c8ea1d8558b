//===- CompilerErrors.h - Failures that are handled apart -------*- C++ -*-===//

#ifndef NSACC_SUPPORT_COMPILERERRORS_H
#define NSACC_SUPPORT_COMPILERERRORS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace nsacc {

/// A program's tiles take more memory than there is; smaller ones may fit.
class NoRoomError : public llvm::ErrorInfo<NoRoomError> {
public:
  static char ID;

  /// `programs` are the names of the programs that have no room.
  NoRoomError(const llvm::Twine &message, std::vector<std::string> programs)
      : text(message.str()), programs(std::move(programs)) {}

  llvm::ArrayRef<std::string> getPrograms() const { return programs; }

  void log(llvm::raw_ostream &os) const override { os << text; }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }

private:
  std::string text;
  std::vector<std::string> programs;
};

/// LLVM reached a case that it can't handle. A fault of nsacc, which should
/// have avoided it.
class FatalError : public llvm::ErrorInfo<FatalError> {
public:
  static char ID;

  explicit FatalError(const llvm::Twine &message) : text(message.str()) {}

  void log(llvm::raw_ostream &os) const override { os << text; }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }

private:
  std::string text;
};

/// Runs `body`. If LLVM would end the process in it, by report_fatal_error on
/// this thread, returns a FatalError instead. Objects that `body` held are
/// lost, not freed. Calls nest.
llvm::Error catchFatalErrors(llvm::function_ref<llvm::Error()> body);

} // namespace nsacc

#endif // NSACC_SUPPORT_COMPILERERRORS_H
