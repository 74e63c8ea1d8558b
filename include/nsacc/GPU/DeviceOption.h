//===- DeviceOption.h - Devices as options of passes ------------*- C++ -*-===//

#ifndef NSACC_GPU_DEVICEOPTION_H
#define NSACC_GPU_DEVICEOPTION_H

#include "nsacc/GPU/Device.h"
#include "llvm/Support/CommandLine.h"

namespace nsacc::gpu {

/// The device that code is made for; none for the CPU's code. In pipelines it
/// is a name, `device=sm_86`, or JSON as parseDevice reads it,
/// `device={"name":…}`, so that a reproducer has the device's limits.
struct DeviceOption : std::optional<Device> {
  using std::optional<Device>::optional;
  DeviceOption(std::optional<Device> device)
      : std::optional<Device>(std::move(device)) {}
};

llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                              const DeviceOption &device);

} // namespace nsacc::gpu

template <>
class llvm::cl::parser<nsacc::gpu::DeviceOption>
    : public llvm::cl::basic_parser<nsacc::gpu::DeviceOption> {
public:
  using basic_parser::basic_parser;

  /// True on errors, which it prints.
  bool parse(llvm::cl::Option &option, llvm::StringRef name,
             llvm::StringRef text, nsacc::gpu::DeviceOption &device);
  void printOptionDiff(const llvm::cl::Option &,
                       const nsacc::gpu::DeviceOption &, OptVal, size_t) const {
  }
  llvm::StringRef getValueName() const override { return "device"; }
};

#endif // NSACC_GPU_DEVICEOPTION_H
