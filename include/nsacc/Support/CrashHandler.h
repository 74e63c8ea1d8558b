//===- CrashHandler.h - Reproducers of internal errors ----------*- C++ -*-===//

#ifndef NSACC_SUPPORT_CRASHHANDLER_H
#define NSACC_SUPPORT_CRASHHANDLER_H

#include "nsacc/Support/ExitCode.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <memory>
#include <optional>
#include <string>

namespace nsacc {

/// From this call on, a crash of the process (a signal such as SIGSEGV or
/// SIGABRT) prints a message, writes the reproducer in scope, and exits with
/// ExitCode::Internal.
void installCrashHandler();

/// While it lives, an internal error writes a reproducer: the program's text
/// after comments with versions and command line, in the folder that
/// NSACC_CRASH_DIR names or the temp folder. Scopes nest; the innermost one
/// counts.
class ReproducerScope {
public:
  /// `path` names the program's file; `contents` is its text.
  ReproducerScope(llvm::StringRef path, llvm::StringRef contents,
                  llvm::ArrayRef<std::string> commandLine);
  ~ReproducerScope();

  struct State;

private:
  std::unique_ptr<State> state;
};

/// Writes a reproducer as ReproducerScope does; returns its path, or none if it
/// can't be written.
std::optional<std::string>
writeReproducer(llvm::StringRef path, llvm::StringRef contents,
                llvm::ArrayRef<std::string> commandLine);

/// Reports a broken invariant as a crash does, without ending the process.
ExitCode reportInternalError(llvm::StringRef message);

} // namespace nsacc

#endif // NSACC_SUPPORT_CRASHHANDLER_H
