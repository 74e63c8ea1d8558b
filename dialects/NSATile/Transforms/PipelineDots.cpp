//===- PipelineDots.cpp - Products in flight under other code -------------===//

#include "AsyncProducts.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace nsacc::nsatile {
#define GEN_PASS_DEF_NSATILEPIPELINEDOTS
#include "NSATile/Transforms/Passes.h.inc"
} // namespace nsacc::nsatile

using namespace mlir;
using namespace nsacc::nsatile;

//===----------------------------------------------------------------------===//
// Products that can be in flight
//===----------------------------------------------------------------------===//

static DotAsyncOp start(OpBuilder &builder, DotOp dot, Value lhs, Value rhs,
                        Value acc, Value adds = Value()) {
  auto type = PendingType::get(
      dot.getContext(), cast<RankedTensorType>(dot.getResult().getType()));
  return DotAsyncOp::create(builder, dot.getLoc(), type, lhs, /*head=*/Value(),
                            rhs, acc, adds, dot.getTransposeRhs());
}

//===----------------------------------------------------------------------===//
// Rotation of a loop
//===----------------------------------------------------------------------===//

namespace {

/// Moves the second product of a loop's step into the next step.
class Rotation {
public:
  static std::optional<Rotation> find(scf::ForOp loop);

  void apply();

private:
  explicit Rotation(scf::ForOp loop) : loop(loop) {}
  bool findSecond();
  bool findFirst();
  bool findTail();

  /// What one step leaves for the next.
  struct Step {
    SmallVector<Value> carried;
    /// `adds` is false for a first step whose accumulator is nothing yet; null
    /// where there is always one.
    Value acc, lhs, adds;
  };
  Step cloneStep(OpBuilder &builder, Value index, const Step &previous,
                 bool isFirst);
  DotAsyncOp startSecond(OpBuilder &builder, const Step &previous);
  Value finishSecond(OpBuilder &builder, DotAsyncOp pending);
  bool takesTurns();
  bool startsAtZero();

  scf::ForOp loop;
  DotOp first, second;
  /// The loop-carried tile that the second product adds to.
  unsigned accIndex = 0;
  /// Ops between that tile and the product.
  llvm::SetVector<Operation *> accOps;
  /// Ops that round the left operand: what a product in flight reads must not
  /// be written.
  SmallVector<Operation *> roundings;
  /// The second product's way to its right operand, and the operand's end.
  SmallVector<Operation *> tail;
  ReleaseOp release;
};

} // namespace

/// The product whose result is carried to the next step, which adds to it.
bool Rotation::findSecond() {
  Block *body = loop.getBody();
  for (auto [index, yielded] :
       llvm::enumerate(body->getTerminator()->getOperands())) {
    auto dot = yielded.getDefiningOp<DotOp>();
    if (!dot || dot->getBlock() != body || !dot->hasOneUse() || !dot.getAcc() ||
        !canBeAsync(dot))
      continue;
    second = dot;
    accIndex = index;
    accOps.clear();
    SmallVector<Value> open = {loop.getRegionIterArg(index)};
    bool pure = true;
    while (!open.empty()) {
      for (OpOperand &use : open.pop_back_val().getUses()) {
        Operation *user = use.getOwner();
        if (user == second && use.get() == second.getAcc())
          continue;
        if (user->getBlock() != body || user->getNumResults() != 1 ||
            !isMemoryEffectFree(user)) {
          pure = false;
          continue;
        }
        if (accOps.insert(user))
          open.push_back(user->getResult(0));
      }
    }
    if (pure)
      return true;
  }
  return false;
}

/// The product that the second one's left operand comes from.
bool Rotation::findFirst() {
  llvm::SmallPtrSet<Operation *, 32> seen;
  SmallVector<Value> open = {second.getLhs()};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || !loop->isProperAncestor(op) || !seen.insert(op).second)
      continue;
    if (auto dot = dyn_cast<DotOp>(op)) {
      if (first || dot->getBlock() != loop.getBody() || dot.getAcc() ||
          !canBeAsync(dot))
        return false;
      first = dot;
      continue;
    }
    op->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        open.push_back(operand);
    });
  }
  return static_cast<bool>(first);
}

