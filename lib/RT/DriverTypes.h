//===- DriverTypes.h - Types of the CUDA driver's interface -----*- C++ -*-===//
//
// Declared here so that no CUDA toolkit is needed to build. Layouts and numbers
// follow the driver's stable ABI.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_LIB_RT_DRIVERTYPES_H
#define NSACC_LIB_RT_DRIVERTYPES_H

#include <cstddef>
#include <cstdint>

namespace nsacc::rt::driver {

using Result = int;
using Device = int;
using Address = unsigned long long;
using Context = struct ContextImpl *;
using Module = struct ModuleImpl *;
using Function = struct FunctionImpl *;
using Stream = struct StreamImpl *;
using Event = struct EventImpl *;
using Graph = struct GraphImpl *;
using GraphExec = struct GraphExecImpl *;

namespace results {
constexpr Result success = 0, invalidValue = 1, outOfMemory = 2,
                 deinitialized = 4, noDevice = 100, noBinaryForDevice = 209,
                 invalidPTX = 218, unsupportedPTX = 222,
                 captureUnsupported = 900, captureInvalidated = 901;
} // namespace results

namespace deviceAttributes {
constexpr int multiprocessors = 16, l2Bytes = 38, major = 75, minor = 76,
              sharedBytesOfMultiprocessor = 81, registersOfMultiprocessor = 82,
              sharedBytesOptIn = 97;
} // namespace deviceAttributes

constexpr int kMaxDynamicSharedBytes = 8; // of a function
constexpr unsigned kPortable = 1, kDeviceMapped = 2;
constexpr unsigned kNonBlocking = 1; // of a stream
constexpr int kCaptureModeRelaxed = 2;
constexpr int kCaptureNone = 0, kCaptureActive = 1;

namespace jitOptions {
constexpr int errorLog = 5, errorLogBytes = 6;
} // namespace jitOptions

struct alignas(64) TensorMap {
  uint64_t words[16];
};

struct LaunchAttribute {
  static constexpr int clusterDimension = 4, programmaticSerialization = 6;

  int id;
  int padding;
  union {
    unsigned cluster[3];
    int isProgrammatic;
    char bytes[64];
  };
};

struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned sharedBytes;
  Stream stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};

} // namespace nsacc::rt::driver

#endif // NSACC_LIB_RT_DRIVERTYPES_H
