//===- Architecture.cpp - Devices that code runs on -----------------------===//

#include "Kernels.h"
#include <algorithm>
#include <cstdlib>
#include <tuple>

using namespace nsacc::rt;

namespace {

/// "sm_90a" as 9, 0 and true.
struct Architecture {
  int major = 0, minor = 0;
  /// Runs on this capability only.
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

bool nsacc::rt::hasMachineCode(const Image &image,
                               const std::string &architecture, int major) {
  return !image.cubin.empty() && parse(architecture).major == major;
}

bool nsacc::rt::isForHost(const TargetCode &code) {
  return code.architecture.rfind("sm_", 0) != 0;
}

static bool canRun(const Package &package, const TargetCode &code, int major,
                   int minor) {
  if (isForHost(code))
    return false;
  Architecture architecture = parse(code.architecture);
  bool isSame = architecture.major == major && architecture.minor == minor;
  bool isNewer = std::pair(major, minor) >=
                 std::pair(architecture.major, architecture.minor);
  if (architecture.isSpecific ? !isSame : !isNewer)
    return false;
  const std::vector<Launch> &launches = code.plan.launches;
  return std::all_of(launches.begin(), launches.end(),
                     [&](const Launch &launch) {
                       // Machine code runs on later devices of its generation,
                       // PTX on all.
                       const Image &image = package.images[launch.image];
                       return hasMachineCode(image, code.architecture, major) ||
                              !image.ptx.empty();
                     });
}

std::optional<size_t> nsacc::rt::chooseTarget(const Package &package,
                                              const Variant &variant, int major,
                                              int minor) {
  std::optional<size_t> best;
  auto rank = [&](size_t index) {
    Architecture architecture = parse(variant.targets[index].architecture);
    return std::tuple(architecture.major, architecture.minor,
                      architecture.isSpecific);
  };
  for (size_t i = 0; i < variant.targets.size(); ++i)
    if (canRun(package, variant.targets[i], major, minor) &&
        (!best || rank(*best) < rank(i)))
      best = i;
  return best;
}

std::string nsacc::rt::listArchitectures(const Package &package) {
  std::vector<std::string> names;
  for (const Variant &variant : package.variants)
    for (const TargetCode &code : variant.targets)
      if (std::find(names.begin(), names.end(), code.architecture) ==
          names.end())
        names.push_back(code.architecture);
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "nothing" : text;
}

void nsacc::rt::failWithoutTarget(const Package &package, int major,
                                  int minor) {
  throw Failure(NSACC_RT_PACKAGE, "the package has code for " +
                                      listArchitectures(package) +
                                      "; this device is sm_" +
                                      std::to_string(major * 10 + minor) +
                                      ": compile for it or for an older one");
}
