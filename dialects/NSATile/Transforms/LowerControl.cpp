//===- LowerControl.cpp - Loops and branches as blocks --------------------===//

#include "NSATile/Transforms/Passes.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"
#include "mlir/Rewrite/PatternApplicator.h"

namespace nsacc::nsatile {
#define GEN_PASS_DEF_NSATILELOWERCONTROL
#include "NSATile/Transforms/Passes.h.inc"
} // namespace nsacc::nsatile

using namespace mlir;
using namespace nsacc::nsatile;

namespace {

struct LowerControl
    : nsacc::nsatile::impl::NSATileLowerControlBase<LowerControl> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateSCFToControlFlowConversionPatterns(set);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    // The last op comes first: a pattern moves all code behind its op to a new
    // block, and that code then has no more ops to lower. Outer ops come before
    // inner ones: the patterns look for a body's end in its only block.
    SmallVector<Operation *> ops;
    getOperation()->walk<WalkOrder::PreOrder, ReverseIterator>(
        [&](Operation *op) {
          if (isa_and_present<scf::SCFDialect>(op->getDialect()) &&
              !op->hasTrait<OpTrait::IsTerminator>())
            ops.push_back(op);
        });
    PatternApplicator applicator(patterns);
    applicator.applyDefaultCostModel();
    PatternRewriter rewriter(&getContext());
    for (Operation *op : ops) {
      rewriter.setInsertionPoint(op);
      if (failed(applicator.matchAndRewrite(op, rewriter))) {
        op->emitOpError("can't be lowered to branches");
        return signalPassFailure();
      }
    }
  }

  FrozenRewritePatternSet patterns;
};

} // namespace