/// The right operand must be acquired and released for this product alone.
bool Rotation::findTail() {
  Value rhs = second.getRhs();
  while (Operation *op = rhs.getDefiningOp()) {
    if (!op->hasOneUse() || op->getBlock() != loop.getBody())
      return false;
    tail.push_back(op);
    if (isa<AcquireOp>(op))
      break;
    if (!isa<ReshapeOp>(op))
      return false;
    rhs = op->getOperand(0);
  }
  if (tail.empty() || !isa<AcquireOp>(tail.back()))
    return false;
  std::reverse(tail.begin(), tail.end());
  for (Operation *op = second->getNextNode(); op; op = op->getNextNode()) {
    release = dyn_cast<ReleaseOp>(op);
    if (release && release.getRing() == cast<AcquireOp>(tail[0]).getRing())
      break;
  }
  if (!release)
    return false;
  for (auto rounding = second.getLhs().getDefiningOp<arith::TruncFOp>();
       rounding && rounding->hasOneUse() &&
       rounding->getBlock() == loop.getBody();
       rounding = rounding.getIn().getDefiningOp<arith::TruncFOp>())
    roundings.push_back(rounding);
  return true;
}

std::optional<Rotation> Rotation::find(scf::ForOp loop) {
  Rotation rotation(loop);
  if (!rotation.findSecond() || !rotation.findFirst() || !rotation.findTail())
    return std::nullopt;
  return rotation;
}

DotAsyncOp Rotation::startSecond(OpBuilder &builder, const Step &previous) {
  IRMapping mapping;
  for (Operation *op : tail)
    builder.clone(*op, mapping);
  return start(builder, second, previous.lhs, mapping.lookup(second.getRhs()),
               previous.acc, previous.adds);
}

Value Rotation::finishSecond(OpBuilder &builder, DotAsyncOp pending) {
  Value tile = DotWaitOp::create(builder, second.getLoc(), pending, 0);
  ReleaseOp::create(builder, release.getLoc(), release.getRing());
  return tile;
}

/// Warpgroups that start a step's products one after the other compute
/// softmaxes while others multiply. Two whose products take as long as their
/// softmaxes come to that by themselves, and lose 2 % by waiting (D 128, H200).
bool Rotation::takesTurns() {
  constexpr int64_t twoGroups = 8, shortInner = 64;
  int64_t warps = loop->getParentOfType<RolesOp>().getWarps();
  auto lhs = cast<RankedTensorType>(first.getLhs().getType());
  return warps > twoGroups ||
         (warps == twoGroups && lhs.getDimSize(1) <= shortInner);
}

/// Zeros that are scaled stay zeros, which the first product needn't add to,
/// and whose registers the first scores can have.
bool Rotation::startsAtZero() {
  return matchPattern(loop.getInitArgs()[accIndex], m_AnyZeroFloat()) &&
         llvm::all_of(accOps, llvm::IsaPred<arith::MulFOp>);
}

/// Creates an op for steps that all warpgroups run; `condition` is null if they
/// run all.
static void whereInStep(OpBuilder &builder, Value condition,
                        llvm::function_ref<void(OpBuilder &)> create) {
  if (!condition)
    return create(builder);
  scf::IfOp::create(builder, condition.getLoc(), condition,
                    [&](OpBuilder &nested, Location loc) {
                      create(nested);
                      scf::YieldOp::create(nested, loc);
                    });
}

