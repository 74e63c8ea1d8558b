//===- Targets.cpp - Targets of compilations ------------------------------===//

#include "Targets.h"
#include "nsacc/Driver/Devices.h"
#include "nsacc/Pipelines/Targets.h"

using namespace nsacc::capi;

size_t nsacc_num_targets(void) { return nsacc::getTargets().size(); }

const char *nsacc_target_name(size_t index) {
  auto targets = nsacc::getTargets();
  return index < targets.size() ? targets[index].name.c_str() : nullptr;
}

static Failure rejectTarget(const std::string &target) {
  std::string known;
  for (const nsacc::TargetInfo &info : nsacc::getTargets())
    known += (known.empty() ? "'" : ", '") + info.name + "'";
  auto suggested = nsacc::suggestTarget(target);
  return fail(NSACC_ERROR_KIND_TARGET,
              nsacc::explainMissingTarget(target) +
                  (suggested ? "; use '" + *suggested + "'" : "") +
                  "; there is " + known);
}

Failure nsacc::capi::resolveTarget(const nsacc_options &options,
                                   CompileOptions &resolved) {
  const TargetInfo *target = findTarget(options.target);
  if (!target)
    return rejectTarget(options.target);
  llvm::Error error =
      nsacc::resolveTarget(*target, options.deviceFile, resolved);
  if (!error)
    return nullptr;
  return fail(options.deviceFile ? NSACC_ERROR_KIND_ARGUMENT
                                 : NSACC_ERROR_KIND_TARGET,
              llvm::toString(std::move(error)));
}
