//===- Target.cpp - What a program runs on --------------------------------===//

#include "Target.h"
#include "Messages.h"

using namespace nsacc;

llvm::ArrayRef<TargetInfo> nsacc::getTargets() {
  static constexpr TargetInfo targets[] = {
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

llvm::Error nsacc::rejectTarget(llvm::StringRef name) {
  std::vector<std::string> names;
  for (const TargetInfo &info : getTargets())
    names.push_back(info.name.str());
  bool isPlanned = name == "cpu" || name == "cuda" || name.starts_with("sm_");
  return makeError("target '" + name + "' " +
                       (isPlanned ? "isn't built yet" : "isn't known"),
                   "use --target " + names.front() + "; this nsacc has " +
                       quoteList(names));
}
