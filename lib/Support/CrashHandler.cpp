//===- CrashHandler.cpp - Reproducers of internal errors ------------------===//

#include "nsacc/Support/CrashHandler.h"
#include "nsacc/Support/Environment.h"
#include "nsacc/Support/Version.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace nsacc;

/// Everything is prepared in advance: a signal handler may only call open,
/// write and similar functions.
struct ReproducerScope::State {
  std::string directory, path, contents;
  const State *outer = nullptr;
};

static std::atomic<const ReproducerScope::State *> current = nullptr;

//===-- Writing, also from a signal handler -------------------------------===//

static bool writeAll(int descriptor, llvm::StringRef text) {
  while (!text.empty()) {
    ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    text = text.drop_front(written);
  }
  return true;
}

static bool write(const ReproducerScope::State &state) {
  ::mkdir(state.directory.c_str(), 0777);
  int descriptor =
      ::open(state.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (descriptor < 0)
    return false;
  bool isWritten = writeAll(descriptor, state.contents);
  return ::close(descriptor) == 0 && isWritten;
}

static void report(llvm::StringRef message) {
  auto print = [](llvm::StringRef text) { writeAll(STDERR_FILENO, text); };
  print("nsacc: internal error: ");
  print(message);
  print("\nnote: this is a fault of nsacc, not of your program\n");
  const ReproducerScope::State *state = current.exchange(nullptr);
  if (!state)
    return;
  bool isWritten = write(*state);
  print(isWritten ? "note: please report it with the reproducer "
                  : "note: the reproducer can't be written to ");
  print(state->path);
  print(isWritten ? "\n" : "; set NSACC_CRASH_DIR to a writable folder\n");
}

static void handleCrash(void *) {
  report("the process crashed");
  ::_exit(int(ExitCode::Internal));
}

//===-- Interface ---------------------------------------------------------===//

void nsacc::installCrashHandler() {
  llvm::sys::AddSignalHandler(handleCrash, nullptr);
}

ExitCode nsacc::reportInternalError(llvm::StringRef message) {
  report(message);
  return ExitCode::Internal;
}

static ReproducerScope::State layOut(llvm::StringRef path,
                                     llvm::StringRef contents,
                                     llvm::ArrayRef<std::string> commandLine) {
  ReproducerScope::State state;
  llvm::SmallString<128> directory;
  if (auto chosen = lookup(EnvironmentVariable::CrashDir))
    directory = *chosen;
  else
    llvm::sys::path::system_temp_directory(/*erasedOnReboot=*/true, directory);
  state.directory = directory.str();
  llvm::sys::path::append(directory,
                          llvm::formatv("nsacc-crash-{0}-{1}",
                                        llvm::sys::Process::getProcessId(),
                                        llvm::sys::path::filename(path))
                              .str());
  state.path = directory.str();
  // A line break within an argument would end the comment.
  std::string command = llvm::join(commandLine, " ");
  std::replace(command.begin(), command.end(), '\n', ' ');
  state.contents =
      llvm::formatv("// nsacc {0}, LLVM {1}\n// {2}\n{3}", getVersion(),
                    getLLVMVersion(), command, contents);
  return state;
}

std::optional<std::string>
nsacc::writeReproducer(llvm::StringRef path, llvm::StringRef contents,
                       llvm::ArrayRef<std::string> commandLine) {
  ReproducerScope::State state = layOut(path, contents, commandLine);
  if (!write(state))
    return std::nullopt;
  return state.path;
}

ReproducerScope::ReproducerScope(llvm::StringRef path, llvm::StringRef contents,
                                 llvm::ArrayRef<std::string> commandLine)
    : state(std::make_unique<State>(layOut(path, contents, commandLine))) {
  state->outer = current.exchange(state.get());
}

ReproducerScope::~ReproducerScope() {
  const State *own = state.get();
  current.compare_exchange_strong(own, state->outer);
}
