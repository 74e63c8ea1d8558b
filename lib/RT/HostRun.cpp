//===- HostRun.cpp - Runs a plan in host memory ---------------------------===//

#include "HostRun.h"
#include "Workers.h"
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <ctime>
#include <tuple>

using namespace nsacc::rt;

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

static thread_local FailureRecord *current = nullptr;

namespace {

/// While it lives, failures of programs that this thread runs are stored in
/// `record`.
class FailureScope {
public:
  explicit FailureScope(FailureRecord &record) : outer(current) {
    current = &record;
  }
  ~FailureScope() { current = outer; }
  FailureScope(const FailureScope &) = delete;
  FailureScope &operator=(const FailureScope &) = delete;

private:
  FailureRecord *outer;
};

} // namespace

void nsacc::rt::reportFailure(int64_t assertion, const int64_t *values) {
  if (current)
    current->add(static_cast<size_t>(assertion), values);
}

void FailureRecord::add(size_t newAssertion, const int64_t *found) {
  if (newAssertion >= assertions.size())
    return;
  std::vector<int64_t> newValues(found,
                                 found + assertions[newAssertion].numValues);
  std::lock_guard<std::mutex> lock(mutex);
  if (!empty &&
      std::tie(values, assertion) <= std::tie(newValues, newAssertion))
    return;
  values = std::move(newValues);
  assertion = newAssertion;
  empty = false;
}

