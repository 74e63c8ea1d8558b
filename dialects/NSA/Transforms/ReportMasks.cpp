//===- ReportMasks.cpp - Tell which keys each mask lets a query see -------===//

#include "NSA/Analysis/MaskAnalysis.h"
#include "NSA/IR/NSAOps.h"
#include "NSA/Transforms/Passes.h"

namespace nsacc::nsa {
#define GEN_PASS_DEF_NSAREPORTMASKS
#include "NSA/Transforms/Passes.h.inc"
} // namespace nsacc::nsa

using namespace mlir;
using namespace nsacc::nsa;

namespace {

struct ReportMasks : nsacc::nsa::impl::NSAReportMasksBase<ReportMasks> {
  void runOnOperation() override {
    getOperation()->walk([](ScoringOpInterface op) {
      if (!op.getMask().empty())
        report(op);
    });
    markAllAnalysesPreserved();
  }

  static void report(ScoringOpInterface op) {
    MaskInfo info = analyzeMask(op);
    InFlightDiagnostic remark = op->emitRemark(toString(info));
    if (!info.isExact())
      remark.attachNote() << "the mask isn't affine in the positions i and j, "
                             "or may wrap around, so it is evaluated for every "
                             "pair";
  }
};

} // namespace
