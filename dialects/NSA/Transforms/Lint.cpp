//===- Lint.cpp - Warn of code that is most likely a mistake --------------===//

#include "NSA/Analysis/Lint.h"
#include "NSA/Transforms/Passes.h"

namespace nsacc::nsa {
#define GEN_PASS_DEF_NSALINT
#include "NSA/Transforms/Passes.h.inc"
} // namespace nsacc::nsa

using namespace nsacc::nsa;

namespace {

struct Lint : nsacc::nsa::impl::NSALintBase<Lint> {
  void runOnOperation() override {
    getOperation()->walk([](KernelOp kernel) { emitFindings(kernel); });
    markAllAnalysesPreserved();
  }
};

} // namespace
