//===- OnlineSoftmax.cpp - A softmax as a fold with a running state -------===//

#include "NSATile/IR/NSATileOps.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

namespace nsacc::nsatile {
#define GEN_PASS_DEF_NSATILEONLINESOFTMAX
#include "NSATile/Transforms/Passes.h.inc"
} // namespace nsacc::nsatile

using namespace mlir;
using namespace nsacc::nsatile;

static Value createSplat(OpBuilder &builder, Location loc, Type type,
                         double value) {
  auto tile = cast<RankedTensorType>(type);
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(
          tile, builder.getFloatAttr(tile.getElementType(), value)));
}

/// The state before any key: maximum -inf, sum 0, accumulator 0.
static SmallVector<Value> createEmptyState(OpBuilder &builder,
                                           SoftmaxFoldOp fold) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  SmallVector<Value> state;
  for (auto [index, type] : llvm::enumerate(fold.getResultTypes()))
    state.push_back(createSplat(builder, fold.getLoc(), type,
                                index == 0 ? -infinity : 0.0));
  return state;
}

/// Decays the accumulator and adds probs · values. An infinity or NaN in a
/// key's value only reaches rows that see the key.
static Value accumulate(OpBuilder &builder, YieldScoresOp yield,
                        SoftmaxUpdateOp update, Value acc) {
  Location loc = yield.getLoc();
  auto type = cast<RankedTensorType>(acc.getType());
  Value decay = BroadcastOp::create(builder, loc, type, update.getDecay(),
                                    ArrayRef<int64_t>{1});
  Value decayed = arith::MulFOp::create(builder, loc, acc, decay);
  Value values = yield.getValues(), probs = update.getProbs();
  Operation *load = values.getDefiningOp();
  Type element = cast<RankedTensorType>(values.getType()).getElementType();
  if (!element.isF32()) {
    auto narrow = cast<RankedTensorType>(probs.getType()).clone(element);
    Value rounded = arith::TruncFOp::create(builder, loc, narrow, probs);
    probs = rounded;
  }
  // A tile of values is loaded once the softmax no longer needs the registers.
  if (load && load->getBlock() == yield->getBlock() && load->hasOneUse() &&
      isa<LoadOp>(load))
    load->moveBefore(probs.getDefiningOp());
  Value seen = arith::CmpFOp::create(
      builder, loc, arith::CmpFPredicate::UNE, yield.getScores(),
      createSplat(builder, loc, yield.getScores().getType(),
                  -std::numeric_limits<double>::infinity()));
  return DotOp::create(builder, loc, type, probs, values, decayed, seen,
                       /*transpose_rhs=*/false);
}

static void formOnlineSoftmax(SoftmaxFoldOp whole) {
  OpBuilder builder(whole);
  SmallVector<Value> inits(whole.getInits());
  if (inits.empty())
    inits = createEmptyState(builder, whole);
  auto fold = FoldOp::create(builder, whole.getLoc(), whole.getDomain(),
                             whole.getResultTypes(), inits);
  Block *body = &fold.getBody().front(), *from = &whole.getBody().front();
  body->getOperations().splice(body->end(), from->getOperations());
  whole.getTile().replaceAllUsesWith(fold.getTile());
  whole.getPartial().replaceAllUsesWith(fold.getPartial());
  for (auto [old, word] : llvm::zip_equal(whole.getWords(), fold.getWords()))
    old.replaceAllUsesWith(word);

  auto yield = cast<YieldScoresOp>(body->getTerminator());
  builder.setInsertionPoint(yield);
  ValueRange state = fold.getState();
  Type rows = state[0].getType();
  auto update = SoftmaxUpdateOp::create(
      builder, yield.getLoc(), rows, rows, yield.getScores().getType(), rows,
      state[0], state[1], yield.getScores(), yield.getScale(),
      /*rows=*/Value());
  SmallVector<Value> next = {update.getNewMax(), update.getNewSum()};
  if (yield.getValues())
    next.push_back(accumulate(builder, yield, update, state[2]));
  YieldOp::create(builder, yield.getLoc(), next);
  yield.erase();
  whole.replaceAllUsesWith(fold.getResults());
  whole.erase();
}

namespace {

struct OnlineSoftmax
    : nsacc::nsatile::impl::NSATileOnlineSoftmaxBase<OnlineSoftmax> {
  void runOnOperation() override {
    SmallVector<SoftmaxFoldOp> folds;
    getOperation()->walk([&](SoftmaxFoldOp fold) { folds.push_back(fold); });
    for (SoftmaxFoldOp fold : folds)
      formOnlineSoftmax(fold);
  }
};

} // namespace
