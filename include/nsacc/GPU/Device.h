//===- Device.h - Properties of GPUs, and the code they run -----*- C++ -*-===//

#ifndef NSACC_GPU_DEVICE_H
#define NSACC_GPU_DEVICE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <compare>
#include <optional>
#include <string>

namespace nsacc::gpu {

/// A compute capability: 8 and 6 for 8.6.
struct Capability {
  int major = 0, minor = 0;

  auto operator<=>(const Capability &) const = default;
};

/// "8.6"
std::string toString(Capability capability);
/// Reads "8.6"; none if `text` isn't of that form.
std::optional<Capability> parseCapability(llvm::StringRef text);

/// Limits of a device.
struct Limits {
  /// Shared memory in bytes: the most that one block can ask for, and the total
  /// for all blocks of a multiprocessor.
  int64_t sharedBytesOfBlock = 0, sharedBytesOfMultiprocessor = 0;
  /// Number of 32-bit registers.
  int64_t registersOfMultiprocessor = 0;
  int64_t multiprocessors = 0;
  /// Size of the L2 cache.
  int64_t l2Bytes = 0;

  bool operator==(const Limits &) const = default;
};

/// The kind of code that nsacc writes for an architecture.
struct Code {
  /// PTX's target, "sm_80".
  llvm::StringLiteral architecture = "";
  /// The version of PTX as LLVM's NVPTX backend names it, "+ptx78".
  llvm::StringLiteral ptxFeatures = "";
  /// Runs on GPUs of this compute capability only.
  bool isSpecific = false;
  /// Features that the code uses: asynchronous copies from global to shared
  /// memory; bulk copies of tensors; asynchronous products of warpgroups;
  /// kernels that start while the one before still runs, and wait for its end.
  bool hasAsyncCopies = false, hasBulkCopies = false,
       hasWarpgroupProducts = false, hasDependentLaunches = false;
  /// The most bytes of a kernel's parameters (PTX ISA, "Kernel Function
  /// Parameters": it depends on the version of PTX).
  int64_t parameterBytes = 4352;
};

/// A GPU to compile for. The caller that starts a compilation provides it;
/// schedules, passes, lowering, PTX and packages read its fields, never its
/// name.
struct Device {
  /// Name in messages: "sm_86", "NVIDIA A40".
  std::string name;
  Capability capability;
  Limits limits;
  /// The newest code that runs on it; it may use fewer features than the device
  /// has.
  Code code;

  /// The architecture of the machine code: the device's, "sm_86".
  std::string getMachineArchitecture() const;
  /// "code of its own", "code for sm_80, the newest that runs on it"
  std::string explainCode() const;
  /// The product that the device's name contains, "H200"; else the product of a
  /// named device of its compute capability.
  llvm::StringRef getProduct() const;
  /// Whether its name contains a product, or is a named device's.
  bool isOfKnownProduct() const;
  /// Memory bandwidth in bytes per second, by the product's data sheet. Only
  /// predicted times depend on it.
  double getMemoryBytesPerSecond() const;
  /// Identifies this device's code, on one line.
  std::string getKey() const;
};

/// A device with the newest code that runs on it. Fails if all of nsacc's code
/// is for newer GPUs.
llvm::Expected<Device> makeDevice(std::string name, Capability capability,
                                  const Limits &limits);

/// A device that can be selected by name. Its number of multiprocessors and its
/// cache size are those of `product`, "H100 SXM"; all other limits are the same
/// for all devices of the compute capability.
struct NamedDevice {
  llvm::StringLiteral product;
  Device device;
};

/// All of them, newest first.
llvm::ArrayRef<NamedDevice> getNamedDevices();
/// Null for a name that isn't known.
const Device *findDevice(llvm::StringRef name);
/// The compute capability in "sm_90a"; none if `name` isn't of that form.
std::optional<Capability> parseArchitecture(llvm::StringRef name);
/// The compute capability of a product, "H100" or "RTX 4090"; none if the name
/// isn't known.
std::optional<Capability> findProduct(llvm::StringRef name);
/// Null if no named device has that capability.
const Device *findDevice(Capability capability);

} // namespace nsacc::gpu

#endif // NSACC_GPU_DEVICE_H
