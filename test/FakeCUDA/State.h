//===- State.h - State of the fake driver -----------------------*- C++ -*-===//

#ifndef NSACC_TEST_FAKECUDA_STATE_H
#define NSACC_TEST_FAKECUDA_STATE_H

#include "FakeCUDA.h"
#include <map>
#include <mutex>
#include <set>
#include <thread>

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace nsacc::rt::driver {

struct ContextImpl {
  int device;
  unsigned retained = 0;
};

struct StreamImpl {
  Context context;
  uint64_t id;
  int captureStatus = kCaptureNone;
  uint64_t captureId = 0;
  int captureMode = 0;
  std::thread::id owner = {};
  std::vector<fakecuda::Launch> recorded = {}; ///< recorded by the capture
};

struct EventImpl {
  Stream stream = nullptr; ///< null: not recorded
  double milliseconds = 0; ///< on the fake's clock
  bool wasWaitedFor = false;
};

struct GraphImpl {
  std::vector<fakecuda::Launch> launches;
};

struct GraphExecImpl {
  std::vector<fakecuda::Launch> launches;
};

struct FunctionImpl {
  std::string name;
  Context context;
  std::vector<size_t> parameterBytes;
  bool knowsParameters = true;
  unsigned maxSharedBytes = 48 << 10;
};

struct ModuleImpl {
  Context context;
  /// Machine code that isn't the fake's has a function of every name.
  bool hasEveryFunction = false;
  std::map<std::string, FunctionImpl> functions;
};

} // namespace nsacc::rt::driver

namespace fakecuda {

using driver::Result;

constexpr Result kInvalidValue = driver::results::invalidValue,
                 kNotInitialized = 3, kInvalidContext = 201,
                 kInvalidHandle = 400, kNotFound = 500, kNotReady = 600,
                 kNotSupported = 801;
/// The most devices that can be simulated at the same time.
constexpr int kMostDevices = 8;

/// A device with the properties that the driver reports.
struct FakeDevice {
  const char *name;
  int major, minor;
  /// Bytes of shared memory: for a block, and for a multiprocessor.
  int sharedBytes, sharedBytesOfMultiprocessor;
  int multiprocessors, l2Bytes;
};

/// The devices of a list of compute capabilities.
std::vector<FakeDevice> makeDevices(const std::string &capabilities);
/// The devices of FAKE_CUDA_DEVICES.
std::vector<FakeDevice> getInitialDevices();

struct Injected {
  Result result;
  unsigned after;
};

struct State {
  std::mutex mutex;
  bool isInitialized = false;
  int version = 13000;
  std::vector<FakeDevice> devices = getInitialDevices();
  driver::ContextImpl contexts[kMostDevices] = {{0}, {1}, {2}, {3},
                                                {4}, {5}, {6}, {7}};
  std::map<uint64_t, size_t> deviceMemory, hostMemory;
  /// Blocks of each kernel that run on a multiprocessor.
  int residentBlocks = 1;
  size_t allocatedBytes = 0, largestAllocation = size_t(1) << 40;
  std::vector<driver::Stream> streams;
  std::set<driver::Event> events;
  std::set<driver::Graph> graphs;
  std::set<driver::GraphExec> graphExecs;
  double milliseconds = 0;
  uint64_t nextId = 100;
  std::map<std::string, unsigned> calls;
  std::map<std::string, Injected> injected;
  std::vector<Launch> launches;
  std::function<void(const Launch &)> kernelBody;
  std::string misuse;

  static State &get();

  /// Records a wrong call; returns `result`.
  Result misused(const std::string &what, Result result = kInvalidValue);
  /// The memory that holds an address, or null.
  const std::pair<const uint64_t, size_t> *findMemory(uint64_t address) const;
};

/// Counts a call. Returns an error if the call should fail.
Result enter(State &state, const char *symbol);
/// Fails, and invalidates captures, if allocations and waits are forbidden.
Result checkUnsafe(State &state, const char *symbol);
/// Begins a capture of the stream by this thread.
void capture(State &state, driver::Stream stream, int mode);
/// Records a launch that is run, and advances the clock.
void run(State &state, Launch launch);
/// This thread's current context.
driver::Context getCurrent();
std::vector<driver::Context> &getStack();
int &getThreadMode();
/// The stream, or the current context's stream for null.
driver::Stream resolve(State &state, driver::Stream stream);

} // namespace fakecuda

/// Begins a function of the driver: locks, counts the call, and returns if it
/// should fail.
#define FAKE_ENTER(symbol)                                                     \
  fakecuda::State &state = fakecuda::State::get();                             \
  std::lock_guard<std::mutex> lock(state.mutex);                               \
  if (fakecuda::Result injected = fakecuda::enter(state, #symbol))             \
  return injected

#define FAKE_ENTER_UNSAFE(symbol)                                              \
  FAKE_ENTER(symbol);                                                          \
  if (fakecuda::Result forbidden = fakecuda::checkUnsafe(state, #symbol))      \
  return forbidden

#endif // NSACC_TEST_FAKECUDA_STATE_H
