//===- Targets.cpp - What programs can run on -----------------------------===//

#include "nsacc/Pipelines/Targets.h"
#include "llvm/Support/ErrorHandling.h"

using namespace nsacc;

llvm::ArrayRef<TargetInfo> nsacc::getTargets() {
  static constexpr TargetInfo targets[] = {
      {Target::CPU, "cpu", "this machine's processor, compiled"},
      {Target::Oracle, "oracle",
       "interpreter in fp64: slow, defines the meaning"},
      {Target::CUDA, "cuda", "an NVIDIA GPU, with code for the one there is"},
      {Target::SM90A, "sm_90a", "an NVIDIA GPU of compute capability 9.0"},
      {Target::SM80, "sm_80",
       "an NVIDIA GPU of compute capability 8.0 or more"},
  };
  return targets;
}

llvm::StringRef nsacc::getName(Target target) {
  for (const TargetInfo &info : getTargets())
    if (info.target == target)
      return info.name;
  llvm_unreachable("every target is in the list");
}

bool nsacc::isGPU(Target target) {
  return target != Target::CPU && target != Target::Oracle;
}

std::optional<Target> nsacc::parseTarget(llvm::StringRef name) {
  for (const TargetInfo &info : getTargets())
    if (info.name == name)
      return info.target;
  return std::nullopt;
}

std::string nsacc::explainMissingTarget(llvm::StringRef name) {
  bool isPlanned = name.starts_with("sm_");
  return "target '" + name.str() +
         (isPlanned ? "' isn't built yet" : "' isn't known");
}

std::optional<llvm::StringRef> nsacc::suggestTarget(llvm::StringRef name) {
  if (name == "sm_90")
    return "sm_90a";
  // Code for 8.0 runs on every GPU of its generation.
  if (name.starts_with("sm_8"))
    return "sm_80";
  return std::nullopt;
}
