//===- FakeCUDA.h - A CUDA driver without a GPU -----------------*- C++ -*-===//
//
// libcuda.so.1 for tests: it checks calls, keeps device memory on the host,
// records launches instead of running them, and fails when a test asks for it.
// Its clock, which events read, advances by 1 ms for each kernel, and by 100 ms
// for each cuMemsetD32Async. It simulates devices of the compute capabilities
// that FAKE_CUDA_DEVICES lists, "9.0,8.0" unless that is set.
//
// With FAKE_CUDA_LOG in the environment, launches are also written to that
// file. Copies to the host get the content of the file FAKE_CUDA_ANSWERS, one
// copy after the other, as if kernels had computed it.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_TEST_FAKECUDA_FAKECUDA_H
#define NSACC_TEST_FAKECUDA_FAKECUDA_H

#include "DriverTypes.h"
#include <functional>
#include <string>
#include <vector>

namespace fakecuda {

namespace driver = nsacc::rt::driver;

/// One launch, with the bytes of its parameters as the PTX declares them.
struct Launch {
  std::string kernel;
  unsigned grid[3], threads, sharedBytes, cluster;
  driver::Stream stream;
  driver::Context context;
  /// Whether it may start before the launch before it has ended.
  bool isDependent;
  /// Whether it was recorded into a graph, not run.
  bool isCaptured;
  std::vector<std::string> parameters;

  uint64_t getWord(size_t parameter) const;
};

/// The content of the fake's tensor maps.
struct MapContent {
  uint64_t address;
  uint32_t type, rank;
  uint64_t sizes[5], strides[4];
  uint32_t box[5];
  uint8_t steps[5];
  uint32_t swizzle;
};
static_assert(sizeof(MapContent) <= sizeof(driver::TensorMap));

/// Forgets calls, launches and planned failures, but not memory or contexts.
void reset();
/// Makes call number `after` (from 0 on) of `symbol` from now on return
/// `result`.
void failCall(const std::string &symbol, driver::Result result,
              unsigned after = 0);
/// Number of calls of a function since the last reset.
unsigned countCalls(const std::string &symbol);
/// Number of calls that allocate or wait, since the last reset.
unsigned countAllocationsAndWaits();
/// Launches, recordings, and replays of recordings since the last reset. Must
/// not be called while other threads launch.
const std::vector<Launch> &getLaunches();
/// Sets the effect of a kernel when it is launched, or replayed from a graph.
/// The body may not call the fake. Empty: no effect, as after a reset.
void setKernelBody(std::function<void(const Launch &)> body);
/// Wrong calls since the last reset, one line each; empty if there were none.
std::string getMisuse();

size_t getAllocatedBytes();
/// Number of streams, events, graphs and graph instances that aren't destroyed
/// yet.
size_t countHandles();
/// Sets the largest possible allocation; 2^40 bytes unless it is set.
void setLargestAllocation(size_t bytes);
/// Sets how many blocks of any kernel a multiprocessor runs at the same time; 1
/// unless it is set.
void setResidentBlocks(int blocks);
/// Number of retained primary contexts of all devices.
unsigned getRetained();
void setVersion(int version);
/// Simulates other devices, "8.6,7.5"; "": the initial ones. Must be called
/// while no context, memory or stream is in use.
void setDevices(const std::string &capabilities);
/// The handle of a function as the driver would find it.
bool isDeviceAddress(uint64_t address);

/// Bytes from an address to the end of its memory block; 0 if it is in none.
size_t getRoom(uint64_t address);

/// Machine code of the kernels in PTX, in the fake's format. In other machine
/// code, every name is a kernel with unknown parameters.
std::string makeMachineCode(const std::string &ptx);

driver::Stream createStream(int device);
void destroyStream(driver::Stream stream);
/// Records this thread's work on the stream. Mode 0 (global) forbids
/// allocations to all threads, 1 to this one, 2 allows them.
void beginCapture(driver::Stream stream, int mode = 0);
/// False if the capture was invalidated.
bool endCapture(driver::Stream stream);

/// Makes a device's primary context, or none (-1), the thread's current
/// context.
void setCurrent(int device);

} // namespace fakecuda

#endif // NSACC_TEST_FAKECUDA_FAKECUDA_H
