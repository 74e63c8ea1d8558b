//===- Workers.cpp - Threads that run programs ----------------------------===//

#include "Workers.h"
#include "nsacc/RT/Host.h"
#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <sched.h>
#include <system_error>
#include <thread>
#include <time.h>
#include <unistd.h>

using namespace nsacc::rt;

/// Number of cores that this process may use.
static unsigned countCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

/// About the time for handing a part of a run to another thread and waiting for
/// it: the thread has to be woken, and then the waiting one.
static constexpr int64_t kHandOver = 20'000;

static int64_t getNanoseconds(clockid_t clock) {
  timespec now;
  ::clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

namespace {

/// Default rounding and subnormal numbers, which programs expect, while it
/// lives. Callers may flush subnormals to zero, and threads inherit the mode of
/// the thread that starts them.
class DefaultArithmetic {
public:
  DefaultArithmetic() {
    std::fegetenv(&before);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultArithmetic() { std::fesetenv(&before); }
  DefaultArithmetic(const DefaultArithmetic &) = delete;
  DefaultArithmetic &operator=(const DefaultArithmetic &) = delete;

private:
  std::fenv_t before;
};

/// Threads that take tasks in the order of adding. They are never joined: the
/// pool lives as long as the process.
class Pool {
public:
  explicit Pool(unsigned most) : most(most) {}

  unsigned getMost() const { return most; }

  /// False if there is no thread or memory for the task, and none can be made.
  bool add(std::function<void()> task) {
    std::lock_guard<std::mutex> lock(mutex);
    // Starts a thread when there is work for it.
    if (idle <= tasks.size() && started < most)
      start();
    if (started == 0)
      return false;
    try {
      tasks.push_back(std::move(task));
    } catch (const std::bad_alloc &) {
      return false;
    }
    hasTasks.notify_one();
    return true;
  }

private:
  void start() {
    try {
      std::thread([this] { work(); }).detach();
      ++started;
    } catch (const std::system_error &) {
      // The existing threads do the work, one task after the other.
    }
  }

  void work() {
    DefaultArithmetic arithmetic;
    std::unique_lock<std::mutex> lock(mutex);
    while (true) {
      ++idle;
      hasTasks.wait(lock, [this] { return !tasks.empty(); });
      --idle;
      std::function<void()> task = std::move(tasks.front());
      tasks.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  const unsigned most;
  std::mutex mutex;
  std::condition_variable hasTasks;
  std::deque<std::function<void()>> tasks;
  unsigned started = 0;
  size_t idle = 0;
};

/// Pieces of one launch, taken by several workers.
class Pieces {
public:
  Pieces(int64_t total, int64_t workers)
      : size(std::max<int64_t>(1, total / (workers * 32))), next(total),
        running(workers) {}

  void work(const std::function<void(int64_t, int64_t)> &call) {
    // The thread's own time: on a busy machine it may be suspended for long.
    int64_t start = getNanoseconds(CLOCK_THREAD_CPUTIME_ID);
    while (!isStopped) {
      // From the end: under a causal mask, the last programs take longest.
      int64_t end = next.fetch_sub(size);
      if (end <= 0)
        break;
      call(std::max<int64_t>(0, end - size), end);
    }
    nanoseconds += getNanoseconds(CLOCK_THREAD_CPUTIME_ID) - start;
    std::lock_guard<std::mutex> lock(mutex);
    if (--running == 0)
      done.notify_one();
  }

  /// Nanoseconds of all workers; none if they were stopped.
  std::optional<int64_t> wait(const std::function<bool()> &isInterrupted) {
    std::unique_lock<std::mutex> lock(mutex);
    auto isDone = [this] { return running == 0; };
    if (isInterrupted)
      while (!done.wait_for(lock, std::chrono::milliseconds(50), isDone)) {
        lock.unlock();
        if (isInterrupted())
          isStopped = true;
        lock.lock();
      }
    else
      done.wait(lock, isDone);
    if (isStopped)
      return std::nullopt;
    return nanoseconds;
  }

private:
  /// Size of a piece. Small, so that the last piece doesn't delay the end.
  int64_t size;
  std::atomic<int64_t> next;
  std::atomic<bool> isStopped = false;
  std::atomic<int64_t> nanoseconds = 0;
  std::mutex mutex;
  std::condition_variable done;
  int64_t running;
};

} // namespace

/// Started with the first run. A process that was forked later has none of its
/// parent's threads, so it gets a new pool; pools are never destroyed, because
/// that would wait for the parent's threads.
static Pool &getPool() {
  static std::mutex mutex;
  static pid_t owner = 0;
  static Pool *pool = nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  if (owner != getpid()) {
    pool = new Pool(std::max(64u, countCores()));
    owner = getpid();
  }
  return *pool;
}

/// Calls programs on this thread until all are done or the time is much longer
/// than expected: then the first `left` programs remain. Returns the time.
static int64_t runHere(const Work &work, int64_t &left) {
  DefaultArithmetic arithmetic;
  // A thread's own time is slower to read.
  int64_t start = getNanoseconds(CLOCK_MONOTONIC), taken = 0;
  int64_t size = std::max<int64_t>(1, work.total / 16);
  for (left = work.total; left > 0 && taken < 4 * kHandOver;
       taken = getNanoseconds(CLOCK_MONOTONIC) - start) {
    int64_t end = left;
    left = std::max<int64_t>(0, end - size);
    work.call(left, end);
  }
  // The thread may have been suspended.
  return std::min(taken, std::max(2 * *work.nanoseconds, kHandOver / 2));
}

/// Counts the threads that each have at least a hand-over's time of work.
static int64_t countWorkers(const Work &work, const Pool &pool) {
  int64_t workers =
      std::min<int64_t>(work.total, work.threads ? work.threads : countCores());
  if (work.nanoseconds)
    workers = std::min(workers, 1 + *work.nanoseconds / kHandOver);
  return std::min<int64_t>(workers, pool.getMost());
}

std::optional<int64_t>
nsacc::rt::runInParallel(const Work &work,
                         const std::function<bool()> &isInterrupted) {
  int64_t left = work.total, taken = 0;
  if (work.nanoseconds && *work.nanoseconds < 2 * kHandOver &&
      hasRoomOnStack(work.stackBytes))
    taken = runHere(work, left);
  if (left == 0)
    return taken;
  Pool &pool = getPool();
  int64_t workers = std::min(left, countWorkers(work, pool));
  Pieces pieces(left, workers);
  for (int64_t worker = 0; worker < workers; ++worker)
    if (!pool.add([&pieces, &work] { pieces.work(work.call); }))
      pieces.work(work.call);
  std::optional<int64_t> others = pieces.wait(isInterrupted);
  if (!others)
    return std::nullopt;
  return taken + *others;
}
