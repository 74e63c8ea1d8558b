//===- Host.h - Runs packages on the host's processor -----------*- C++ -*-===//

#ifndef NSACC_RT_HOST_H
#define NSACC_RT_HOST_H

#include "nsacc-rt/nsacc_rt.h"
#include "nsacc/RT/HostNames.h"
#include "nsacc/RT/Package.h"
#include <atomic>
#include <functional>
#include <memory>

namespace nsacc::rt {

/// The address, in this process, of the function of this name that machine code
/// may call; null if there is none.
void *findHostFunction(const std::string &name);

/// A program's code: its arguments are in slots of 8 bytes; then comes the
/// point of the grid.
using HostFunction = void (*)(const uint64_t *slots, int64_t x, int64_t y,
                              int64_t z);

struct HostOptions {
  /// Threads of a run; 0: as many as the machine has cores.
  unsigned threads = 0;
  /// Called now and then by the calling thread; if it returns true, the run
  /// fails and leaves results half written. May be empty.
  std::function<bool()> isInterrupted = {};
};

/// Processor time of one launch, of all threads of the process.
struct LaunchTime {
  std::string kernel;
  double seconds;
};

/// Memory and work of one run, besides inputs and results.
struct HostUsage {
  int64_t peakWorkspaceBytes = 0;
  int64_t launches = 0;
  int64_t programs = 0; ///< points of grids
  /// Receives the times of launches; null: they aren't measured.
  std::vector<LaunchTime> *times = nullptr;
};

/// Whether the package has code that runs only on the processor that compiled
/// it. Such packages shouldn't be distributed.
bool isForThisProcessor(const Package &package);

/// Stack size of a new thread.
int64_t getStackBytes();
/// Fails if a thread's stack is smaller than the bytes that programs take.
[[nodiscard]] Problem checkStack(int64_t bytes);
/// Whether the calling thread's stack has that many bytes left.
bool hasRoomOnStack(int64_t bytes);

class HostVariant;
struct SameSize;

/// A package on this processor. Runs may overlap.
class HostModule {
public:
  /// Throws a Failure if no code of the package runs on this processor.
  explicit HostModule(Package package);
  ~HostModule();
  HostModule(const HostModule &) = delete;
  HostModule &operator=(const HostModule &) = delete;

  const Package &getPackage() const { return package; }
  /// The architecture of the first variant that the processor can run.
  const std::string &getArchitecture() const;
  size_t countLaunches() const;
  /// Workspace of the last run that ended.
  int64_t getWorkspaceBytes() const { return workspaceBytes; }

  /// Runs the kernel on inputs and results, in the order of its parameters.
  /// Copies tensors if the code isn't for their strides. The results don't
  /// depend on the number of threads. Throws a Failure.
  void run(const nsacc_rt_tensor *tensors, size_t count,
           const HostOptions &options, HostUsage *usage = nullptr);

private:
  Package package;
  std::vector<SameSize> sameSizes;
  std::vector<std::unique_ptr<HostVariant>> variants; ///< that can run here
  std::atomic<int64_t> workspaceBytes = 0;
};

} // namespace nsacc::rt

#endif // NSACC_RT_HOST_H
