//===- Workers.h - Runs cases in processes of their own ---------*- C++ -*-===//

#ifndef NSACC_TEST_DIFFERENTIAL_WORKERS_H
#define NSACC_TEST_DIFFERENTIAL_WORKERS_H

#include "RunCase.h"
#include <functional>

namespace nsacc::differential {

/// Runs `testCase` in a process of its own: a crash is a failure, and so is
/// taking more than `seconds`.
Verdict runApart(const Case &testCase, unsigned seconds);

/// Makes and runs the cases [first, first + count) in `processes` processes
/// side by side, each of which does many cases one after the other, and hands
/// verdicts to `report` as they come.
void runAll(uint64_t first, uint64_t count, unsigned processes,
            unsigned seconds, std::function<Case(uint64_t)> make,
            std::function<void(uint64_t, const Verdict &)> report);

} // namespace nsacc::differential

#endif // NSACC_TEST_DIFFERENTIAL_WORKERS_H
