//===- LoadedPackage.h - Loaded code and its runs ---------------*- C++ -*-===//

#ifndef NSACC_LIB_DRIVER_LOADEDPACKAGE_H
#define NSACC_LIB_DRIVER_LOADEDPACKAGE_H

#include "DeviceTensors.h"
#include "nsacc/Target/CPU/CPU.h"
#include <memory>

namespace nsacc {

/// A package's module on one device.
class LoadedPackage {
public:
  static llvm::Expected<std::unique_ptr<LoadedPackage>>
  load(llvm::StringRef bytes, int device) {
    auto loaded = std::make_unique<LoadedPackage>();
    if (llvm::Error error = toError(
            nsacc_rt_load(bytes.data(), bytes.size(), device, &loaded->module)))
      return std::move(error);
    return loaded;
  }

  LoadedPackage() = default;
  ~LoadedPackage() { nsacc_rt_unload(module); }
  LoadedPackage(const LoadedPackage &) = delete;
  LoadedPackage &operator=(const LoadedPackage &) = delete;
  nsacc_rt_module *get() const { return module; }

private:
  nsacc_rt_module *module = nullptr;
};

/// Runs a module on the options' device: on tensors in the device's memory, or
/// on copies of the host's tensors; then it waits for the results.
llvm::Error runModule(nsacc_rt_module *module, llvm::ArrayRef<Tensor> inputs,
                      llvm::ArrayRef<Tensor> results, const RunOptions &options,
                      RunStatistics &statistics);

/// Runs code for this processor.
llvm::Error runExecutable(const cpu::Executable &executable,
                          llvm::ArrayRef<Tensor> inputs,
                          llvm::ArrayRef<Tensor> results,
                          const RunOptions &options, RunStatistics &statistics);

} // namespace nsacc

#endif // NSACC_LIB_DRIVER_LOADEDPACKAGE_H
