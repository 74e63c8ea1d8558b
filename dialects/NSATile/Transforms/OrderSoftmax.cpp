//===- OrderSoftmax.cpp - Order of instructions in softmax steps ----------===//

#include "NSATile/IR/NSATileHints.h"
#include "NSATile/IR/NSATileOps.h"
#include "NSATile/IR/Remarks.h"
#include "NSATile/Transforms/Passes.h"

namespace nsacc::nsatile {
#define GEN_PASS_DEF_NSATILEORDERSOFTMAX
#include "NSATile/Transforms/Passes.h.inc"
} // namespace nsacc::nsatile

using namespace mlir;
using namespace nsacc::nsatile;

static constexpr PassRemarks kOrderRemarks = {"nsatile-order-softmax",
                                              "SoftmaxOrder"};

/// Rows one after the other need the fewest registers; together they don't wait
/// for their own chains. If a chain of sums begins with the decay, ptxas can
/// compute it before the other exponentials and fill their time with the
/// products that it scales: three warpgroups are 2 % faster, two 1 % slower
/// (H200). Two warpgroups have registers for the maxima of many keys in front
/// of all exponentials, while the previous product is still under way: 1 to 3 %
/// faster (D 128, H200). Three are up to 3 % slower.
static SoftmaxOrder chooseOrder(SoftmaxUpdateOp op) {
  constexpr int64_t twoGroups = 8, manyKeys = 128;
  RankedTensorType scores = op.getScores().getType();
  auto layout = dyn_cast_or_null<MmaLayoutAttr>(scores.getEncoding());
  if (!layout || !op->hasAttr(kAssumesFiniteAttrName))
    return SoftmaxOrder::Rows;
  if (layout.getWarps() > twoGroups)
    return SoftmaxOrder::DecayFirst;
  if (op->getParentOfType<WarpSpecializeOp>() &&
      layout.getWarps() == twoGroups && scores.getDimSize(1) >= manyKeys)
    return SoftmaxOrder::MaximaFirst;
  return SoftmaxOrder::Together;
}

namespace {

struct OrderSoftmax
    : nsacc::nsatile::impl::NSATileOrderSoftmaxBase<OrderSoftmax> {
  void runOnOperation() override {
    ScheduleAttr schedule = getOperation().getScheduleAttr();
    SoftmaxOrder given = schedule ? schedule.getSoftmax() : SoftmaxOrder::Auto;
    getOperation()->walk([&](SoftmaxUpdateOp op) {
      bool isOpen = given == SoftmaxOrder::Auto;
      StringRef order = stringifySoftmaxOrder(isOpen ? chooseOrder(op) : given);
      op->setAttr(kOrderAttrName, StringAttr::get(op->getContext(), order));
      if (isOpen && !op->hasAttr(kAssumesFiniteAttrName))
        kOrderRemarks.missed(op, "a step's order: rows, which need the fewest "
                                 "registers: its sums may not be finite");
      else
        kOrderRemarks.passed(op, "a step's order: " + order);
    });
  }
};

} // namespace