std::string FailureRecord::describe() const {
  return formatMessage(assertions[assertion], values.data());
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

uint64_t LaunchCosts::getKey(const std::vector<Buffer> &buffers,
                             size_t parameters, size_t launch) {
  uint64_t key = launch;
  for (size_t i = 0; i < parameters; ++i)
    for (uint32_t dim = 0; dim < buffers[i].rank; ++dim) {
      // Sizes that round to the same power of two share a key.
      auto size = static_cast<uint64_t>(buffers[i].sizes[dim]);
      key = (key ^ static_cast<uint64_t>(std::bit_width(size))) *
            0x9e3779b97f4a7c15;
      key ^= key >> 32;
    }
  return key;
}

std::optional<int64_t> LaunchCosts::find(uint64_t key) const {
  uint64_t entry = entries[key % entries.size()];
  if (entry == 0 || (entry ^ key) >> timeBits != 0)
    return std::nullopt;
  return static_cast<int64_t>((entry & timeMask) * 16);
}

void LaunchCosts::add(uint64_t key, int64_t nanoseconds) {
  // Slower times fade slowly: calls that alternate between few and many
  // selected blocks should get many threads.
  if (std::optional<int64_t> before = find(key))
    nanoseconds = std::max(nanoseconds, *before - *before / 4);
  uint64_t units = static_cast<uint64_t>(nanoseconds) / 16 + 1;
  entries[key % entries.size()] = (key & ~timeMask) | std::min(units, timeMask);
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

HostRun::HostRun(const TargetCode &code,
                 const std::vector<HostFunction> &functions, LaunchCosts &costs,
                 std::vector<Buffer> given, const HostOptions &options,
                 HostUsage &usage)
    : code(code), plan(code.plan), functions(functions), costs(costs),
      options(options), usage(usage), failures(code.assertions),
      numParameters(given.size()), buffers(std::move(given)),
      bytes(plan.workspaces.size()) {
  buffers.resize(numParameters + plan.workspaces.size());
  for (size_t i = 0; i < numParameters; ++i)
    sizes.push_back(buffers[i].sizes.data());
}

HostRun::~HostRun() {
  for (size_t i = 0; i < plan.workspaces.size(); ++i)
    release(i);
}

void HostRun::run() {
  Problem problem = computeNumbers(plan, sizes, numbers);
  if (!problem)
    problem = forEachLaunch(plan, sizes, numbers,
                            [&](size_t index) { return runLaunch(index); });
  if (!failures.isEmpty())
    throw Failure(NSACC_RT_FAILED, failures.describe());
  if (problem)
    throw Failure(isInterrupted ? NSACC_RT_INTERRUPTED : NSACC_RT_INVALID,
                  *problem);
}

Problem HostRun::runLaunch(size_t index) {
  for (size_t i = 0; i < plan.workspaces.size(); ++i)
    if (plan.workspaces[i].last < index)
      release(i);
  for (size_t i = 0; i < plan.workspaces.size(); ++i)
    if (plan.workspaces[i].first <= index && index <= plan.workspaces[i].last)
      if (Problem problem = allocate(i))
        return problem;
  ++usage.launches;
  if (isEmpty(plan.launches[index], numbers))
    return std::nullopt;
  std::clock_t start = usage.times ? std::clock() : 0;
  bool isDone = runPrograms(index);
  if (usage.times)
    usage.times->push_back(
        {plan.launches[index].kernel,
         static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC});
  if (!isDone) {
    isInterrupted = true;
    return "interrupted";
  }
  // Later launches would read results that are missing.
  if (!failures.isEmpty())
    return "failed";
  return std::nullopt;
}

/// Runs a launch's program at every point of its grid.
bool HostRun::runPrograms(size_t index) {
  const Launch &launch = plan.launches[index];
  int64_t grid[] = {numbers[launch.grid[0]], numbers[launch.grid[1]],
                    numbers[launch.grid[2]]};
  int64_t total;
  if (__builtin_mul_overflow(grid[0], grid[1], &total) ||
      __builtin_mul_overflow(total, grid[2], &total))
    throw Failure(NSACC_RT_INVALID, kSizesTooLarge);
  usage.programs += total;
  std::vector<uint64_t> slots = getSlots(launch);
  HostFunction function = functions[index];
  uint64_t key = LaunchCosts::getKey(buffers, numParameters, index);
  Work work;
  work.total = total;
  work.threads = options.threads;
  work.stackBytes = code.stackBytes;
  work.nanoseconds = costs.find(key);
  work.call = [&](int64_t begin, int64_t end) {
    FailureScope scope(failures);
    for (int64_t i = end - 1; i >= begin; --i)
      function(slots.data(), i % grid[0], i / grid[0] % grid[1],
               i / (grid[0] * grid[1]));
  };
  auto taken = runInParallel(work, options.isInterrupted);
  if (taken)
    costs.add(key, *taken);
  return taken.has_value();
}

Problem HostRun::allocate(size_t workspace) {
  if (bytes[workspace])
    return std::nullopt; // set by a launch before this one
  Buffer &buffer = buffers[numParameters + workspace];
  const Workspace &planned = plan.workspaces[workspace];
  buffer.rank = static_cast<uint32_t>(planned.sizes.size());
  int64_t exact;
  if (Problem problem = computeExtent(planned, numbers, buffer.sizes.data(),
                                      buffer.strides.data(), exact))
    return problem;
  int64_t size = alignWorkspace(exact, kHostAlignment);
  void *data = std::aligned_alloc(kHostAlignment, static_cast<size_t>(size));
  if (!data)
    throw Failure(NSACC_RT_MEMORY, "no memory for a workspace of " +
                                       std::to_string(size) + " bytes");
  buffer.address = reinterpret_cast<uint64_t>(data);
  bytes[workspace] = size;
  allBytes += size;
  usage.peakWorkspaceBytes = std::max(usage.peakWorkspaceBytes, allBytes);
  return std::nullopt;
}

void HostRun::release(size_t workspace) {
  if (!bytes[workspace])
    return;
  std::free(
      reinterpret_cast<void *>(buffers[numParameters + workspace].address));
  allBytes -= bytes[workspace];
  bytes[workspace] = 0;
}

/// A buffer is passed as base, aligned address, offset, sizes and strides.
std::vector<uint64_t> HostRun::getSlots(const Launch &launch) const {
  std::vector<uint64_t> slots;
  for (const Argument &argument : launch.arguments) {
    if (!argument.isBuffer) {
      slots.push_back(static_cast<uint64_t>(numbers[argument.index]));
      continue;
    }
    const Buffer &buffer = buffers[argument.index];
    slots.insert(slots.end(), {buffer.address, buffer.address, 0});
    for (uint32_t dim = 0; dim < buffer.rank; ++dim)
      slots.push_back(static_cast<uint64_t>(buffer.sizes[dim]));
    for (uint32_t dim = 0; dim < buffer.rank; ++dim)
      slots.push_back(static_cast<uint64_t>(buffer.strides[dim]));
  }
  return slots;
}
