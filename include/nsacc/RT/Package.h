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
  Plan plan;
};

struct Package {
  std::string compiler; ///< its version
  std::string kernel;
  std::vector<Parameter> parameters;
  std::vector<Requirement> requirements;
  std::vector<TargetCode> targets;
};

/// The package as the bytes of a file.
std::string writePackage(const Package &package);
/// The package as indented JSON, without images but with their sizes.
std::string describePackage(const Package &package);
/// Reads and checks a package: whatever is read can be run without looking at
/// indices again. Throws std::runtime_error with what is wrong.
Package readPackage(const void *data, size_t size);

} // namespace nsacc::rt

#endif // NSACC_RT_PACKAGE_H
