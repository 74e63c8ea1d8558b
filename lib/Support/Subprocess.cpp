//===- Subprocess.cpp - Child processes -----------------------------------===//

#include "nsacc/Support/Subprocess.h"
#include "llvm/Support/Program.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <utility>

using namespace nsacc;

std::string Subprocess::Ending::describe() const {
  if (status)
    return "exit status " + std::to_string(*status);
  if (signal)
    return ::strsignal(*signal);
  return "a status that isn't known, as the process ignores SIGCHLD or "
         "collects all its children";
}

llvm::Expected<Subprocess>
Subprocess::start(llvm::StringRef program,
                  llvm::ArrayRef<llvm::StringRef> arguments,
                  llvm::ArrayRef<std::optional<llvm::StringRef>> redirects) {
  std::string message;
  bool hasFailed = false;
  llvm::sys::ProcessInfo started =
      llvm::sys::ExecuteNoWait(program, arguments, std::nullopt, redirects,
                               /*MemoryLimit=*/0, &message, &hasFailed);
  if (hasFailed || started.Pid == llvm::sys::ProcessInfo::InvalidPid)
    return llvm::createStringError(message);
  return Subprocess(started.Pid);
}

Subprocess::Subprocess(Subprocess &&other) noexcept
    : id(std::exchange(other.id, 0)), ending(other.ending) {}

Subprocess::~Subprocess() {
  if (id == 0)
    return;
  ::kill(id, SIGKILL);
  collect(/*flags=*/0);
}

std::optional<Subprocess::Ending> Subprocess::collect(int flags) {
  if (id == 0)
    return ending;
  int status = 0;
  pid_t found;
  do
    found = ::waitpid(id, &status, flags);
  while (found < 0 && errno == EINTR);
  if (found == 0)
    return std::nullopt;
  id = 0;
  if (found > 0 && WIFSIGNALED(status))
    ending.signal = WTERMSIG(status);
  else if (found > 0)
    ending.status = WEXITSTATUS(status);
  return ending;
}

std::optional<Subprocess::Ending> Subprocess::poll() {
  return collect(WNOHANG);
}

std::optional<Subprocess::Ending>
Subprocess::wait(std::chrono::milliseconds most) {
  using namespace std::chrono;
  constexpr milliseconds longestPause(16);
  auto end = steady_clock::now() + most;
  for (milliseconds pause(1);; pause = std::min(2 * pause, longestPause)) {
    if (std::optional<Ending> found = poll())
      return found;
    if (steady_clock::now() >= end)
      return std::nullopt;
    std::this_thread::sleep_for(pause);
  }
}
