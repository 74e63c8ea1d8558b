//===- SchedulePipeline.cpp - Products that run in the next step ----------===//

#include "AsyncProducts.h"
#include "NSATile/IR/NSATileHints.h"
#include "NSATile/IR/Remarks.h"
#include "NSATile/IR/TileLoop.h"
#include "NSATile/Transforms/Passes.h"
#include "OverlapProducts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

namespace nsacc::nsatile {
#define GEN_PASS_DEF_NSATILESCHEDULEPIPELINE
#include "NSATile/Transforms/Passes.h.inc"
} // namespace nsacc::nsatile

using namespace mlir;
using namespace nsacc::nsatile;

static constexpr PassRemarks kProductRemarks = {"nsatile-schedule-pipeline",
                                                "PipelinedProducts"};

namespace {

/// A product with a sum that its step only hands to the next step: it can be in
/// flight while the next step begins.
struct Candidate {
  DotOp dot;
  /// Ops from the wait to its right operand, and the operand's release.
  SmallVector<Operation *> tail;
  ConsumerReleaseOp release;
  /// Code on the carried sum.
  llvm::SetVector<Operation *> sumCode;
  /// Code that writes registers that the product reads.
  llvm::SetVector<Operation *> late;
};

/// Looks for the products of one loop that can overlap.
class StepScheduler {
public:
  explicit StepScheduler(TileLoop loop) : loop(loop), body(loop.getBody()) {}

  /// Sets attributes for `nsatile-expand-pipeline`, or reports why there are
  /// none.
  void run();

private:
  std::optional<Candidate> findDeferred(unsigned index);
  bool findSumCode(unsigned index, Candidate &product);
  bool findTail(Candidate &product);
  void findRoundings(Candidate &product);
  /// Products of the step that `value` depends on.
  llvm::SetVector<DotOp> findSources(Value value);
  bool haveOwnCode();
  bool rescalesInNextStep(const Candidate &product);
  bool usesPingPong(ArrayRef<DotOp> leading);
  void overlapInStep();
  void annotate(ArrayRef<DotOp> leading, ArrayRef<Candidate> deferred);

  TileLoop loop;
  Block *body;
  StringRef reason = "no product's sum is handed from step to step";
};

} // namespace

//===----------------------------------------------------------------------===//
// Products of the next step
//===----------------------------------------------------------------------===//

/// Finds the code between the carried sum and the product that adds to it.
bool StepScheduler::findSumCode(unsigned index, Candidate &product) {
  SmallVector<Value> open = {loop.getCarried()[index]};
  while (!open.empty()) {
    for (OpOperand &use : open.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (user == product.dot && use.get() == product.dot.getAcc())
        continue;
      if (user->getBlock() != body || user->getNumResults() != 1 ||
          !isMemoryEffectFree(user))
        return false;
      if (product.sumCode.insert(user))
        open.push_back(user->getResult(0));
    }
  }
  return true;
}

/// Checks that the right operand is a circular buffer's tile for this product
/// alone.
bool StepScheduler::findTail(Candidate &product) {
  Value rhs = product.dot.getRhs();
  while (Operation *op = rhs.getDefiningOp()) {
    if (!op->hasOneUse() || op->getBlock() != body)
      return false;
    product.tail.push_back(op);
    if (isa<ConsumerWaitOp>(op))
      break;
    if (!isa<ReshapeOp>(op))
      return false;
    rhs = op->getOperand(0);
  }
  auto wait = product.tail.empty()
                  ? ConsumerWaitOp()
                  : dyn_cast<ConsumerWaitOp>(product.tail.back());
  if (!wait)
    return false;
  std::reverse(product.tail.begin(), product.tail.end());
  for (Operation *op = product.dot->getNextNode(); op; op = op->getNextNode())
    if (auto release = dyn_cast<ConsumerReleaseOp>(op))
      if (release.getCircularBuffer() == wait.getCircularBuffer()) {
        product.release = release;
        return true;
      }
  return false;
}

