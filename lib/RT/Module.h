//===- Module.h - A package on a device -------------------------*- C++ -*-===//

#ifndef NSACC_LIB_RT_MODULE_H
#define NSACC_LIB_RT_MODULE_H

#include "Kernels.h"
#include "StreamState.h"
#include "TensorMaps.h"
#include <map>
#include <memory>
#include <optional>

namespace nsacc::rt {

class Module {
public:
  Module(Package package, int device);
  ~Module();
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  const Package &getPackage() const { return package; }
  /// Of the first variant that the device can run.
  const std::string &getArchitecture() const {
    return variants.front()->getCode().architecture;
  }
  /// Of any variant, at most.
  size_t countLaunches() const;
  int getDevice() const { return device.ordinal; }

  void launch(const nsacc_rt_tensor *tensors, size_t count,
              driver::Stream stream);
  void reserve(const nsacc_rt_tensor *tensors, size_t count,
               driver::Stream stream);
  /// Options are those that checkOptions takes.
  void measure(const nsacc_rt_tensor *tensors, size_t count,
               const nsacc_rt_measure_options &options, double *milliseconds);
  void check(driver::Stream stream);
  int64_t getWorkspaceBytes() const { return workspaceBytes; }

private:
  /// A call's variant, and the bytes of its workspace.
  struct Call {
    Kernels &kernels;
    int64_t bytes;
  };

  /// Returns the device's ordinal.
  int chooseContext(int wanted);
  StreamState &getState(driver::Stream stream);
  /// With a state that may be another one than the stream's.
  void launch(const nsacc_rt_tensor *tensors, size_t count,
              driver::Stream stream, StreamState &state);
  /// Buffers, numbers and workspace of a call into the state's scratch.
  Call prepare(const nsacc_rt_tensor *tensors, size_t count,
               StreamState &state) const;
  /// Returns where the first block along the last axis stands, if the kernel
  /// is told it; else null.
  uint64_t *pack(const Launch &launch, size_t record, StreamState &state);
  driver::TensorMap getMap(const Launch &launch, const TensorMap &map,
                           const StreamState &state);
  /// `followsOwn`: what the stream got last is the launch before this one.
  /// False where this one is of an empty grid.
  bool enqueue(const Kernels &kernels, size_t index, bool followsOwn,
               StreamState &state, driver::Stream stream);
  void reportFailure(StreamState &state, driver::Stream stream);

  Package package;
  std::optional<PrimaryContext> primary;
  driver::Context context = nullptr;
  DeviceInfo device;
  Images images;
  std::vector<std::unique_ptr<Kernels>> variants; ///< that the device can run
  /// Of each failure record, the code that may write it.
  std::vector<const TargetCode *> recordCodes;
  std::vector<SameSize> sameSizes;
  TensorMapCache maps;
  std::atomic<int64_t> workspaceBytes = 0;

  struct KeyOrder {
    bool operator()(const StreamKey &lhs, const StreamKey &rhs) const {
      return std::pair(lhs.isCapture, lhs.id) <
             std::pair(rhs.isCapture, rhs.id);
    }
  };
  std::mutex statesMutex;
  std::map<StreamKey, std::unique_ptr<StreamState>, KeyOrder> states;
};

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_MODULE_H
