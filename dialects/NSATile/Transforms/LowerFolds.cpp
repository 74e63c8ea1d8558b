//===- LowerFolds.cpp - Folds as loops ------------------------------------===//

#include "NSATile/IR/NSATileOps.h"
#include "NSATile/IR/Remarks.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace nsacc::nsatile {
#define GEN_PASS_DEF_NSATILELOWERFOLDS
#include "NSATile/Transforms/Passes.h.inc"
} // namespace nsacc::nsatile

using namespace mlir;
using namespace nsacc::nsatile;

static constexpr PassRemarks kPeelRemarks = {"nsatile-lower-folds", "PeelFold"};

/// Whether tiles or products of a step are in flight in another step. In
/// warp-specialized programs, other warps load into circular buffers.
static bool isPipelined(FoldOp fold) {
  bool isWarpSpecialized =
      static_cast<bool>(fold->getParentOfType<WarpSpecializeOp>());
  return llvm::any_of(fold.getBody().front(), [&](Operation &op) {
    return isa<DotAsyncOp>(op) ||
           (isa<ConsumerWaitOp>(op) && !isWarpSpecialized);
  });
}

/// Whether the schedule lets full tiles have a separate loop.
static bool mayPeel(FoldOp fold) {
  auto program = fold->getParentOfType<ProgramOp>();
  ScheduleAttr schedule = program ? program.getScheduleAttr() : ScheduleAttr();
  return !schedule || schedule.getPeel() != Switch::Off;
}

/// Before:   fold over first to end full a to b
/// Peeled:   loops from first to a, a to b and b to end
/// Else:     a loop from first to end that compares the tile's number
static void lower(FoldOp fold, const TileRange &range, bool peels) {
  OpBuilder builder(fold);
  Location loc = fold.getLoc();
  SmallVector<Value> state(fold.getInits());
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  using IsPartial = llvm::function_ref<Value(OpBuilder &, Value tile)>;
  auto createLoop = [&](Value first, Value end, IsPartial isPartial) {
    auto loop = scf::ForOp::create(
        builder, loc, first, end, one, state,
        [&](OpBuilder &nested, Location loc, Value tile, ValueRange carried) {
          IRMapping mapping;
          mapping.map(fold.getTile(), tile);
          mapping.map(fold.getPartial(), isPartial(nested, tile));
          mapping.map(fold.getState(), carried);
          for (Operation &op : fold.getBody().front().without_terminator())
            nested.clone(op, mapping);
          SmallVector<Value> next;
          for (Value value : fold.getYieldedValues())
            next.push_back(mapping.lookupOrDefault(value));
          scf::YieldOp::create(nested, loc, next);
        });
    state.assign(loop.result_begin(), loop.result_end());
  };
  auto constantly = [&](bool partial) {
    return [loc, partial](OpBuilder &nested, Value) -> Value {
      return arith::ConstantIntOp::create(nested, loc, partial, /*width=*/1);
    };
  };
  if (!range.hasFull() || !peels) {
    createLoop(range.first, range.end, [&](OpBuilder &nested, Value tile) {
      return range.isPartial(nested, loc, tile);
    });
  } else {
    if (range.hasHead())
      createLoop(range.first, range.fullFirst, constantly(true));
    createLoop(range.fullFirst, range.fullEnd, constantly(false));
    if (range.hasTail())
      createLoop(range.fullEnd, range.end, constantly(true));
  }
  fold.replaceAllUsesWith(state);
  fold.erase();
}

namespace {

struct LowerFolds : nsacc::nsatile::impl::NSATileLowerFoldsBase<LowerFolds> {
  using NSATileLowerFoldsBase::NSATileLowerFoldsBase;

  void runOnOperation() override {
    // Inner folds first: bodies are copied.
    SmallVector<FoldOp> folds;
    getOperation()->walk([&](FoldOp fold) { folds.push_back(fold); });
    for (FoldOp fold : folds) {
      std::optional<TileRange> range = fold.getSingleRange();
      if (!range) {
        fold.emitOpError("expected a fold over one range, as "
                         "nsatile-lower-domains makes of other domains");
        return signalPassFailure();
      }
      bool peels = peel || (isPipelined(fold) && mayPeel(fold));
      if (range->hasFull() && peels)
        kPeelRemarks.passed(fold, "full tiles have a loop without a mask");
      else if (range->hasFull())
        kPeelRemarks.missed(
            fold, StringRef("all tiles share a loop that compares them: ") +
                      (mayPeel(fold) ? "nothing of a step is in flight in the "
                                       "next one"
                                     : "the schedule has peel=off"));
      lower(fold, *range, peels);
    }
  }
};

} // namespace