/// Finds code that writes registers which the product in flight reads.
void StepScheduler::findRoundings(Candidate &product) {
  for (auto rounding = product.dot.getLhs().getDefiningOp<arith::TruncFOp>();
       rounding && rounding->hasOneUse() && rounding->getBlock() == body;
       rounding = rounding.getIn().getDefiningOp<arith::TruncFOp>())
    product.late.insert(rounding);
}

llvm::SetVector<DotOp> StepScheduler::findSources(Value value) {
  llvm::SetVector<DotOp> sources;
  llvm::SmallPtrSet<Operation *, 32> seen;
  SmallVector<Value> open = {value};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || !loop->isProperAncestor(op) || !seen.insert(op).second)
      continue;
    if (auto dot = dyn_cast<DotOp>(op)) {
      sources.insert(dot);
      continue;
    }
    op->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        open.push_back(operand);
    });
  }
  return sources;
}

std::optional<Candidate> StepScheduler::findDeferred(unsigned index) {
  auto dot = body->getTerminator()->getOperand(index).getDefiningOp<DotOp>();
  if (!dot || dot->getBlock() != body || !dot->hasOneUse() || !dot.getAcc() ||
      !canBeAsync(dot))
    return std::nullopt;
  Candidate product;
  product.dot = dot;
  if (findSources(dot.getLhs()).empty()) {
    reason = "the product whose sum is carried waits for no other product";
    return std::nullopt;
  }
  if (!findSumCode(index, product)) {
    reason = "the carried sum is read by more than the product that adds to it";
    return std::nullopt;
  }
  if (!findTail(product)) {
    reason = "the product whose sum is carried isn't the only one that reads "
             "its right operand";
    return std::nullopt;
  }
  findRoundings(product);
  return product;
}

//===----------------------------------------------------------------------===//
// The schedule of a step
//===----------------------------------------------------------------------===//

/// Whether warpgroups start a step's products one after the other, so that one
/// computes a softmax while others multiply (ping-pong). The schedule may say
/// so. Two warpgroups with products as long as their softmaxes alternate by
/// themselves, and lose 2 % by waiting (D 128, H200); one warpgroup has no
/// partner.
bool StepScheduler::usesPingPong(ArrayRef<DotOp> leading) {
  constexpr int64_t twoGroups = 8, shortInner = 64;
  int64_t warps = loop->getParentOfType<WarpSpecializeOp>().getWarps();
  ScheduleAttr schedule = loop->getParentOfType<ProgramOp>().getScheduleAttr();
  if (schedule && schedule.getPingPong() != Switch::Auto)
    return schedule.getPingPong() == Switch::On && warps >= twoGroups;
  auto isShort = [&](DotOp dot) {
    return cast<RankedTensorType>(dot.getLhs().getType()).getDimSize(1) <=
           shortInner;
  };
  return warps > twoGroups ||
         (warps == twoGroups && llvm::all_of(leading, isShort));
}

/// Code on a large sum takes a fifth of a product's time (D 256). In that time
/// the tensor cores can run the next step's first products.
bool StepScheduler::rescalesInNextStep(const Candidate &product) {
  constexpr int64_t mostColumns = 128;
  ScheduleAttr schedule = loop->getParentOfType<ProgramOp>().getScheduleAttr();
  Rescale given = schedule ? schedule.getRescale() : Rescale::Auto;
  RankedTensorType sum = DotOp(product.dot).getResult().getType();
  if (given == Rescale::InStep ||
      (given == Rescale::Auto && sum.getDimSize(1) <= mostColumns))
    return false;
  return llvm::all_of(product.sumCode,
                      [](Operation *op) { return op->getNumRegions() == 0; });
}

/// Whether the first step and steps with masks may have separate code.
bool StepScheduler::haveOwnCode() {
  ScheduleAttr schedule = loop->getParentOfType<ProgramOp>().getScheduleAttr();
  return !schedule || schedule.getPeel() != Switch::Off;
}

