//===- TunedFixture.h - A tuned schedule for tests --------------*- C++ -*-===//

#ifndef NSACC_UNITTESTS_TUNING_TUNEDFIXTURE_H
#define NSACC_UNITTESTS_TUNING_TUNEDFIXTURE_H

#include "nsacc/Driver/TunedSchedules.h"

namespace nsacc {

/// One that files may hold.
inline TunedSchedule makeTuned(llvm::StringRef schedule) {
  TunedSchedule tuned;
  tuned.schedule = schedule.str();
  tuned.whole = "a: tokens=16, keys=16";
  tuned.sizes = "B=1";
  tuned.policy = "quick, eager, warm cache";
  tuned.date = "2026-11-27T15:00:00";
  tuned.milliseconds = tuned.low = tuned.high = tuned.chosenMilliseconds = 1;
  return tuned;
}

} // namespace nsacc

#endif // NSACC_UNITTESTS_TUNING_TUNEDFIXTURE_H
