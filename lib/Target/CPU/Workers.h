//===- Workers.h - Threads that run programs --------------------*- C++ -*-===//

#ifndef NSACC_LIB_TARGET_CPU_WORKERS_H
#define NSACC_LIB_TARGET_CPU_WORKERS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstdint>
#include <functional>

namespace nsacc::cpu {

/// Calls `work(begin, end)` on pieces of [0, total), the last ones first, on at
/// most `threads` threads (0: all cores) that every run of the process shares.
/// While it waits it asks `isInterrupted` (may be empty) again and again; false
/// when that said yes before everything was done.
bool runInParallel(int64_t total, unsigned threads,
                   const std::function<bool()> &isInterrupted,
                   llvm::function_ref<void(int64_t begin, int64_t end)> work);

} // namespace nsacc::cpu

#endif // NSACC_LIB_TARGET_CPU_WORKERS_H
