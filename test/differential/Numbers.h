//===- Numbers.h - Dimensions written as numbers ----------------*- C++ -*-===//

#ifndef NSACC_TEST_DIFFERENTIAL_NUMBERS_H
#define NSACC_TEST_DIFFERENTIAL_NUMBERS_H

#include "Case.h"
#include "Choices.h"

namespace nsacc::differential {

/// Replaces sizes that are known at compile time by numbers, in some of the
/// programs.
void writeNumbers(Choices &choices, Case &testCase);

} // namespace nsacc::differential

#endif // NSACC_TEST_DIFFERENTIAL_NUMBERS_H
