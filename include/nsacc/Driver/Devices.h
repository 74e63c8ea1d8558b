//===- Devices.h - The GPUs of this machine ---------------------*- C++ -*-===//

#ifndef NSACC_DRIVER_DEVICES_H
#define NSACC_DRIVER_DEVICES_H

#include "nsacc/Driver/CompiledProgram.h"

namespace nsacc {

/// A device of this machine as the CUDA driver describes it, counted from 0.
/// Fails if there is no driver or no such device, or if none of nsacc's code
/// runs on it.
llvm::Expected<gpu::Device> queryDevice(int ordinal);

/// Sets the options' target, and for a GPU the device: the named one, the one
/// that the JSON file describes, or the first of this machine that code runs
/// on.
llvm::Error resolveTarget(const TargetInfo &target,
                          const std::optional<std::string> &deviceFile,
                          CompileOptions &options);

} // namespace nsacc

#endif // NSACC_DRIVER_DEVICES_H
