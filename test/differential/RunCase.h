//===- RunCase.h - Runs a case compiled and on the oracle -------*- C++ -*-===//

#ifndef NSACC_TEST_DIFFERENTIAL_RUNCASE_H
#define NSACC_TEST_DIFFERENTIAL_RUNCASE_H

#include "Case.h"

namespace nsacc::differential {

struct Verdict {
  enum class Kind { Passed, Refused, Failed };
  Kind kind = Kind::Passed;
  /// Why it was refused or failed, in one line. The text before the first colon
  /// is the kind of failure.
  std::string message;
  int64_t runs = 0;
};

/// Compiles the case for the CPU and compares each run with the oracle.
Verdict runCase(const Case &testCase);

} // namespace nsacc::differential

#endif // NSACC_TEST_DIFFERENTIAL_RUNCASE_H
