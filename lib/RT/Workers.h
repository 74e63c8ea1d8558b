//===- Workers.h - Threads that run programs --------------------*- C++ -*-===//

#ifndef NSACC_LIB_RT_WORKERS_H
#define NSACC_LIB_RT_WORKERS_H

#include <cstdint>
#include <functional>

namespace nsacc::rt {

/// Calls `work(begin, end)` on pieces of [0, total), the last ones first, on at
/// most `threads` threads (0: all cores) that every run of the process shares.
/// While it waits it asks `isInterrupted` (may be empty) again and again; false
/// when that said yes before everything was done.
bool runInParallel(int64_t total, unsigned threads,
                   const std::function<bool()> &isInterrupted,
                   const std::function<void(int64_t begin, int64_t end)> &work);

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_WORKERS_H
