//===- Package.h - A compiled kernel as data --------------------*- C++ -*-===//

#ifndef NSACC_RT_PACKAGE_H
#define NSACC_RT_PACKAGE_H

#include "nsacc/RT/Plan.h"

namespace nsacc::rt {

/// Dimensions of a package's buffer at most.
constexpr size_t kMaxRank = 8;

/// The code for one architecture, with the plan that it was made for.
struct TargetCode {
  std::string architecture; ///< "sm_90a"
  std::string ptx, cubin;   ///< empty where there is none
  std::vector<Requirement> requirements;
  Plan plan;
};

/// A comparison of sizes that a call has to meet.
struct Guard {
  uint32_t number;  ///< step of the variant, one that compares
  std::string what; ///< "T <= 16"
};

/// Code for some of the sizes that a kernel takes.
struct Variant {
  std::vector<Step> steps; ///< what guards compare, computed of sizes
  std::vector<Guard> guards;
  std::vector<TargetCode> targets;
};

struct Package {
  std::string compiler; ///< its version
  std::string kernel;
  std::vector<Parameter> parameters;
  /// A call runs the first one whose guards all hold.
  std::vector<Variant> variants;
};

/// The first guard of a variant that doesn't hold, null where all do.
const Guard *findFailedGuard(const Variant &variant,
                             const std::vector<int64_t> &numbers);
/// "T <= 16, found 20 <= 16": why a guard doesn't hold.
std::string describe(const Guard &guard, const Variant &variant,
                     const std::vector<int64_t> &numbers);

/// The package as the bytes of a file.
std::string writePackage(const Package &package);
/// The package as indented JSON, without images but with their sizes.
std::string describePackage(const Package &package);
/// Reads and checks a package: whatever is read can be run without looking at
/// indices again. Throws std::runtime_error with what is wrong.
Package readPackage(const void *data, size_t size);

} // namespace nsacc::rt

#endif // NSACC_RT_PACKAGE_H
