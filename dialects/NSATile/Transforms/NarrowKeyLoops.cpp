//===- NarrowKeyLoops.cpp - Keys that a warpgroup's own rows see ----------===//

#include "AsyncProducts.h"
#include "LayoutFlow.h"
#include "NSATile/IR/Remarks.h"
#include "NSATile/IR/TileLoop.h"
#include "NSATile/IR/WarpRoles.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace nsacc::nsatile {
#define GEN_PASS_DEF_NSATILENARROWKEYLOOPS
#include "NSATile/Transforms/Passes.h.inc"
} // namespace nsacc::nsatile

using namespace mlir;
using namespace nsacc::nsatile;

static constexpr PassRemarks kKeyLoopRemarks = {"nsatile-narrow-key-loops",
                                                "NarrowedKeyLoop"};

/// Least number of positions of a warpgroup: fewer see nearly the same keys as
/// all.
static constexpr int64_t kLeastShare = 16;

//===----------------------------------------------------------------------===//
// Work of single warpgroups
//===----------------------------------------------------------------------===//

/// Whether warpgroups have equal, whole shares of the product's rows, in order.
static bool hasOwnRows(DotOp dot, int64_t warps, int64_t positions) {
  int64_t rows =
      cast<RankedTensorType>(dot.getResult().getType()).getDimSize(0);
  // Rows of a transposed operand are no positions.
  return canBeAsync(dot) && !dot.getTransposeLhs() && rows == 16 * warps &&
         rows % positions == 0;
}

/// Whether no warpgroup waits for another one in `op`, apart from ops nested in
/// it.
static bool isOfOneGroup(Operation *op, int64_t warps, int64_t positions) {
  if (auto dot = dyn_cast<DotOp>(op))
    return hasOwnRows(dot, warps, positions);
  if (auto load = dyn_cast<LoadOp>(op)) {
    Attribute layout =
        cast<RankedTensorType>(load.getTile().getType()).getEncoding();
    return isa_and_present<SliceLayoutAttr, MmaLayoutAttr>(layout);
  }
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getDim() == 1 &&
           isa_and_present<MmaLayoutAttr>(
               cast<RankedTensorType>(reduce.getSource().getType())
                   .getEncoding());
  if (isa<ConsumerWaitOp, ConsumerReleaseOp, SoftmaxUpdateOp, BroadcastOp,
          IotaOp, AtOp, ReshapeOp, RowRangeOp, YieldOp, scf::IfOp, scf::YieldOp,
          tensor::SplatOp>(op))
    return true;
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect());
}

//===----------------------------------------------------------------------===//
// Loops whose bounds come from a range
//===----------------------------------------------------------------------===//

namespace {

class Narrowing {
public:
  Narrowing(RowRangeOp range, int64_t warps) : range(range), warps(warps) {}

  /// Reason why the loop can't be narrowed; empty if it can.
  StringRef explainFailure();
  void apply();

private:
  bool follow(Value value);
  bool isNarrowable(TileLoop loop);
  Value computeForAll(Value value, OpBuilder &builder, IRMapping &forAll);
  void narrow(TileLoop loop);
  void markSteps(TileLoop loop, IRMapping &forAll);

  RowRangeOp range;
  int64_t warps;
  /// Scalar code that depends on the range, and the loops that it bounds.
  llvm::SmallPtrSet<Operation *, 32> code;
  llvm::SetVector<Operation *> loops;
};

} // namespace

/// Collects the code that is computed from `value`. False if anything but
/// bounds and conditions depends on it.
bool Narrowing::follow(Value value) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (TileLoop loop(user); loop) {
      if (value == loop.getFirst() || value == loop.getEnd())
        loops.insert(user);
      // The full part of the range decides conditions.
      auto fold = dyn_cast<FoldOp>(user);
      unsigned bounds = fold ? fold.getRanges().size() : 2;
      if (use.getOperandNumber() >= bounds ||
          (fold && !follow(fold.getPartial())))
        return false;
    } else if (isa<scf::IfOp>(user)) {
      // The branch's results belong to the warpgroup's own rows.
      if (user->walk([](ConsumerWaitOp) { return WalkResult::interrupt(); })
              .wasInterrupted())
        return false;
    } else if (user->getNumRegions() != 0 || !isMemoryEffectFree(user) ||
               llvm::any_of(user->getResultTypes(), isTile)) {
      return false;
    } else if (code.insert(user).second) {
      for (Value result : user->getResults())
        if (!follow(result))
          return false;
    }
  }
  return true;
}

/// Whether a loop waits for tiles, once in each step.
bool Narrowing::isNarrowable(TileLoop loop) {
  if (loop.getBody()->getOps<ConsumerWaitOp>().empty() || !loop.hasUnitStep())
    return false;
  return !loop->walk([&](Operation *op) {
                Operation *whole = loop.getOperation();
                bool isNested = op->getParentOp() != whole;
                if (op != whole &&
                    (!isOfOneGroup(op, warps, range.getSize()) ||
                     (isNested && isa<ConsumerWaitOp, ConsumerReleaseOp>(op))))
                  return WalkResult::interrupt();
                return WalkResult::advance();
              })
              .wasInterrupted();
}

