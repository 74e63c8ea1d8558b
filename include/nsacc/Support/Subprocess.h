//===- Subprocess.h - Programs beside this process --------------*- C++ -*-===//

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
/// handler for their limits of time, even for one of 0 seconds.
class Subprocess {
public:
  /// The end of a program. Neither is known where the process ignores SIGCHLD,
  /// or something else in it collected the program.
  struct Ending {
    std::optional<int> status; ///< where it exited
    std::optional<int> signal; ///< that killed it

    /// "exit status 1", "Segmentation fault".
    std::string describe() const;
  };

  /// `arguments` begin with the program's name. `redirects` are those of
  /// llvm::sys::ExecuteNoWait.
  static llvm::Expected<Subprocess>
  start(llvm::StringRef program, llvm::ArrayRef<llvm::StringRef> arguments,
        llvm::ArrayRef<std::optional<llvm::StringRef>> redirects);

  /// Kills a program that still runs.
  ~Subprocess();
  Subprocess(Subprocess &&other) noexcept;
  Subprocess &operator=(Subprocess &&) = delete;

  /// None while it runs.
  std::optional<Ending> poll();
  /// None where it runs longer than that.
  std::optional<Ending> wait(std::chrono::milliseconds most);

private:
  explicit Subprocess(pid_t id) : id(id) {}

  /// A flag of waitpid's says whether to return before the end.
  std::optional<Ending> collect(int flags);

  pid_t id; ///< 0: it has ended
  Ending ending;
};

} // namespace nsacc

#endif // NSACC_SUPPORT_SUBPROCESS_H
