//===- DeviceTensors.h - Tensors in the memory of a GPU ---------*- C++ -*-===//

#ifndef NSACC_LIB_DRIVER_DEVICETENSORS_H
#define NSACC_LIB_DRIVER_DEVICETENSORS_H

#include "nsacc-rt/nsacc_rt.h"
#include "nsacc/Driver/CompiledProgram.h"

namespace nsacc {

/// The runtime's error message as an error; success for NSACC_RT_OK.
llvm::Error toError(nsacc_rt_status status);

/// The tensor in the runtime's format, valid as long as `tensor` lives.
nsacc_rt_tensor toRuntime(const Tensor &tensor);

/// Row-major copies of host tensors in a device's memory.
class DeviceTensors {
public:
  explicit DeviceTensors(int device) : device(device) {}
  ~DeviceTensors();
  DeviceTensors(const DeviceTensors &) = delete;
  DeviceTensors &operator=(const DeviceTensors &) = delete;

  llvm::Error upload(const Tensor &host);
  /// Allocates memory without setting it.
  llvm::Error allocate(const Tensor &host);
  /// Copies the `index`-th tensor back.
  llvm::Error download(size_t index, const Tensor &host) const;
  llvm::ArrayRef<Tensor> getTensors() const { return tensors; }

private:
  int device;
  std::vector<Tensor> tensors;
};

} // namespace nsacc

#endif // NSACC_LIB_DRIVER_DEVICETENSORS_H
