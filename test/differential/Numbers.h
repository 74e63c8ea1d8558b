//===- Numbers.h - Dimensions that programs write as numbers ----*- C++ -*-===//

#ifndef NSACC_TEST_DIFFERENTIAL_NUMBERS_H
#define NSACC_TEST_DIFFERENTIAL_NUMBERS_H

#include "Case.h"
#include "Choices.h"

namespace nsacc::differential {

/// Writes sizes that are known when compiling as numbers, in a part of the
/// programs.
void writeNumbers(Choices &choices, Case &testCase);

} // namespace nsacc::differential

#endif // NSACC_TEST_DIFFERENTIAL_NUMBERS_H