void StepScheduler::annotate(ArrayRef<DotOp> leading,
                             ArrayRef<Candidate> deferred) {
  Builder builder(loop->getContext());
  auto set = [&](Operation *op, int64_t stage) {
    op->setAttr(kStageAttrName, builder.getI64IntegerAttr(stage));
  };
  for (DotOp dot : leading)
    set(dot, 0);
  for (const Candidate &product : deferred) {
    set(product.dot, 1);
    set(product.release, 1);
    for (Operation *op : product.tail)
      set(op, 1);
    for (Operation *op : product.late)
      op->setAttr(kLateAttrName, builder.getUnitAttr());
    bool inNextStep = rescalesInNextStep(product);
    for (Operation *op : product.sumCode)
      if (inNextStep)
        set(op, 1);
      else
        op->setAttr(kLateAttrName, builder.getUnitAttr());
  }
  loop->setAttr(kStagesAttrName, builder.getI64IntegerAttr(2));
  if (usesPingPong(leading))
    loop->setAttr(kPingPongAttrName, builder.getUnitAttr());
}

/// If no product can run in the next step, products that don't depend on each
/// other run side by side.
void StepScheduler::overlapInStep() {
  ProductLevels levels(*body);
  if (levels.getGroups().empty())
    return;
  StringRef reason = levels.explainNoOverlap(*body);
  if (!reason.empty())
    return kProductRemarks.missed(loop.getOperation(),
                                  "products don't run side by side: " + reason);
  loop->setAttr(kStagesAttrName,
                Builder(loop->getContext()).getI64IntegerAttr(1));
  std::string counts = llvm::join(
      llvm::map_range(levels.getGroups(),
                      [](auto &group) { return std::to_string(group.size()); }),
      ", ");
  kProductRemarks.passed(loop.getOperation(),
                         "products of a step that run side by side: " + counts);
}

void StepScheduler::run() {
  auto dots = llvm::to_vector(body->getOps<DotOp>());
  if (dots.empty())
    return;
  bool mayOverlap = haveOwnCode();
  if (!mayOverlap)
    reason = "its schedule gives all steps the same code";
  SmallVector<Candidate> deferred;
  for (unsigned index = 0; mayOverlap && index < loop->getNumResults(); ++index)
    if (std::optional<Candidate> product = findDeferred(index))
      deferred.push_back(std::move(*product));
  auto isDeferred = [&](DotOp dot) {
    return llvm::any_of(
        deferred, [&](const Candidate &product) { return product.dot == dot; });
  };
  // Products that wait for no other product of the step can start it.
  SmallVector<DotOp> leading;
  for (DotOp dot : dots)
    if (!isDeferred(dot) && canBeAsync(dot) && !dot.getAcc() &&
        findSources(dot.getLhs()).empty() && findSources(dot.getRhs()).empty())
      leading.push_back(dot);
  if (!deferred.empty() && leading.empty())
    reason = "no product can start a step: each waits for another one of it";
  if (deferred.empty() || leading.empty()) {
    kProductRemarks.missed(loop.getOperation(), reason);
    return overlapInStep();
  }
  annotate(leading, deferred);
  kProductRemarks.passed(
      loop.getOperation(),
      Twine(deferred.size()) + " of " + Twine(dots.size()) +
          " products run while the next step's first ones do" +
          (loop->hasAttr(kPingPongAttrName)
               ? "; warpgroups start theirs in turn"
               : "") +
          (llvm::any_of(deferred,
                        [&](const Candidate &product) {
                          return rescalesInNextStep(product);
                        })
               ? "; sums are rescaled behind those"
               : ""));
}

namespace {

struct SchedulePipeline
    : nsacc::nsatile::impl::NSATileSchedulePipelineBase<SchedulePipeline> {
  void runOnOperation() override {
    SmallVector<TileLoop> loops;
    getOperation()->walk([&](WarpSpecializeOp specialized) {
      specialized.getConsumers().walk([&](Operation *op) {
        if (TileLoop loop(op); loop)
          loops.push_back(loop);
      });
    });
    for (TileLoop loop : loops)
      StepScheduler(loop).run();
  }
};

} // namespace
