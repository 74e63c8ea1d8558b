//===- Runs.h - Random sizes and inputs of a program ------------*- C++ -*-===//

#ifndef NSACC_TEST_DIFFERENTIAL_RUNS_H
#define NSACC_TEST_DIFFERENTIAL_RUNS_H

#include "Case.h"
#include "Choices.h"
#include <functional>

namespace nsacc::differential {

/// A dimension whose size follows from the number of key tokens, or of queries.
struct DerivedSize {
  std::string name;
  /// Whether rows of a ragged batch are packed; else each has room for the
  /// longest.
  bool packed;
  std::function<int64_t(int64_t)> size;
  bool ofQueries = false;
};

/// Adds runs to a case that has all other fields. `borders`: sizes of tiles;
/// lengths close to them are tried.
void makeRuns(Choices &choices, bool ragged, const std::string &keyTokens,
              llvm::ArrayRef<int64_t> borders,
              llvm::ArrayRef<DerivedSize> derived, Case &result);

} // namespace nsacc::differential

#endif // NSACC_TEST_DIFFERENTIAL_RUNS_H
