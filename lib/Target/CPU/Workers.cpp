//===- Workers.cpp - Threads that run programs ----------------------------===//

#include "Workers.h"
#include "llvm/Support/ThreadPool.h"
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <unistd.h>

using namespace nsacc::cpu;

static unsigned getNumCores() {
  return llvm::hardware_concurrency().compute_thread_count();
}

/// Started with the first run. A process that was forked after that has none of
/// its parent's threads, so it gets a pool of its own; pools are never
/// destroyed, because that would wait for the parent's.
static llvm::ThreadPoolInterface &getPool() {
  static std::mutex mutex;
  static pid_t owner = 0;
  static llvm::ThreadPoolInterface *pool = nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  if (owner != getpid()) {
    // Threads start when there is work for them.
    unsigned most = std::max(64u, getNumCores());
    pool = new llvm::DefaultThreadPool(llvm::hardware_concurrency(most));
    owner = getpid();
  }
  return *pool;
}

namespace {

/// Pieces of one launch, taken by several workers.
class Pieces {
public:
  Pieces(int64_t total, int64_t workers)
      : size(std::max<int64_t>(1, total / (workers * 32))), next(total),
        running(workers) {}

  void work(llvm::function_ref<void(int64_t, int64_t)> work) {
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

bool nsacc::cpu::runInParallel(
    int64_t total, unsigned threads, const std::function<bool()> &isInterrupted,
    llvm::function_ref<void(int64_t, int64_t)> work) {
  llvm::ThreadPoolInterface &pool = getPool();
  int64_t workers = std::min<int64_t>(total, threads ? threads : getNumCores());
  workers = std::min<int64_t>(workers, pool.getMaxConcurrency());
  Pieces pieces(total, workers);
  for (int64_t worker = 0; worker < workers; ++worker)
    pool.async([&pieces, work] { pieces.work(work); });
  return pieces.wait(isInterrupted);
}
