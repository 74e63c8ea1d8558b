//===- Workers.h - Threads that run programs --------------------*- C++ -*-===//

#ifndef NSACC_LIB_RT_WORKERS_H
#define NSACC_LIB_RT_WORKERS_H

#include <cstdint>
#include <functional>
#include <optional>

namespace nsacc::rt {

/// A launch's programs, and estimates of their cost.
struct Work {
  /// Calls programs [begin, end).
  std::function<void(int64_t begin, int64_t end)> call;
  int64_t total = 0;
  /// The most threads; 0: all cores.
  unsigned threads = 0;
  /// Bytes that a program takes on a thread's stack.
  int64_t stackBytes = 0;
  /// The time that one thread took for all of it before; none if it isn't
  /// known.
  std::optional<int64_t> nanoseconds;
};

/// Calls pieces of [0, total), the last ones first, on threads that all runs of
/// the process share; on the calling thread if the work is known to take less
/// time than waking another one. While it waits for others it calls
/// `isInterrupted` (may be empty) again and again. Returns none if that
/// returned true before everything was done, else the time that one thread
/// would have taken.
std::optional<int64_t>
runInParallel(const Work &work, const std::function<bool()> &isInterrupted);

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_WORKERS_H
