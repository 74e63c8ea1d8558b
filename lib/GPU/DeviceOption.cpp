//===- DeviceOption.cpp - Devices as options of passes --------------------===//

#include "nsacc/GPU/DeviceOption.h"
#include "nsacc/GPU/DeviceFile.h"
#include "llvm/Support/JSON.h"

using namespace nsacc::gpu;

/// Pipelines count braces and quotes, in names as well.
static Device withPlainName(Device device) {
  for (char &c : device.name)
    if (llvm::StringRef("{}[]()<>'\"\\").contains(c))
      c = '_';
  return device;
}

llvm::raw_ostream &nsacc::gpu::operator<<(llvm::raw_ostream &os,
                                          const DeviceOption &device) {
  if (!device)
    return os;
  const Device *named = findDevice(device->name);
  if (named && named->getKey() == device->getKey())
    return os << device->name;
  llvm::json::OStream json(os);
  writeDevice(json, withPlainName(*device));
  return os;
}

bool llvm::cl::parser<DeviceOption>::parse(llvm::cl::Option &option,
                                           llvm::StringRef,
                                           llvm::StringRef text,
                                           DeviceOption &device) {
  if (text.empty()) {
    device = DeviceOption();
    return false;
  }
  if (const Device *named = findDevice(text)) {
    device = DeviceOption(*named);
    return false;
  }
  if (!text.contains(':'))
    return option.error("'" + text +
                        "' is neither a device's name, as sm_90a, nor JSON");
  // A pipeline strips the outer braces.
  std::string object =
      text.starts_with("{") ? text.str() : ("{" + text + "}").str();
  llvm::Expected<Device> read = parseDevice(object, "the device");
  if (!read)
    return option.error(llvm::toString(read.takeError()));
  device = DeviceOption(std::move(*read));
  return false;
}
