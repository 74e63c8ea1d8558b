//===- Devices.cpp - The GPUs of this machine -----------------------------===//

#include "nsacc/Driver/Devices.h"
#include "DeviceTensors.h"
#include "nsacc-rt/nsacc_rt.h"
#include "nsacc/GPU/DeviceFile.h"

using namespace nsacc;

llvm::Expected<gpu::Device> nsacc::queryDevice(int ordinal) {
  nsacc_rt_device_info info;
  if (llvm::Error error = toError(nsacc_rt_device(ordinal, &info)))
    return std::move(error);
  gpu::Limits limits;
  limits.sharedBytesOfBlock = info.shared_bytes;
  limits.sharedBytesOfMultiprocessor = info.shared_bytes_of_multiprocessor;
  limits.registersOfMultiprocessor = info.registers_of_multiprocessor;
  limits.multiprocessors = info.multiprocessors;
  limits.l2Bytes = info.l2_bytes;
  return gpu::makeDevice(info.name, {info.major, info.minor}, limits);
}

/// Sets device and ordinal to the first GPU that code runs on.
static llvm::Error findMachineDevice(CompileOptions &options) {
  int count = 0;
  if (llvm::Error error = toError(nsacc_rt_device_count(&count)))
    return llvm::createStringError(
        "target 'cuda' isn't there: " + llvm::toString(std::move(error)) +
        "; named devices, as 'sm_90a', are compiled for without a GPU");
  std::string reasons;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    llvm::Expected<gpu::Device> device = queryDevice(ordinal);
    if (device) {
      options.device = std::move(*device);
      options.ordinal = ordinal;
      return llvm::Error::success();
    }
    reasons += (ordinal ? "; device " : "device ") + std::to_string(ordinal) +
               ", " + llvm::toString(device.takeError());
  }
  return llvm::createStringError(
      "this machine has no GPU that nsacc compiles for: " + reasons);
}

llvm::Error nsacc::resolveTarget(const TargetInfo &target,
                                 const std::optional<std::string> &deviceFile,
                                 CompileOptions &options) {
  options.target = target.target;
  options.device.reset();
  options.ordinal.reset();
  bool isOpen = target.target == Target::GPU && !target.device;
  if (deviceFile && !isOpen)
    return llvm::createStringError(
        "a device's file goes with target 'cuda', found target '" +
        target.name + "'");
  if (target.device)
    options.device = *target.device;
  if (!isOpen)
    return llvm::Error::success();
  if (!deviceFile)
    return findMachineDevice(options);
  return gpu::readDeviceFile(*deviceFile).moveInto(options.device);
}
