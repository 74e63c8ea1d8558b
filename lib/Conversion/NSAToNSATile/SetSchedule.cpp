//===- SetSchedule.cpp - Writes schedules to ops --------------------------===//

#include "NSA/IR/NSAOps.h"
#include "NSATile/IR/NSATileOps.h"
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h"
#include "nsacc/Schedule/Choose.h"

namespace nsacc {
#define GEN_PASS_DEF_NSASETSCHEDULE
#include "nsacc/Conversion/NSAToNSATile/NSAToNSATile.h.inc"
} // namespace nsacc

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

namespace {

struct SetSchedule : nsacc::impl::NSASetScheduleBase<SetSchedule> {
  using NSASetScheduleBase::NSASetScheduleBase;

  void runOnOperation() override {
    schedule::Goal goal = {device, queries};
    if (llvm::Error error = schedule::check(getOperation(), goal, settings))
      return explain(std::move(error));
    for (KernelOp kernel : getOperation().getOps<KernelOp>()) {
      auto choice = schedule::choose(kernel, goal, settings);
      if (!choice)
        return explain(choice.takeError());
      schedule::setSchedules(*choice);
    }
  }

  void explain(llvm::Error problem) {
    getOperation().emitError(llvm::toString(std::move(problem)));
    signalPassFailure();
  }
};

} // namespace
