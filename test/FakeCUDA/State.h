//===- State.h - What the fake driver knows ---------------------*- C++ -*-===//

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
  std::vector<fakecuda::Launch> recorded = {}; ///< by the capture
};

struct EventImpl {
  Stream stream = nullptr; ///< null: it isn't recorded
  double milliseconds = 0; ///< of the fake's clock
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
  /// Every name is a function of machine code that isn't the fake's own.
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
/// Devices that can be played at once.
constexpr int kMostDevices = 8;

/// A device as the driver tells of it.
struct FakeDevice {
  const char *name;
  int major, minor;
  /// Bytes of shared memory: of a block, and of a multiprocessor.
  int sharedBytes, sharedBytesOfMultiprocessor;
  int multiprocessors, l2Bytes;
};

/// The devices of a list of compute capabilities.
std::vector<FakeDevice> makeDevices(const std::string &capabilities);
/// Those of FAKE_CUDA_DEVICES.
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
  /// Of each kernel, on a multiprocessor.
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

  /// Notes a wrong call; returns `result`.
  Result misused(const std::string &what, Result result = kInvalidValue);
  /// The memory that holds an address, or null.
  const std::pair<const uint64_t, size_t> *findMemory(uint64_t address) const;
};

/// Counts a call. Not success where it is to fail.
Result enter(State &state, const char *symbol);
/// Fails, and invalidates captures, where an allocation or a wait may not be.
Result checkUnsafe(State &state, const char *symbol);
/// Begins a capture of the stream by this thread.
void capture(State &state, driver::Stream stream, int mode);
/// Notes a launch that is run, and moves the clock.
void run(State &state, Launch launch);
/// This thread's current context.
driver::Context getCurrent();
std::vector<driver::Context> &getStack();
int &getThreadMode();
/// The stream, or that which stands for null in the current context.
driver::Stream resolve(State &state, driver::Stream stream);

} // namespace fakecuda

/// Begins a function of the driver: locks, counts, and leaves on failures that
/// are to come.
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
