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
  /// The architecture of the first variant that the device can run.
  const std::string &getArchitecture() const {
    return variants.front()->getCode().architecture;
  }
  /// The most launches of any variant.
  size_t countLaunches() const;
  int getDevice() const { return device.ordinal; }

  void launch(const nsacc_rt_tensor *tensors, size_t count,
              driver::Stream stream);
  void reserve(const nsacc_rt_tensor *tensors, size_t count,
               driver::Stream stream);
  /// Options must have passed checkOptions.
  void measure(const nsacc_rt_tensor *tensors, size_t count,
               const nsacc_rt_measure_options &options, double *milliseconds);
  void check(driver::Stream stream);
  int64_t getWorkspaceBytes() const { return workspaceBytes; }

private:
  /// A call's variant, and its bytes of workspace.
  struct Call {
    Kernels &kernels;
    int64_t bytes;
  };

  /// Returns the device's ordinal.
  int chooseContext(int wanted);
  StreamState &getState(driver::Stream stream);
  /// Launches with a state that may differ from the stream's.
  void launch(const nsacc_rt_tensor *tensors, size_t count,
              driver::Stream stream, StreamState &state);
  /// Computes buffers, numbers and workspace of a call in the state's scratch.
  Call prepare(const nsacc_rt_tensor *tensors, size_t count,
               StreamState &state) const;
  /// Returns the parameter for the first block along the last axis, if the
  /// kernel has one; else null.
  uint64_t *pack(const Launch &launch, size_t record, StreamState &state);
  driver::TensorMap getMap(const Launch &launch, const TensorMap &map,
                           const StreamState &state);
  /// `followsOwn`: the last launch on the stream is the one before this in the
  /// plan. Returns false if this one's grid is empty.
  bool enqueue(const Kernels &kernels, size_t index, bool followsOwn,
               StreamState &state, driver::Stream stream);
  void reportFailure(StreamState &state, driver::Stream stream);

  Package package;
  std::optional<PrimaryContext> primary;
  driver::Context context = nullptr;
  DeviceInfo device;
  Images images;
  std::vector<std::unique_ptr<Kernels>> variants; ///< that the device can run
  /// For each failure record, the code that may write it.
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
