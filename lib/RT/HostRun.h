//===- HostRun.h - Runs a plan in host memory -------------------*- C++ -*-===//

#ifndef NSACC_LIB_RT_HOSTRUN_H
#define NSACC_LIB_RT_HOSTRUN_H

#include "Buffers.h"
#include "nsacc/RT/Host.h"
#include <array>
#include <atomic>
#include <mutex>
#include <optional>

namespace nsacc::rt {

/// The least failure of a run, independent of the order of threads.
class FailureRecord {
public:
  explicit FailureRecord(const std::vector<Assertion> &assertions)
      : assertions(assertions) {}

  void add(size_t assertion, const int64_t *values);
  bool isEmpty() const { return empty; }
  /// The failure's message with its values.
  std::string describe() const;

private:
  const std::vector<Assertion> &assertions;
  std::mutex mutex;
  std::atomic<bool> empty = true;
  size_t assertion = 0;
  std::vector<int64_t> values;
};

/// Called by programs; stores a failure in the record of the run whose program
/// this thread executes.
void reportFailure(int64_t assertion, const int64_t *values);

/// Keeps the time that launches took one thread, by the approximate sizes of
/// their calls. Threads may share it; launches with the same slot replace each
/// other.
class LaunchCosts {
public:
  /// The key of a launch of a call. The parameters are the first buffers.
  static uint64_t getKey(const std::vector<Buffer> &buffers, size_t parameters,
                         size_t launch);

  /// None if no such launch has ended.
  std::optional<int64_t> find(uint64_t key) const;
  void add(uint64_t key, int64_t nanoseconds);

private:
  /// Entries hold the upper bits of a key, and a time in units of 16 ns.
  static constexpr unsigned timeBits = 24;
  static constexpr uint64_t timeMask = (uint64_t{1} << timeBits) - 1;
  std::array<std::atomic<uint64_t>, 128> entries = {};
};

/// One run of a plan. Workspaces have memory while launches use them.
class HostRun {
public:
  /// `functions` has one for each launch. `buffers` are the parameters.
  HostRun(const TargetCode &code, const std::vector<HostFunction> &functions,
          LaunchCosts &costs, std::vector<Buffer> buffers,
          const HostOptions &options, HostUsage &usage);
  ~HostRun();
  HostRun(const HostRun &) = delete;
  HostRun &operator=(const HostRun &) = delete;

  /// Throws a Failure.
  void run();

private:
  Problem runLaunch(size_t index);
  Problem allocate(size_t workspace);
  void release(size_t workspace);
  bool runPrograms(size_t index);
  std::vector<uint64_t> getSlots(const Launch &launch) const;

  const TargetCode &code;
  const Plan &plan;
  const std::vector<HostFunction> &functions;
  LaunchCosts &costs;
  const HostOptions &options;
  HostUsage &usage;
  FailureRecord failures;
  size_t numParameters;
  std::vector<const int64_t *> sizes; ///< of parameters
  std::vector<int64_t> numbers;
  std::vector<Buffer> buffers; ///< parameters, then workspaces
  /// For each workspace, its bytes while it has memory; else 0.
  std::vector<int64_t> bytes;
  int64_t allBytes = 0;
  bool isInterrupted = false;
};

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_HOSTRUN_H
