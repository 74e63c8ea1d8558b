//===- ProgramTime.h - Estimated time of a program --------------*- C++ -*-===//

#ifndef NSACC_LIB_TUNING_PROGRAMTIME_H
#define NSACC_LIB_TUNING_PROGRAMTIME_H

#include "ProgramRun.h"
#include "nsacc/Tuning/Model.h"

namespace nsacc::tuning {

/// Time of a launch, without that of memory.
struct ProgramTime {
  double seconds = 0;
  /// Cycles of a tile apart from its folds' steps.
  double tileCycles = 0;
  /// A step of each fold.
  std::vector<StepCycles> steps;
};

ProgramTime getTime(nsatile::ProgramOp program, const ProgramRun &run,
                    const ProductCode &target, const Rates &rates);

} // namespace nsacc::tuning

#endif // NSACC_LIB_TUNING_PROGRAMTIME_H
