//===- Generator.h - Random programs ----------------------------*- C++ -*-===//

#ifndef NSACC_TEST_DIFFERENTIAL_GENERATOR_H
#define NSACC_TEST_DIFFERENTIAL_GENERATOR_H

#include "Case.h"
#include "Choices.h"

namespace nsacc::differential {

/// A valid program with a schedule and some runs.
Case generate(Choices &choices);

} // namespace nsacc::differential

#endif // NSACC_TEST_DIFFERENTIAL_GENERATOR_H
