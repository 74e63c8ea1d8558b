//===- Targets.cpp - What programs can be compiled for --------------------===//

#include "Targets.h"
#include "nsacc-rt/nsacc_rt.h"
#include "nsacc/Pipelines/Targets.h"

using namespace nsacc::capi;

size_t nsacc_num_targets(void) { return nsacc::getTargets().size(); }

const char *nsacc_target_name(size_t index) {
  auto targets = nsacc::getTargets();
  return index < targets.size() ? targets[index].name.data() : nullptr;
}

/// Code for the GPU that there is needs one.
static Failure checkDevice() {
  nsacc_rt_device_info info;
  if (nsacc_rt_device(/*device=*/0, &info) == NSACC_RT_OK)
    return nullptr;
  return fail(NSACC_ERROR_KIND_TARGET,
              "target 'cuda' isn't there: " + std::string(nsacc_rt_message()) +
                  "; 'sm_90a' and 'sm_80' compile without a GPU");
}

static Failure rejectTarget(const std::string &target) {
  std::string known;
  for (const nsacc::TargetInfo &info : nsacc::getTargets())
    known += (known.empty() ? "'" : ", '") + info.name.str() + "'";
  auto suggested = nsacc::suggestTarget(target);
  return fail(NSACC_ERROR_KIND_TARGET,
              nsacc::explainMissingTarget(target) +
                  (suggested ? "; use '" + suggested->str() + "'" : "") +
                  "; there is " + known);
}

Failure nsacc::capi::checkTarget(const std::string &target) {
  auto known = nsacc::parseTarget(target);
  if (known)
    return known == nsacc::Target::CUDA ? checkDevice() : nullptr;
  return rejectTarget(target);
}
