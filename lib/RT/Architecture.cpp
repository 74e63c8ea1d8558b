//===- Architecture.cpp - Which code runs on which device -----------------===//

#include "Module.h"
#include <cstdlib>

using namespace nsacc::rt;

namespace {

/// "sm_90a" as 9, 0 and true.
struct Architecture {
  int major = 0, minor = 0;
  /// Made for this capability and no other.
  bool isSpecific = false;
};

} // namespace

static Architecture parse(const std::string &name) {
  Architecture architecture;
  if (name.rfind("sm_", 0) != 0)
    return architecture;
  char *end = nullptr;
  long number = std::strtol(name.c_str() + 3, &end, 10);
  architecture.major = static_cast<int>(number / 10);
  architecture.minor = static_cast<int>(number % 10);
  architecture.isSpecific = *end == 'a';
  return architecture;
}

bool nsacc::rt::hasMachineCode(const TargetCode &code, int major) {
  return !code.cubin.empty() && parse(code.architecture).major == major;
}

static bool canRun(const TargetCode &code, int major, int minor) {
  Architecture architecture = parse(code.architecture);
  bool isSame = architecture.major == major && architecture.minor == minor;
  if (architecture.isSpecific)
    return isSame && !(code.cubin.empty() && code.ptx.empty());
  bool isNewer = std::pair(major, minor) >=
                 std::pair(architecture.major, architecture.minor);
  // Machine code runs on later devices of its generation, PTX on all.
  return isNewer && (hasMachineCode(code, major) || !code.ptx.empty());
}

size_t nsacc::rt::chooseTarget(const Package &package, int major, int minor) {
  std::optional<size_t> best;
  std::string names;
  auto rank = [&](size_t index) {
    Architecture architecture = parse(package.targets[index].architecture);
    return std::tuple(architecture.major, architecture.minor,
                      architecture.isSpecific);
  };
  for (size_t i = 0; i < package.targets.size(); ++i) {
    names += (i ? ", " : "") + package.targets[i].architecture;
    if (canRun(package.targets[i], major, minor) &&
        (!best || rank(*best) < rank(i)))
      best = i;
  }
  if (best)
    return *best;
  throw Failure(NSACC_RT_PACKAGE, "the package has code for " +
                                      (names.empty() ? "nothing" : names) +
                                      "; this device is sm_" +
                                      std::to_string(major * 10 + minor) +
                                      ": compile for it or for an older one");
}
