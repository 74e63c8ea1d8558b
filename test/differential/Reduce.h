//===- Reduce.h - Reduction of failing cases --------------------*- C++ -*-===//

#ifndef NSACC_TEST_DIFFERENTIAL_REDUCE_H
#define NSACC_TEST_DIFFERENTIAL_REDUCE_H

#include "Choices.h"
#include "RunCase.h"

namespace nsacc::differential {

/// The smallest case found with the same failure as `verdict`, starting from
/// the choices of a failing one, in at most `trials` runs.
Case reduce(uint64_t seed, const Verdict &verdict, unsigned trials,
            unsigned seconds);

} // namespace nsacc::differential

#endif // NSACC_TEST_DIFFERENTIAL_REDUCE_H
