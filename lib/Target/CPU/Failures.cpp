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

void nsacc::cpu::reportFailure(int64_t assertion, const int64_t *values) {
  if (current)
    current->add(assertion, values);
}

void FailureRecord::add(unsigned newAssertion, const int64_t *found) {
  std::vector<int64_t> newValues(found,
                                 found + assertions[newAssertion].numValues);
  std::lock_guard<std::mutex> lock(mutex);
  if (!empty &&
      std::tie(values, assertion) <= std::tie(newValues, newAssertion))
    return;
  values = std::move(newValues);
  assertion = newAssertion;
  empty = false;
}

Error FailureRecord::take() const {
  if (empty)
    return Error::success();
  return createStringError(
      rt::formatMessage(assertions[assertion], values.data()));
}
