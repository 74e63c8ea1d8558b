//===- Targets.cpp - Targets of programs ----------------------------------===//

#include "nsacc/Pipelines/Targets.h"
#include "nsacc/GPU/Device.h"
#include "llvm/ADT/STLExtras.h"

using namespace nsacc;

static std::vector<TargetInfo> listTargets() {
  std::vector<TargetInfo> targets = {
      {Target::CPU, "cpu", "this machine's processor, compiled"},
      {Target::Oracle, "oracle",
       "interpreter in fp64: slow, defines the meaning"},
      {Target::GPU, "cuda", "the machine's NVIDIA GPU, or that of --device"},
  };
  for (const auto &[product, device] : gpu::getNamedDevices())
    targets.push_back({Target::GPU, device.name,
                       "compute capability " + toString(device.capability) +
                           " (" + product.str() + "): " + device.explainCode(),
                       &device});
  return targets;
}

llvm::ArrayRef<TargetInfo> nsacc::getTargets() {
  static const std::vector<TargetInfo> targets = listTargets();
  return targets;
}

const TargetInfo *nsacc::findTarget(llvm::StringRef name) {
  llvm::ArrayRef<TargetInfo> targets = getTargets();
  const TargetInfo *found = llvm::find_if(
      targets, [&](const TargetInfo &info) { return info.name == name; });
  return found == targets.end() ? nullptr : found;
}

std::string nsacc::explainMissingTarget(llvm::StringRef name) {
  std::string quoted = "target '" + name.str() + "'";
  std::optional<gpu::Capability> capability = gpu::parseArchitecture(name);
  if (!capability)
    return quoted + " isn't known";
  auto device = gpu::makeDevice(name.str(), *capability, {});
  if (!device)
    return "target " + llvm::toString(device.takeError());
  if (gpu::findDevice(*capability))
    return quoted + " isn't known";
  return quoted + " has no limits here: describe the device in a file, for "
                  "target 'cuda'";
}

/// The capability that "sm_90", "sm90", "compute_90", "9.0" or "H100" names.
static std::optional<gpu::Capability> guessCapability(llvm::StringRef name) {
  std::string lower = name.lower();
  llvm::StringRef digits = lower;
  if (digits.consume_front("sm") || digits.consume_front("compute"))
    return gpu::parseArchitecture("sm_" + digits.ltrim("_-").str());
  if (auto capability = gpu::parseCapability(name))
    return capability;
  return gpu::findProduct(name);
}

std::optional<std::string> nsacc::suggestTarget(llvm::StringRef name) {
  std::optional<gpu::Capability> capability = guessCapability(name);
  const gpu::Device *device =
      capability ? gpu::findDevice(*capability) : nullptr;
  if (device)
    return device->name;
  bool isAnyGPU = name.starts_with_insensitive("cuda") ||
                  name.equals_insensitive("gpu") ||
                  name.equals_insensitive("nvidia");
  return isAnyGPU ? std::optional<std::string>("cuda") : std::nullopt;
}
