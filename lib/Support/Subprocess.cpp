//===- Subprocess.cpp - Child processes -----------------------------------===//

#include "nsacc/Support/Subprocess.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

using namespace nsacc;

static llvm::Error makeError(int number, const llvm::Twine &what) {
  return llvm::createStringError(what + ": " + std::strerror(number));
}

//===----------------------------------------------------------------------===//
// Starting
//===----------------------------------------------------------------------===//

namespace {

/// Files for standard input, output and error; -1 where the parent's is kept.
class Redirects {
public:
  Redirects() = default;
  Redirects(Redirects &&other) noexcept { std::swap(files, other.files); }
  ~Redirects() {
    for (int file : files)
      if (file >= 0)
        ::close(file);
  }

  static llvm::Expected<Redirects>
  open(llvm::ArrayRef<std::optional<llvm::StringRef>> paths) {
    Redirects result;
    for (auto [index, path] : llvm::enumerate(paths)) {
      if (!path)
        continue;
      std::string name = path->empty() ? "/dev/null" : path->str();
      int flags = index == 0 ? O_RDONLY : O_WRONLY | O_CREAT;
      // Output and errors in one file stand behind each other.
      bool isShared = index == 2 && path == paths[1];
      int file = isShared ? result.files[1]
                          : ::open(name.c_str(), flags | O_CLOEXEC, 0666);
      if (file < 0)
        return makeError(errno, "can't open " + name);
      // One of the first three would be replaced by another.
      result.files[index] = ::fcntl(file, F_DUPFD_CLOEXEC, 3);
      int number = errno;
      if (!isShared)
        ::close(file);
      if (result.files[index] < 0)
        return makeError(number, "can't open " + name);
    }
    return result;
  }

  int files[3] = {-1, -1, -1};
};

/// A child's program and files. It is in its parent's memory until it runs the
/// program, and may only ask the system.
struct Start {
  const char *program;
  char *const *arguments;
  const int *files;
  sigset_t mask;
  pid_t parent;
  volatile int error = 0;
};

} // namespace

/// The child has copies of the parent's handlers, which are for the parent.
static void dropHandlers() {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action;
    if (::sigaction(number, nullptr, &action) != 0 ||
        action.sa_handler == SIG_IGN || action.sa_handler == SIG_DFL)
      continue;
    action = {};
    action.sa_handler = SIG_DFL;
    ::sigaction(number, &action, nullptr);
  }
}

[[noreturn]] static void runChild(Start &start) {
  constexpr int cannotRun = 127;
  dropHandlers();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // It may have ended before this was asked for.
  if (::getppid() != start.parent)
    ::_exit(cannotRun);
  for (int file = 0; file < 3; ++file)
    if (start.files[file] >= 0 && ::dup2(start.files[file], file) < 0) {
      start.error = errno;
      ::_exit(cannotRun);
    }
  ::pthread_sigmask(SIG_SETMASK, &start.mask, nullptr);
  ::execve(start.program, start.arguments, environ);
  start.error = errno;
  ::_exit(cannotRun);
}

/// llvm::sys::ExecuteNoWait has no place for what a child asks of the system.
/// The parent's memory isn't copied: it may be large.
static pid_t launch(Start &start) {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &start.mask);
  pid_t id = ::vfork();
  if (id == 0)
    runChild(start);
  if (id < 0)
    start.error = errno;
  ::pthread_sigmask(SIG_SETMASK, &start.mask, nullptr);
  return id;
}

llvm::Expected<Subprocess>
Subprocess::start(llvm::StringRef program,
                  llvm::ArrayRef<llvm::StringRef> arguments,
                  llvm::ArrayRef<std::optional<llvm::StringRef>> redirects) {
  auto opened = Redirects::open(redirects);
  if (!opened)
    return opened.takeError();
  std::string path = program.str();
  auto texts = llvm::map_to_vector(
      arguments, [](llvm::StringRef text) { return text.str(); });
  auto pointers =
      llvm::map_to_vector(texts, [](std::string &text) { return text.data(); });
  pointers.push_back(nullptr);
  Start start{path.c_str(), pointers.data(), opened->files, {}, ::getpid()};
  pid_t id = launch(start);
  if (id > 0 && start.error != 0)
    while (::waitpid(id, nullptr, 0) < 0 && errno == EINTR)
      ;
  if (start.error != 0)
    return makeError(start.error, "can't run " + program);
  return Subprocess(id);
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

std::string Subprocess::Ending::describe() const {
  if (status)
    return "exit status " + std::to_string(*status);
  if (signal)
    return ::strsignal(*signal);
  return "a status that isn't known, as the process ignores SIGCHLD or "
         "collects all its children";
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
