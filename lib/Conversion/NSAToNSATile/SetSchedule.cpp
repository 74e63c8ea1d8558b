//===- SetSchedule.cpp - Write down how kernels are tiled -----------------===//

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
    llvm::Expected<schedule::Settings> settings = schedule::parseSettings(text);
    if (!settings) {
      std::string problem = llvm::toString(settings.takeError());
      for (KernelOp kernel : getOperation().getOps<KernelOp>())
        explain(kernel, problem);
      return signalPassFailure();
    }
    for (KernelOp kernel : getOperation().getOps<KernelOp>()) {
      std::string problem;
      nsatile::ScheduleAttr attr = schedule::makeAttr(
          schedule::choose(kernel, {device, hasManyQueries}, *settings),
          &getContext(), problem);
      if (!attr) {
        explain(kernel, problem);
        return signalPassFailure();
      }
      kernel->setAttr(nsatile::NSATileDialect::getScheduleAttrName(), attr);
    }
  }

  void explain(KernelOp kernel, StringRef problem) {
    InFlightDiagnostic error =
        kernel.emitError(schedule::explainProblem(text, problem));
    error.attachNote() << schedule::explainSettings();
  }
};

} // namespace
