//===- Workers.cpp - Runs cases in separate processes ---------------------===//

#include "Workers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <optional>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace nsacc::differential;

using Clock = std::chrono::steady_clock;

namespace {

/// A process that runs the cases of a list and writes a line for each.
class Worker {
public:
  Worker(std::vector<uint64_t> cases, unsigned seconds)
      : cases(std::move(cases)), limit(std::chrono::seconds(seconds)) {}

  void start(const std::function<Case(uint64_t)> &make);
  /// Reads the process's output, or finds that it ended.
  void read(const std::function<void(uint64_t, const Verdict &)> &report,
            const std::function<Case(uint64_t)> &make);
  /// Ends the process if its case takes too long.
  void watch();

  /// Waits for the end of the process; returns its status.
  int join();

  bool isDone() const { return cases.empty(); }
  int getPipe() const { return pipe; }

private:
  void finish(const std::function<void(uint64_t, const Verdict &)> &report,
              const std::function<Case(uint64_t)> &make);
  Clock::duration getProcessorTime() const;
  void startClocks();
  [[noreturn]] static void work(llvm::ArrayRef<uint64_t> cases, int pipe,
                                const std::function<Case(uint64_t)> &make);

  /// The remaining cases; the first one is running.
  std::vector<uint64_t> cases;
  /// Limit of processor time, so that a busy machine causes no failures; the
  /// limit of elapsed time is ten times as much.
  Clock::duration limit;
  Clock::time_point begun;
  Clock::duration usedBefore;
  bool tookTooLong = false;
  pid_t process = -1;
  int pipe = -1;
  std::string pending;
};

} // namespace

static void writeAll(int file, llvm::StringRef text) {
  while (!text.empty()) {
    ssize_t written = write(file, text.data(), text.size());
    if (written <= 0)
      _exit(1);
    text = text.drop_front(written);
  }
}

/// One line: kind, runs, message.
static std::string encode(const Verdict &verdict) {
  std::string message = verdict.message;
  llvm::replace(message, '\n', ' ');
  return std::to_string(int(verdict.kind)) + " " +
         std::to_string(verdict.runs) + " " + message + "\n";
}

static Verdict decode(llvm::StringRef line) {
  Verdict verdict;
  auto [kind, rest] = line.split(' ');
  auto [runs, message] = rest.split(' ');
  verdict.kind = Verdict::Kind(kind == "0" ? 0 : kind == "1" ? 1 : 2);
  runs.getAsInteger(10, verdict.runs);
  verdict.message = message.str();
  return verdict;
}

void Worker::work(llvm::ArrayRef<uint64_t> cases, int pipe,
                  const std::function<Case(uint64_t)> &make) {
  for (uint64_t number : cases)
    writeAll(pipe, encode(runCase(make(number))));
  _exit(0);
}

void Worker::start(const std::function<Case(uint64_t)> &make) {
  int ends[2];
  if (::pipe(ends) != 0)
    llvm::report_fatal_error("no pipe to a worker");
  process = fork();
  if (process < 0)
    llvm::report_fatal_error("no process for a worker");
  if (process == 0) {
    close(ends[0]);
    work(cases, ends[1], make);
  }
  close(ends[1]);
  pipe = ends[0];
  startClocks();
}

Clock::duration Worker::getProcessorTime() const {
  clockid_t clock;
  timespec used;
  if (clock_getcpuclockid(process, &clock) != 0 ||
      clock_gettime(clock, &used) != 0)
    return Clock::duration::zero(); // it ended
  return std::chrono::seconds(used.tv_sec) +
         std::chrono::nanoseconds(used.tv_nsec);
}

void Worker::startClocks() {
  begun = Clock::now();
  usedBefore = getProcessorTime();
}

void Worker::watch() {
  if (isDone() || tookTooLong ||
      (getProcessorTime() - usedBefore < limit &&
       Clock::now() - begun < 10 * limit))
    return;
  tookTooLong = true;
  kill(process, SIGKILL);
}

int Worker::join() {
  close(pipe);
  int status = 0;
  waitpid(process, &status, 0);
  return status;
}

/// Handles the end of a process in the middle of a case.
void Worker::finish(
    const std::function<void(uint64_t, const Verdict &)> &report,
    const std::function<Case(uint64_t)> &make) {
  int status = join();
  Verdict verdict = {Verdict::Kind::Failed, "", 0};
  if (tookTooLong)
    verdict.message = "time: the case took too long";
  else if (WIFSIGNALED(status))
    verdict.message = std::string("crash: ") + strsignal(WTERMSIG(status));
  else
    verdict.message = "crash: the process ended with exit code " +
                      std::to_string(WEXITSTATUS(status));
  report(cases.front(), verdict);
  cases.erase(cases.begin());
  tookTooLong = false;
  pending.clear();
  if (!isDone())
    start(make);
}

void Worker::read(const std::function<void(uint64_t, const Verdict &)> &report,
                  const std::function<Case(uint64_t)> &make) {
  char buffer[4096];
  ssize_t size = ::read(pipe, buffer, sizeof(buffer));
  if (size <= 0)
    return finish(report, make);
  pending.append(buffer, size);
  for (size_t end; (end = pending.find('\n')) != std::string::npos;) {
    report(cases.front(), decode(llvm::StringRef(pending).take_front(end)));
    cases.erase(cases.begin());
    pending.erase(0, end + 1);
    startClocks();
  }
}

void nsacc::differential::runAll(
    uint64_t first, uint64_t count, unsigned processes, unsigned seconds,
    std::function<Case(uint64_t)> make,
    std::function<void(uint64_t, const Verdict &)> report) {
  // Batches are short, so that leaks of a process stay small and no process is
  // left alone with a long batch.
  constexpr uint64_t batch = 10;
  uint64_t next = first, end = first + count;
  std::vector<std::optional<Worker>> workers(processes);
  while (true) {
    std::vector<pollfd> files;
    for (std::optional<Worker> &worker : workers) {
      if (worker && worker->isDone()) {
        worker->join();
        worker.reset();
      }
      if (!worker && next < end) {
        std::vector<uint64_t> cases;
        for (; next < end && cases.size() < batch; ++next)
          cases.push_back(next);
        worker.emplace(std::move(cases), seconds);
        worker->start(make);
      }
      if (worker)
        files.push_back({worker->getPipe(), POLLIN, 0});
    }
    if (files.empty())
      return;
    poll(files.data(), files.size(), /*timeout=*/1000);
    for (std::optional<Worker> &worker : workers) {
      if (!worker)
        continue;
      int pipe = worker->getPipe();
      if (llvm::any_of(files, [&](const pollfd &file) {
            return file.fd == pipe && file.revents;
          }))
        worker->read(report, make);
      else
        worker->watch();
    }
  }
}

Verdict nsacc::differential::runApart(const Case &testCase, unsigned seconds) {
  Verdict result;
  runAll(
      0, 1, 1, seconds, [&](uint64_t) { return testCase; },
      [&](uint64_t, const Verdict &verdict) { result = verdict; });
  return result;
}
