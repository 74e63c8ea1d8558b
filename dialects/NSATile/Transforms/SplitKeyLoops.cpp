//===- SplitKeyLoops.cpp - A loop for each answer to a branch -------------===//

#include "NSATile/IR/NSATileOps.h"
#include "NSATile/IR/Remarks.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace nsacc::nsatile {
#define GEN_PASS_DEF_NSATILESPLITKEYLOOPS
#include "NSATile/Transforms/Passes.h.inc"
} // namespace nsacc::nsatile

using namespace mlir;
using namespace nsacc::nsatile;

static constexpr PassRemarks kSplitRemarks = {"nsatile-split-key-loops",
                                              "SplitKeyLoop"};

/// Copies of a body that a loop is split into, at most.
static constexpr size_t kMostSegments = 3;

/// True when all that comes of `condition` is which branches are taken.
static bool decidesBranches(Value condition, bool &decidesAny) {
  return llvm::all_of(condition.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<scf::IfOp>(user)) {
      decidesAny = true;
      return true;
    }
    return isa<arith::OrIOp>(user) &&
           decidesBranches(user->getResult(0), decidesAny);
  });
}

/// Comparisons of the induction variable that decide branches in the loop, in
/// the order of their bounds where the loop was made of several.
static SmallVector<arith::CmpIOp> findBounds(scf::ForOp loop) {
  SmallVector<arith::CmpIOp> below, beyond;
  for (Operation &op : *loop.getBody()) {
    auto compare = dyn_cast<arith::CmpIOp>(op);
    bool decidesAny = false;
    if (!compare || compare.getLhs() != loop.getInductionVar() ||
        !loop.isDefinedOutsideOfLoop(compare.getRhs()) ||
        !decidesBranches(compare.getResult(), decidesAny) || !decidesAny)
      continue;
    if (compare.getPredicate() == arith::CmpIPredicate::slt)
      below.push_back(compare);
    else if (compare.getPredicate() == arith::CmpIPredicate::sge)
      beyond.push_back(compare);
  }
  llvm::append_range(below, beyond);
  return below;
}

/// In each segment the induction variable isn't below the bounds before it and
/// is below the one that ends it.
static void split(scf::ForOp loop, ArrayRef<arith::CmpIOp> bounds) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  Value lower = loop.getLowerBound();
  SmallVector<Value> carried(loop.getInitArgs());
  for (size_t segment = 0; segment <= bounds.size(); ++segment) {
    Value upper = loop.getUpperBound();
    if (segment < bounds.size()) {
      arith::CmpIOp bound = bounds[segment];
      upper = arith::MinSIOp::create(builder, loc, upper, bound.getRhs());
      upper = arith::MaxSIOp::create(builder, loc, upper, lower);
    }
    IRMapping mapping;
    auto copy = cast<scf::ForOp>(builder.clone(*loop, mapping));
    copy.setLowerBound(lower);
    copy.setUpperBound(upper);
    copy.getInitArgsMutable().assign(carried);
    for (size_t index = 0; index < std::min(segment + 1, bounds.size());
         ++index) {
      arith::CmpIOp bound = bounds[index];
      bool isBelow = index == segment;
      bool asksBelow = bound.getPredicate() == arith::CmpIPredicate::slt;
      Operation *answer = mapping.lookup(bound.getOperation());
      OpBuilder nested(answer);
      answer->getResult(0).replaceAllUsesWith(arith::ConstantIntOp::create(
          nested, loc, isBelow == asksBelow, /*width=*/1));
    }
    carried.assign(copy.result_begin(), copy.result_end());
    lower = upper;
  }
  loop.replaceAllUsesWith(carried);
  loop.erase();
}

/// A loop whose steps have no branch has nothing to be split for.
static void explainUnsplit(scf::ForOp loop, size_t bounds) {
  if (loop.getBody()->getOps<scf::IfOp>().empty())
    return;
  kSplitRemarks.missed(
      loop, bounds == 0 ? "no branch of a step is taken from some step on, or "
                          "up to one"
                        : Twine(bounds) +
                              " bounds decide its branches: at most 2 do in a "
                              "loop that is split");
}

namespace {

struct SplitKeyLoops
    : nsacc::nsatile::impl::NSATileSplitKeyLoopsBase<SplitKeyLoops> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](Operation *op) {
      auto loop = dyn_cast_if_present<scf::ForOp>(op->getParentOp());
      // With roles, what fills rings is elsewhere.
      bool isInFlight = isa<DotAsyncOp>(op) ||
                        (isa<AcquireOp>(op) && !op->getParentOfType<RolesOp>());
      if (isInFlight && loop && !llvm::is_contained(loops, loop) &&
          matchPattern(loop.getStep(), m_One()))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops) {
      SmallVector<arith::CmpIOp> bounds = findBounds(loop);
      if (bounds.empty() || bounds.size() >= kMostSegments) {
        explainUnsplit(loop, bounds.size());
        continue;
      }
      kSplitRemarks.passed(loop, "the loop is split into " +
                                     Twine(bounds.size() + 1) +
                                     " whose steps have no branch");
      split(loop, bounds);
    }
  }
};

} // namespace
