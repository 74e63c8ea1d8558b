//===- Device.h - What GPUs have, and whose code they run -------*- C++ -*-===//

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
/// Reads "8.6"; none where `text` isn't of that form.
std::optional<Capability> parseCapability(llvm::StringRef text);

/// What a device has.
struct Limits {
  /// Shared memory in bytes: of one block that asks for all it can get, and of
  /// all blocks of a multiprocessor together.
  int64_t sharedBytesOfBlock = 0, sharedBytesOfMultiprocessor = 0;
  /// 32-bit registers.
  int64_t registersOfMultiprocessor = 0;
  int64_t multiprocessors = 0;
  /// The cache of the second level.
  int64_t l2Bytes = 0;

  bool operator==(const Limits &) const = default;
};

/// The code that nsacc writes for an architecture.
struct Code {
  /// PTX's target, "sm_80".
  llvm::StringLiteral architecture = "";
  /// The version of PTX as LLVM's NVPTX names it, "+ptx78".
  llvm::StringLiteral ptxFeatures = "";
  /// Made for this compute capability; runs on no other.
  bool isSpecific = false;
  /// What it uses: copies from global to shared memory that registers don't
  /// take part in; bulk copies of tensors; products of warpgroups in flight;
  /// kernels that start while the one before still runs, and wait for its end.
  bool hasAsyncCopies = false, hasBulkCopies = false,
       hasWarpgroupProducts = false, hasDependentLaunches = false;
  /// What a kernel's parameters may take (PTX ISA, "Kernel Function
  /// Parameters": it depends on the version of PTX).
  int64_t parameterBytes = 4352;
};

/// A GPU to compile for. Whoever starts a compilation has one; schedules,
/// passes, lowering, PTX and packages read it, and ask for no name.
struct Device {
  /// For messages: "sm_86", "NVIDIA A40".
  std::string name;
  Capability capability;
  Limits limits;
  /// The newest code that runs on it; its features may be fewer than the
  /// device's.
  Code code;

  /// What machine code is made for: the device's own architecture, "sm_86".
  std::string getMachineArchitecture() const;
  /// "code of its own", "code for sm_80, the newest that runs on it"
  std::string explainCode() const;
  /// The product that its name tells, "H200"; else that of a named device of
  /// its compute capability.
  llvm::StringRef getProduct() const;
  /// Whether its name tells a product, or is that of a named device.
  bool isOfKnownProduct() const;
  /// Bytes that memory moves in a second, by the product's data sheet. Nothing
  /// but the times that are predicted depends on it.
  double getMemoryBytesPerSecond() const;
  /// What tells this device's code from others', on one line.
  std::string getKey() const;
};

/// A device with the newest code that runs on it. Fails where all of nsacc's
/// code is for later ones.
llvm::Expected<Device> makeDevice(std::string name, Capability capability,
                                  const Limits &limits);

/// A device that can be named. Its numbers of multiprocessors and bytes of
/// cache are those of `product`, "H100 SXM"; others are the same for all
/// devices of the compute capability.
struct NamedDevice {
  llvm::StringLiteral product;
  Device device;
};

/// All of them, newest first.
llvm::ArrayRef<NamedDevice> getNamedDevices();
/// Null for a name that isn't known.
const Device *findDevice(llvm::StringRef name);
/// The compute capability in "sm_90a"; none where `name` isn't of that form.
std::optional<Capability> parseArchitecture(llvm::StringRef name);
/// The compute capability of a product, "H100" or "RTX 4090"; none where the
/// name isn't known.
std::optional<Capability> findProduct(llvm::StringRef name);
/// Null where no named device has that capability.
const Device *findDevice(Capability capability);

} // namespace nsacc::gpu

#endif // NSACC_GPU_DEVICE_H
