//===- Module.h - A package on a device -------------------------*- C++ -*-===//

#ifndef NSACC_LIB_RT_MODULE_H
#define NSACC_LIB_RT_MODULE_H

#include "Driver.h"
#include "StreamState.h"
#include "TensorMaps.h"
#include <atomic>
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
  const TargetCode &getCode() const { return package.targets[target]; }
  int getDevice() const { return device; }

  void launch(const nsacc_rt_tensor *tensors, size_t count,
              driver::Stream stream);
  void reserve(const nsacc_rt_tensor *tensors, size_t count,
               driver::Stream stream);
  void check(driver::Stream stream);
  int64_t getWorkspaceBytes() const { return workspaceBytes; }

private:
  void chooseContext(int wanted);
  void load(int major);
  void loadFunctions(int sharedBytesLimit);
  driver::Module loadImage(const std::string &image) const;
  /// Throws where a kernel takes other parameters than a launch passes.
  void checkParameters(const Launch &launch, driver::Function function) const;

  StreamState &getState(driver::Stream stream);
  /// Buffers, numbers and workspace of a launch into the state's scratch.
  int64_t prepare(const nsacc_rt_tensor *tensors, size_t count,
                  StreamState &state) const;
  /// Before anything is launched: all that can be wrong with the launches.
  void checkGrid(const Launch &launch, const StreamState &state) const;
  void pack(const Launch &launch, size_t index, StreamState &state);
  driver::TensorMap getMap(const Launch &launch, const TensorMap &map,
                           const StreamState &state);
  /// `followsOwn`: what the stream got last is the launch before this one.
  /// False where this one is of an empty grid.
  bool enqueue(size_t index, bool followsOwn, StreamState &state,
               driver::Stream stream);
  void reportFailure(StreamState &state, driver::Stream stream);

  Package package;
  size_t target = 0;
  std::vector<SameSize> sameSizes;
  int device = 0, multiprocessors = 0;
  std::optional<PrimaryContext> primary;
  driver::Context context = nullptr;
  driver::Module module = nullptr;
  std::vector<driver::Function> functions; ///< of each launch
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

/// Which of a package's targets a device of this capability runs best, 9 and 0.
/// Throws where there is none.
size_t chooseTarget(const Package &package, int major, int minor);
/// Whether a device of this generation runs the target's machine code.
bool hasMachineCode(const TargetCode &code, int major);

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_MODULE_H
