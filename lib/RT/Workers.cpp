//===- Workers.cpp - Threads that run programs ----------------------------===//

#include "Workers.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <sched.h>
#include <system_error>
#include <thread>
#include <unistd.h>

using namespace nsacc::rt;

/// Those that this process may use.
static unsigned countCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

namespace {

/// Threads that take tasks, the first that came first. They are never joined:
/// the pool lives as long as the process.
class Pool {
public:
  explicit Pool(unsigned most) : most(most) {}

  unsigned getMost() const { return most; }

  /// False where there is no thread or memory for the task, and none can be
  /// had.
  bool add(std::function<void()> task) {
    std::lock_guard<std::mutex> lock(mutex);
    // A thread starts when there is work for it.
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
      // Those that there are do it, one task after the other.
    }
  }

  void work() {
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

  void work(const std::function<void(int64_t, int64_t)> &work) {
    while (!isStopped) {
      // From the end: under a causal mask, the longest programs come first.
      int64_t end = next.fetch_sub(size);
      if (end <= 0)
        break;
      work(std::max<int64_t>(0, end - size), end);
    }
    std::lock_guard<std::mutex> lock(mutex);
    if (--running == 0)
      done.notify_one();
  }

  bool wait(const std::function<bool()> &isInterrupted) {
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
    return !isStopped;
  }

private:
  /// Small, so that nobody waits long for the last one.
  int64_t size;
  std::atomic<int64_t> next;
  std::atomic<bool> isStopped = false;
  std::mutex mutex;
  std::condition_variable done;
  int64_t running;
};

} // namespace

/// Started with the first run. A process that was forked after that has none of
/// its parent's threads, so it gets a pool of its own; pools are never
/// destroyed, because that would wait for the parent's.
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

bool nsacc::rt::runInParallel(
    int64_t total, unsigned threads, const std::function<bool()> &isInterrupted,
    const std::function<void(int64_t, int64_t)> &work) {
  Pool &pool = getPool();
  int64_t workers = std::min<int64_t>(total, threads ? threads : countCores());
  workers = std::min<int64_t>(workers, pool.getMost());
  Pieces pieces(total, workers);
  for (int64_t worker = 0; worker < workers; ++worker)
    if (!pool.add([&pieces, &work] { pieces.work(work); }))
      pieces.work(work);
  return pieces.wait(isInterrupted);
}
