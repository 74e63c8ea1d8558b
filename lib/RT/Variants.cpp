//===- Variants.cpp - Which code is for which sizes -----------------------===//

#include "nsacc/RT/Package.h"
#include <algorithm>

using namespace nsacc::rt;

const Guard *nsacc::rt::findFailedGuard(const Variant &variant,
                                        const std::vector<int64_t> &numbers) {
  auto failed = std::find_if(
      variant.guards.begin(), variant.guards.end(),
      [&](const Guard &guard) { return numbers[guard.number] == 0; });
  return failed == variant.guards.end() ? nullptr : &*failed;
}

std::string nsacc::rt::describe(const Guard &guard, const Variant &variant,
                                const std::vector<int64_t> &numbers) {
  const Step &step = variant.steps[guard.number];
  return guard.what + ", found " + std::to_string(numbers[step.operands[0]]) +
         " " + getComparison(step.kind) + " " +
         std::to_string(numbers[step.operands[1]]);
}
