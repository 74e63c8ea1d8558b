//===- Workers.h - Runs cases in separate processes -------------*- C++ -*-===//

#ifndef NSACC_TEST_DIFFERENTIAL_WORKERS_H
#define NSACC_TEST_DIFFERENTIAL_WORKERS_H

#include "RunCase.h"
#include <functional>

namespace nsacc::differential {

/// Runs `testCase` in a separate process: a crash is a failure, and so is
/// taking more than `seconds`.
Verdict runApart(const Case &testCase, unsigned seconds);

/// Makes and runs the cases [first, first + count) in `processes` parallel
/// processes, each of which runs many cases one after the other. Passes
/// verdicts to `report` as they arrive.
void runAll(uint64_t first, uint64_t count, unsigned processes,
            unsigned seconds, std::function<Case(uint64_t)> make,
            std::function<void(uint64_t, const Verdict &)> report);

} // namespace nsacc::differential

#endif // NSACC_TEST_DIFFERENTIAL_WORKERS_H
