//===- ChooseVariant.h - The code that a call runs --------------*- C++ -*-===//

#ifndef NSACC_LIB_RT_CHOOSEVARIANT_H
#define NSACC_LIB_RT_CHOOSEVARIANT_H

#include "Failure.h"
#include "nsacc/RT/Package.h"
#include <memory>

namespace nsacc::rt {

/// The first of the variants' codes whose guards hold for a call's sizes.
/// Guards compare `numbers`. Throws if there is none for the sizes.
template <typename Code>
Code &chooseVariant(const Package &package,
                    const std::vector<std::unique_ptr<Code>> &variants,
                    const std::vector<const int64_t *> &sizes,
                    std::vector<int64_t> &numbers) {
  for (const auto &code : variants) {
    const Variant &variant = code->getVariant();
    if (Problem problem = computeSteps(variant.steps, sizes, numbers))
      throw Failure(NSACC_RT_INVALID, *problem);
    if (!findFailedGuard(variant, numbers))
      return *code;
  }
  std::vector<const Variant *> tried;
  for (const auto &code : variants)
    tried.push_back(&code->getVariant());
  throw Failure(NSACC_RT_INVALID, explainNoVariant(package, tried, sizes));
}

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_CHOOSEVARIANT_H
