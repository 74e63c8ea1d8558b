//===- FakeCUDA.h - A CUDA driver without a GPU -----------------*- C++ -*-===//
//
// libcuda.so.1 for tests: it checks how it is called, keeps device memory on
// the host, records launches instead of running them, and fails where it is
// told to. Its clock, which events read, is 1 ms further behind each kernel,
// and 100 ms behind each cuMemsetD32Async. It plays devices of the compute
// capabilities that FAKE_CUDA_DEVICES lists, "9.0,8.0" unless that is set.
//
// With FAKE_CUDA_LOG in the environment, launches are also written to
// that file. Copies to the host take what the file FAKE_CUDA_ANSWERS has, one
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
  /// May start before the launch in front of it has ended.
  bool isDependent;
  /// In a graph's recording, not run.
  bool isCaptured;
  std::vector<std::string> parameters;

  uint64_t getWord(size_t parameter) const;
};

/// What the fake encodes into a tensor map.
struct MapContent {
  uint64_t address;
  uint32_t type, rank;
  uint64_t sizes[5], strides[4];
  uint32_t box[5];
  uint8_t steps[5];
  uint32_t swizzle;
};
static_assert(sizeof(MapContent) <= sizeof(driver::TensorMap));

/// Forgets calls, launches and failures to come, not memory or contexts.
void reset();
/// Lets call number `after` (from 0 on) of `symbol` from now on return
/// `result`.
void failCall(const std::string &symbol, driver::Result result,
              unsigned after = 0);
/// How often a function was called since the last reset.
unsigned countCalls(const std::string &symbol);
/// Calls that allocate or wait, since the last reset.
unsigned countAllocationsAndWaits();
/// Since the last reset: launches, recordings, and replays of these. Not while
/// other threads launch.
const std::vector<Launch> &getLaunches();
/// What a kernel does when it is run: launched, or replayed from a graph. It
/// may not call the fake. Empty: nothing, as after a reset.
void setKernelBody(std::function<void(const Launch &)> body);
/// What was called wrongly since the last reset, one line each; empty if
/// nothing was.
std::string getMisuse();

size_t getAllocatedBytes();
/// Streams, events, graphs and their instances that aren't destroyed yet.
size_t countHandles();
/// What one allocation may take at most; 2^40 bytes unless it is set.
void setLargestAllocation(size_t bytes);
/// Blocks of any kernel that a multiprocessor runs at a time; 1 unless it is
/// set.
void setResidentBlocks(int blocks);
/// Retained primary contexts of all devices.
unsigned getRetained();
void setVersion(int version);
/// Plays other devices, "8.6,7.5", instead of those that it began with; "":
/// those. Call while no context, memory or stream is in use.
void setDevices(const std::string &capabilities);
/// The handle of a function as the driver would find it.
bool isDeviceAddress(uint64_t address);

/// Bytes from an address to the end of the memory that it is in; 0 where there
/// is none.
size_t getRoom(uint64_t address);

/// Machine code of the kernels in PTX, as the fake reads it. Of other machine
/// code it takes every name for a kernel, of unknown parameters.
std::string makeMachineCode(const std::string &ptx);

driver::Stream createStream(int device);
void destroyStream(driver::Stream stream);
/// Records what this thread puts on the stream. Mode 0 (global) forbids
/// allocations to all threads, 1 to this one, 2 allows them.
void beginCapture(driver::Stream stream, int mode = 0);
/// False where something invalidated the capture.
bool endCapture(driver::Stream stream);

/// Makes a device's primary context, or none (-1), the thread's current one.
void setCurrent(int device);

} // namespace fakecuda

#endif // NSACC_TEST_FAKECUDA_FAKECUDA_H