/// A step without its own second product, and with that of the one before.
Rotation::Step Rotation::cloneStep(OpBuilder &builder, Value index,
                                   const Step &previous, bool isFirst) {
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), index);
  mapping.map(loop.getRegionIterArgs(), previous.carried);
  DotAsyncOp pending;
  Value inStep;
  SmallVector<Operation *> deferred;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (&op == second || &op == release || llvm::is_contained(tail, &op))
      continue;
    if (accOps.contains(&op) || llvm::is_contained(roundings, &op)) {
      deferred.push_back(&op);
    } else if (auto step = dyn_cast<InStepOp>(op)) {
      inStep = mapping.lookupOrDefault(step.getCondition());
    } else if (&op == first) {
      if (takesTurns())
        whereInStep(builder, inStep, [&](OpBuilder &nested) {
          TakeTurnOp::create(nested, first.getLoc());
        });
      DotAsyncOp scores =
          start(builder, first, mapping.lookupOrDefault(first.getLhs()),
                mapping.lookupOrDefault(first.getRhs()), Value());
      if (!isFirst)
        pending = startSecond(builder, previous);
      if (takesTurns())
        whereInStep(builder, inStep, [&](OpBuilder &nested) {
          PassTurnOp::create(nested, first.getLoc());
        });
      mapping.map(first.getResult(),
                  DotWaitOp::create(builder, first.getLoc(), scores,
                                    /*allow=*/isFirst ? 0 : 1)
                      .getTile());
    } else {
      builder.clone(op, mapping);
    }
  }
  if (pending)
    mapping.map(loop.getRegionIterArg(accIndex),
                finishSecond(builder, pending));
  bool isNothing = isFirst && startsAtZero();
  for (Operation *op : deferred)
    if (!isNothing || !accOps.contains(op))
      builder.clone(*op, mapping);

  Step step;
  for (auto [i, value] :
       llvm::enumerate(loop.getBody()->getTerminator()->getOperands()))
    step.carried.push_back(i == accIndex ? Value()
                                         : mapping.lookupOrDefault(value));
  auto type = cast<RankedTensorType>(second.getAcc().getType());
  step.acc =
      isNothing
          ? tensor::EmptyOp::create(builder, loop.getLoc(), type.getShape(),
                                    type.getElementType(), type.getEncoding())
          : mapping.lookupOrDefault(second.getAcc());
  step.lhs = mapping.lookupOrDefault(second.getLhs());
  // The accumulator's place among the carried tiles is that of the scaled one.
  step.carried[accIndex] = step.acc;
  return step;
}

void Rotation::apply() {
  Location loc = loop.getLoc();
  auto rotate = [&](OpBuilder &builder, Location loc) {
    Step init = {SmallVector<Value>(loop.getInitArgs()), {}, {}, {}};
    Step head = cloneStep(builder, loop.getLowerBound(), init, true);
    SmallVector<Value> inits = head.carried;
    inits.push_back(head.lhs);
    Value second = arith::AddIOp::create(builder, loc, loop.getLowerBound(),
                                         loop.getStep());
    // Whether a product is not the first one, as one ahead of step `index` is.
    auto adds = [&](OpBuilder &builder, Value index) {
      return startsAtZero() ? arith::CmpIOp::create(builder, loc,
                                                    arith::CmpIPredicate::sgt,
                                                    index, second)
                                  .getResult()
                            : Value();
    };
    auto steady = scf::ForOp::create(
        builder, loc, second, loop.getUpperBound(), loop.getStep(), inits,
        [&](OpBuilder &nested, Location loc, Value index, ValueRange carried) {
          Step previous = {SmallVector<Value>(carried.drop_back()),
                           carried[accIndex], carried.back(),
                           adds(nested, index)};
          Step step = cloneStep(nested, index, previous, false);
          step.carried.push_back(step.lhs);
          scf::YieldOp::create(nested, loc, step.carried);
        });
    ValueRange results = steady.getResults();
    Step last = {SmallVector<Value>(results.drop_back()), results[accIndex],
                 results.back(), adds(builder, loop.getUpperBound())};
    last.carried[accIndex] = finishSecond(builder, startSecond(builder, last));
    scf::YieldOp::create(builder, loc, last.carried);
  };
  OpBuilder builder(loop);
  Value any = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                    loop.getLowerBound(), loop.getUpperBound());
  auto guarded = scf::IfOp::create(
      builder, loc, any, rotate, [&](OpBuilder &nested, Location loc) {
        scf::YieldOp::create(nested, loc, loop.getInitArgs());
      });
  loop.replaceAllUsesWith(guarded);
  loop.erase();
}

namespace {

struct PipelineDots
    : nsacc::nsatile::impl::NSATilePipelineDotsBase<PipelineDots> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](RolesOp roles) {
      roles.getConsumers().walk(
          [&](scf::ForOp loop) { loops.push_back(loop); });
    });
    for (scf::ForOp loop : loops)
      if (std::optional<Rotation> rotation = Rotation::find(loop))
        rotation->apply();
    getOperation()->walk([](InStepOp step) { step.erase(); });
    getOperation()->walk([](DotOp dot) {
      if (!canBeAsync(dot))
        return;
      OpBuilder builder(dot);
      DotAsyncOp pending =
          start(builder, dot, dot.getLhs(), dot.getRhs(), dot.getAcc());
      dot.getResult().replaceAllUsesWith(
          DotWaitOp::create(builder, dot.getLoc(), pending, 0).getTile());
      dot.erase();
    });
  }
};

} // namespace
