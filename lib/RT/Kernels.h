//===- Kernels.h - The code of a variant on a device ------------*- C++ -*-===//

#ifndef NSACC_LIB_RT_KERNELS_H
#define NSACC_LIB_RT_KERNELS_H

#include "Driver.h"
#include "Images.h"
#include "nsacc/RT/Package.h"
#include <atomic>
#include <mutex>

namespace nsacc::rt {

/// Properties of a module's device.
struct DeviceInfo {
  int ordinal = 0;
  int major = 0, minor = 0;
  int multiprocessors = 0, sharedBytes = 0;

  explicit DeviceInfo(int ordinal);
};

/// The kernels of a variant. The driver compiles them when they are first
/// needed.
class Kernels {
public:
  /// `target` is the index of the variant's code for the device. Launches have
  /// the failure records from `firstRecord` on.
  Kernels(const Package &package, const Variant &variant, size_t target,
          const DeviceInfo &device, Images &images, size_t firstRecord)
      : package(package), variant(variant), code(variant.targets[target]),
        device(device), images(images), firstRecord(firstRecord) {}

  const Variant &getVariant() const { return variant; }
  const TargetCode &getCode() const { return code; }
  const Plan &getPlan() const { return code.plan; }
  size_t getRecord(size_t launch) const { return firstRecord + launch; }

  /// Compiles and checks the kernels unless that was done. Any thread may call
  /// it, even while a stream is captured, in the module's context. Throws if a
  /// kernel's parameters differ from its launch's; a later call tries again.
  void load();
  bool areLoaded() const { return isLoaded.load(std::memory_order_acquire); }
  driver::Function getFunction(size_t launch) const {
    return functions[launch];
  }
  /// Number of blocks of a persistent launch that the device runs at the same
  /// time.
  int getResidentBlocks(size_t launch) const { return residentBlocks[launch]; }

private:
  /// The largest size among the launches of its kernel that the device can run:
  /// variants with the same image share its functions.
  uint32_t getSharedBytes(const Launch &launch) const;
  driver::Function loadFunction(const Launch &launch) const;
  int countResidentBlocks(const Launch &launch,
                          driver::Function function) const;
  void checkParameters(const Launch &launch, driver::Function function) const;

  const Package &package;
  const Variant &variant;
  const TargetCode &code;
  const DeviceInfo &device;
  Images &images;
  size_t firstRecord;
  std::mutex mutex;
  std::atomic<bool> isLoaded = false;
  std::vector<driver::Function> functions; ///< of each launch
  std::vector<int> residentBlocks;         ///< of each launch
};

/// The variant's target that a device of this capability, 9 and 0, runs best;
/// none if it runs none.
std::optional<size_t> chooseTarget(const Package &package,
                                   const Variant &variant, int major,
                                   int minor);
/// Throws an error: a device of this capability runs no code of the package.
[[noreturn]] void failWithoutTarget(const Package &package, int major,
                                    int minor);
} // namespace nsacc::rt

#endif // NSACC_LIB_RT_KERNELS_H
