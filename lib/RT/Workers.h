//===- Workers.h - Threads that run programs --------------------*- C++ -*-===//

#ifndef NSACC_LIB_RT_WORKERS_H
#define NSACC_LIB_RT_WORKERS_H

#include <cstdint>
#include <functional>
#include <optional>

namespace nsacc::rt {

/// A launch's programs, and what is known of them.
struct Work {
  /// Calls programs [begin, end).
  std::function<void(int64_t begin, int64_t end)> call;
  int64_t total = 0;
  /// At most so many threads; 0: all cores.
  unsigned threads = 0;
  /// Room that a program takes on a thread's stack.
  int64_t stackBytes = 0;
  /// The time that all of it took one thread before; none where nobody knows.
  std::optional<int64_t> nanoseconds;
};

/// Calls pieces of [0, total), the last ones first, on threads that every run
/// of the process shares; what is known to take less than to wake one, on the
/// calling thread. While it waits for others it asks `isInterrupted` (may be
/// empty) again and again: none when that said yes before everything was done,
/// else what one thread would have taken.
std::optional<int64_t>
runInParallel(const Work &work, const std::function<bool()> &isInterrupted);

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_WORKERS_H
