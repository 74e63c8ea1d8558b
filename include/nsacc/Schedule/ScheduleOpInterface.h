//===- ScheduleOpInterface.h - Ops with schedules ---------------*- C++ -*-===//

#ifndef NSACC_SCHEDULE_SCHEDULEOPINTERFACE_H
#define NSACC_SCHEDULE_SCHEDULEOPINTERFACE_H

#include "NSATile/IR/ScheduleFields.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Error.h"

namespace nsacc::schedule {

class Chooser;
struct OpChoice;

/// Chooses tiles of queries and keys for an op with scores, and each field's
/// usual value for other ops.
llvm::Error chooseDefault(Chooser &chooser, OpChoice &choice);

} // namespace nsacc::schedule

#include "nsacc/Schedule/ScheduleOpInterface.h.inc"

#endif // NSACC_SCHEDULE_SCHEDULEOPINTERFACE_H
