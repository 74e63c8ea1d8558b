//===- Subprocess.h - Child processes ---------------------------*- C++ -*-===//

#ifndef NSACC_SUPPORT_SUBPROCESS_H
#define NSACC_SUPPORT_SUBPROCESS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <chrono>
#include <optional>
#include <string>
#include <sys/types.h>

namespace nsacc {

/// A program that runs beside this process, whose handlers, masks and timers
/// stay as they are. llvm::sys::Wait and ExecuteAndWait take the alarm and its
/// handler for their limits of time, even for one of 0 seconds. It is killed
/// with the thread that started it, however this process ends.
class Subprocess {
public:
  /// The end of a program. Neither field is known if the process ignores
  /// SIGCHLD, or if other code in it waited for the program.
  struct Ending {
    std::optional<int> status; ///< if it exited
    std::optional<int> signal; ///< the signal that killed it

    /// "exit status 1", "Segmentation fault".
    std::string describe() const;
  };

  /// `arguments` begin with the program's name. `redirects` are files for
  /// standard input, output and error: none for those of this process, an empty
  /// name for /dev/null.
  static llvm::Expected<Subprocess>
  start(llvm::StringRef program, llvm::ArrayRef<llvm::StringRef> arguments,
        llvm::ArrayRef<std::optional<llvm::StringRef>> redirects);

  /// Kills a program that still runs.
  ~Subprocess();
  Subprocess(Subprocess &&other) noexcept;
  Subprocess &operator=(Subprocess &&) = delete;

  /// None while it runs.
  std::optional<Ending> poll();
  /// None if it runs longer than `most`.
  std::optional<Ending> wait(std::chrono::milliseconds most);

private:
  explicit Subprocess(pid_t id) : id(id) {}

  /// `flags` are waitpid's and say whether to return before the end.
  std::optional<Ending> collect(int flags);

  pid_t id; ///< 0: it has ended
  Ending ending;
};

} // namespace nsacc

#endif // NSACC_SUPPORT_SUBPROCESS_H