/// At most one loop can be narrowed: if a loop ends where the next begins, that
/// place differs between warpgroups, and tiles that the producer loads before
/// it can't be read behind it.
StringRef Narrowing::explainFailure() {
  int64_t size = range.getSize(), groups = warps / kGroupWarps;
  if (range.getGroups())
    return "its positions are shared out already";
  if (size % groups != 0)
    return "its positions can't be shared out equally";
  if (size / groups < kLeastShare)
    return "a warpgroup would have fewer than 16 positions";
  if (!follow(range.getOwnFirst()) || !follow(range.getOwnEnd()))
    return "it is read by more than bounds and conditions";
  if (loops.empty())
    return "it bounds no loop";
  if (loops.size() > 1)
    return "it bounds several loops";
  if (!isNarrowable(TileLoop(loops.front())))
    return "warpgroups wait for each other in the loop that it bounds";
  return "";
}

/// A copy of `value` that holds for all rows.
Value Narrowing::computeForAll(Value value, OpBuilder &builder,
                               IRMapping &forAll) {
  Operation *op = value.getDefiningOp();
  if (forAll.contains(value) || !op || !code.contains(op))
    return forAll.lookupOrDefault(value);
  for (Value operand : op->getOperands())
    computeForAll(operand, builder, forAll);
  builder.clone(*op, forAll);
  return forAll.lookup(value);
}

/// Creates steps that only wait for the circular buffers' tiles and release
/// them.
static void createSkip(TileLoop loop, OpBuilder &builder, Value lower,
                       Value upper) {
  auto skip = scf::ForOp::create(builder, loop.getLoc(), lower, upper,
                                 loop.getStep(builder));
  OpBuilder nested = OpBuilder::atBlockTerminator(skip.getBody());
  for (auto wait : loop.getBody()->getOps<ConsumerWaitOp>()) {
    ConsumerWaitOp::create(nested, wait.getLoc(), wait.getCircularBuffer());
    ConsumerReleaseOp::create(nested, wait.getLoc(), wait.getCircularBuffer());
  }
}

/// Marks each step: whether all rows see its keys, and each warpgroup has rows.
/// Then all warpgroups run it. The full part tells this, if it depends on the
/// range; otherwise the mark is false.
void Narrowing::markSteps(TileLoop loop, IRMapping &forAll) {
  OpBuilder before(loop.getOperation()),
      inside = OpBuilder::atBlockBegin(loop.getBody());
  Location loc = loop.getLoc();
  Value size = arith::ConstantIndexOp::create(before, loc, range.getSize());
  Value whole = arith::AddIOp::create(before, loc, range.getFirst(), size);
  Value isUniform = arith::CmpIOp::create(
      before, loc, arith::CmpIPredicate::sle, whole, range.getEnd());
  bool isKnown = false;
  auto addBound = [&](Value bound, arith::CmpIPredicate isFull) {
    if (!code.contains(bound.getDefiningOp()))
      return;
    isKnown = true;
    Value isInside =
        arith::CmpIOp::create(inside, loc, isFull, loop.getIndex(),
                              computeForAll(bound, before, forAll));
    isUniform = arith::AndIOp::create(inside, loc, isUniform, isInside);
  };
  if (auto fold = dyn_cast<FoldOp>(loop.getOperation())) {
    TileRange tiles = *fold.getSingleRange();
    if (tiles.hasFull() && tiles.hasHead())
      addBound(tiles.fullFirst, arith::CmpIPredicate::sge);
    if (tiles.hasFull() && tiles.hasTail())
      addBound(tiles.fullEnd, arith::CmpIPredicate::slt);
  }
  if (!isKnown)
    isUniform = arith::ConstantIntOp::create(before, loc, 0, /*width=*/1);
  UniformStepOp::create(inside, loc, isUniform);
}

void Narrowing::narrow(TileLoop loop) {
  OpBuilder builder(loop.getOperation());
  Location loc = loop.getLoc();
  IRMapping forAll;
  forAll.map(range.getOwnFirst(), range.getFirst());
  forAll.map(range.getOwnEnd(), range.getEnd());
  Value lower = computeForAll(loop.getFirst(), builder, forAll);
  Value upper = computeForAll(loop.getEnd(), builder, forAll);
  markSteps(loop, forAll);
  // The producer loads the keys that any row sees.
  auto clamp = [&](Value value, Value least) -> Value {
    Value most = arith::MinSIOp::create(builder, loc, value, upper);
    return arith::MaxSIOp::create(builder, loc, most, least);
  };
  if (lower != loop.getFirst()) {
    Value first = clamp(loop.getFirst(), lower);
    createSkip(loop, builder, lower, first);
    lower = first;
  }
  Value last = clamp(loop.getEnd(), lower);
  loop.shrink(builder, lower, last);
  builder.setInsertionPointAfter(loop.getOperation());
  createSkip(loop, builder, last, upper);
}

void Narrowing::apply() {
  narrow(TileLoop(loops.front()));
  range.setGroups(warps / kGroupWarps);
}

namespace {

struct NarrowKeyLoops
    : nsacc::nsatile::impl::NSATileNarrowKeyLoopsBase<NarrowKeyLoops> {
  void runOnOperation() override {
    getOperation()->walk([](WarpSpecializeOp specialized) {
      int64_t warps = specialized.getWarps();
      if (warps <= kGroupWarps || warps % kGroupWarps != 0)
        return;
      specialized.getConsumers().walk([&](RowRangeOp range) {
        Narrowing narrowing(range, warps);
        if (StringRef reason = narrowing.explainFailure(); !reason.empty())
          return kKeyLoopRemarks.missed(
              range, "the range isn't each warpgroup's own: " + reason);
        narrowing.apply();
        kKeyLoopRemarks.passed(range,
                               "each warpgroup's loop runs over the keys that "
                               "its own rows see");
      });
    });
  }
};

} // namespace
