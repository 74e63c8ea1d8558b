//===- Targets.cpp - What programs can be compiled for --------------------===//

#include "Targets.h"
#include <algorithm>
#include <iterator>

using namespace nsacc::capi;

static constexpr const char *targets[] = {"oracle"};

size_t nsacc_num_targets(void) { return std::size(targets); }

const char *nsacc_target_name(size_t index) {
  return index < std::size(targets) ? targets[index] : nullptr;
}

Failure nsacc::capi::checkTarget(const std::string &target) {
  if (std::find(std::begin(targets), std::end(targets), target) !=
      std::end(targets))
    return nullptr;
  std::string known;
  for (const char *name : targets)
    known += std::string(known.empty() ? "'" : ", '") + name + "'";
  return fail(NSACC_ERROR_KIND_TARGET,
              "target '" + target + "' isn't built yet; there is " + known);
}
