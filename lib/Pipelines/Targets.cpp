//===- Targets.cpp - What programs can run on -----------------------------===//

#include "nsacc/Pipelines/Targets.h"
#include "llvm/Support/ErrorHandling.h"

using namespace nsacc;

llvm::ArrayRef<TargetInfo> nsacc::getTargets() {
  static constexpr TargetInfo targets[] = {
      {Target::CPU, "cpu", "this machine's processor, compiled"},
      {Target::Oracle, "oracle",
       "interpreter in fp64: slow, defines the meaning"},
  };
  return targets;
}

llvm::StringRef nsacc::getName(Target target) {
  for (const TargetInfo &info : getTargets())
    if (info.target == target)
      return info.name;
  llvm_unreachable("every target is in the list");
}

std::optional<Target> nsacc::parseTarget(llvm::StringRef name) {
  for (const TargetInfo &info : getTargets())
    if (info.name == name)
      return info.target;
  return std::nullopt;
}

std::string nsacc::explainMissingTarget(llvm::StringRef name) {
  bool isPlanned = name == "cuda" || name.starts_with("sm_");
  return "target '" + name.str() +
         (isPlanned ? "' isn't built yet" : "' isn't known");
}
