//===- Targets.cpp - What programs can be compiled for --------------------===//

#include "Targets.h"
#include "nsacc/Pipelines/Targets.h"

using namespace nsacc::capi;

size_t nsacc_num_targets(void) { return nsacc::getTargets().size(); }

const char *nsacc_target_name(size_t index) {
  auto targets = nsacc::getTargets();
  return index < targets.size() ? targets[index].name.data() : nullptr;
}

Failure nsacc::capi::checkTarget(const std::string &target) {
  if (nsacc::parseTarget(target))
    return nullptr;
  std::string known;
  for (const nsacc::TargetInfo &info : nsacc::getTargets())
    known += (known.empty() ? "'" : ", '") + info.name.str() + "'";
  return fail(NSACC_ERROR_KIND_TARGET,
              explainMissingTarget(target) + "; there is " + known);
}
