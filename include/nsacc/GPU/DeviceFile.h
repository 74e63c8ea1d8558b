//===- DeviceFile.h - Devices as JSON ---------------------------*- C++ -*-===//

#ifndef NSACC_GPU_DEVICEFILE_H
#define NSACC_GPU_DEVICEFILE_H

#include "nsacc/GPU/Device.h"

namespace llvm::json {
class OStream;
} // namespace llvm::json

namespace nsacc::gpu {

/// Writes JSON that parseDevice reads: an object with `name`,
/// `compute_capability` and a key for each of the limits. `code` is in it if it
/// isn't the device's newest.
void writeDevice(llvm::json::OStream &json, const Device &device);

/// Reads a device from JSON. `where` names the text in errors, "'h200.json'".
llvm::Expected<Device> parseDevice(llvm::StringRef text, llvm::StringRef where);
/// Reads a device from a file.
llvm::Expected<Device> readDeviceFile(llvm::StringRef path);

} // namespace nsacc::gpu

#endif // NSACC_GPU_DEVICEFILE_H
