//===- Failures.h - What programs require and don't find --------*- C++ -*-===//

#ifndef NSACC_LIB_TARGET_CPU_FAILURES_H
#define NSACC_LIB_TARGET_CPU_FAILURES_H

#include "nsacc/RT/Plan.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace nsacc::cpu {

/// The least failure of a launch, whatever threads found it.
class FailureRecord {
public:
  explicit FailureRecord(llvm::ArrayRef<rt::Assertion> assertions)
      : assertions(assertions) {}

  void add(unsigned assertion, const int64_t *values);
  bool isEmpty() const { return empty; }
  /// The message with its values; success if nothing failed.
  llvm::Error take() const;

private:
  llvm::ArrayRef<rt::Assertion> assertions;
  std::mutex mutex;
  std::atomic<bool> empty = true;
  unsigned assertion = 0;
  std::vector<int64_t> values;
};

/// While it lives, failures of programs that this thread runs go to `record`.
class FailureScope {
public:
  explicit FailureScope(FailureRecord &record);
  ~FailureScope();

private:
  FailureRecord *outer;
};

/// What programs call with the number of an assertion and its values.
void reportFailure(int64_t assertion, const int64_t *values);

} // namespace nsacc::cpu

#endif // NSACC_LIB_TARGET_CPU_FAILURES_H
