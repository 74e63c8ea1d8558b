//===- Failures.cpp - What programs require and don't find ----------------===//

#include "Failures.h"

using namespace llvm;
using namespace nsacc;
using namespace nsacc::cpu;

static thread_local FailureRecord *current = nullptr;

FailureScope::FailureScope(FailureRecord &record) : outer(current) {
  current = &record;
}

FailureScope::~FailureScope() { current = outer; }

void nsacc::cpu::reportFailure(int64_t requirement, const int64_t *values) {
  if (current)
    current->add(requirement, values);
}

void FailureRecord::add(unsigned newRequirement, const int64_t *found) {
  std::vector<int64_t> newValues(
      found, found + requirements[newRequirement].numValues);
  std::lock_guard<std::mutex> lock(mutex);
  if (!empty &&
      std::tie(values, requirement) <= std::tie(newValues, newRequirement))
    return;
  values = std::move(newValues);
  requirement = newRequirement;
  empty = false;
}

Error FailureRecord::take() const {
  if (empty)
    return Error::success();
  return createStringError(
      rt::formatMessage(requirements[requirement], values.data()));
}
