//===- Tasks.h - Compiling in parallel --------------------------*- C++ -*-===//

#ifndef NSACC_SUPPORT_TASKS_H
#define NSACC_SUPPORT_TASKS_H

#include "llvm/Support/Error.h"
#include "llvm/Support/ThreadPool.h"
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace nsacc {

/// Threads of one compilation. They end with it, before the process can fork,
/// and aren't kept for the next one.
class CompilerThreads {
public:
  /// Starts at most this many threads; 0: one for each core.
  explicit CompilerThreads(unsigned most = 0);

private:
  friend class Tasks;

  /// None if tasks run on the thread that adds them.
  std::unique_ptr<llvm::ThreadPoolInterface> pool;
};

/// Work that is done in parallel. One thread adds tasks and waits.
class Tasks {
public:
  explicit Tasks(CompilerThreads &threads);
  /// Waits for tasks that have begun; the rest isn't done.
  ~Tasks();

  /// Adds a task. It begins when a thread is free, in the order of adding. A
  /// fatal error of LLVM in it becomes its error. `place` is its place in the
  /// program.
  void add(size_t place, std::function<llvm::Error()> work);
  /// Waits for all tasks. Fails with the error of the first place that has one,
  /// even if another came earlier; tasks at later places may not have run.
  llvm::Error wait();
  /// Whether `wait` would return at once.
  bool isDone() const { return numDone == tasks.size(); }

private:
  struct Task {
    size_t place;
    std::function<llvm::Error()> work;
    llvm::Error error = llvm::Error::success();
  };

  void run(Task &task);

  std::vector<std::unique_ptr<Task>> tasks;
  std::atomic<size_t> firstFailed = SIZE_MAX, numDone = 0;
  std::optional<llvm::ThreadPoolTaskGroup> group;
};

} // namespace nsacc

#endif // NSACC_SUPPORT_TASKS_H
