//===- CombineEarly.cpp - Tiles are combined once they are there ----------===//

#include "LayoutFlow.h"
#include "NSATile/IR/NSATileUses.h"
#include "NSATile/IR/Remarks.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

namespace nsacc::nsatile {
#define GEN_PASS_DEF_NSATILECOMBINEEARLY
#include "NSATile/Transforms/Passes.h.inc"
} // namespace nsacc::nsatile

using namespace mlir;
using namespace nsacc::nsatile;

static constexpr PassRemarks kCombineRemarks = {"nsatile-combine-early",
                                                "CombinedEarly"};

/// Number of elements that a tile keeps registers for; a broadcast has its
/// source's.
static int64_t getSize(Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    return getSize(broadcast.getSource());
  auto tile = dyn_cast<RankedTensorType>(value.getType());
  return tile ? tile.getNumElements() : 0;
}

/// Whether an op is arithmetic with a tile as result that reads no memory.
static bool isArithmetic(Operation &op) {
  return (isElementwise(&op) || isa<BroadcastOp>(op)) &&
         op.getNumResults() == 1 && isTile(op.getResult(0).getType()) &&
         isMemoryEffectFree(&op);
}

/// Whether no more elements are live behind the op than in front of it.
static bool combines(Operation &op) {
  int64_t freed = 0;
  for (Value operand : op.getOperands())
    if (operand.hasOneUse())
      freed += getSize(operand);
  return freed >= getSize(op.getResult(0));
}

/// The last op of the block that `op` takes operands from; null if there is
/// none.
static Operation *findLastSource(Operation &op) {
  Operation *last = nullptr;
  for (Value operand : op.getOperands()) {
    Operation *source = operand.getDefiningOp();
    if (source && source->getBlock() == op.getBlock() &&
        (!last || last->isBeforeInBlock(source)))
      last = source;
  }
  return last;
}

/// Whether a loop runs between two ops of a block.
static bool hasLoopBetween(Operation *first, Operation *last) {
  return llvm::any_of(
      llvm::make_range(std::next(first->getIterator()), last->getIterator()),
      [](Operation &op) { return hasLoop(&op); });
}

//===----------------------------------------------------------------------===//
// Order of loops
//===----------------------------------------------------------------------===//

static bool carriesTiles(LoopLikeOpInterface loop) {
  return llvm::any_of(loop->getResultTypes(), isTile);
}

/// Depth of nested loops that carry tiles: each of them has a state.
static int64_t getWeight(LoopLikeOpInterface loop) {
  int64_t inner = 0;
  loop->walk([&](LoopLikeOpInterface nested) {
    if (nested != loop && carriesTiles(nested))
      inner = std::max(inner, getWeight(nested));
  });
  return 1 + inner;
}

static bool writes(Operation &op) {
  return op
      .walk([](Operation *nested) {
        bool isPure = nested->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
                      isMemoryEffectFree(nested) ||
                      hasSingleEffect<MemoryEffects::Read>(nested);
        return isPure ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

/// Moves `op`, and the ops behind `place` that it is computed from, in front of
/// `place`. Returns the reason if nothing moves, else an empty string.
static StringRef moveBefore(Operation *op, Operation *place) {
  Block *block = op->getBlock();
  for (Operation *each = place; each != op; each = each->getNextNode())
    if (writes(*each))
      return "something is written in front of it that it may read";
  llvm::SetVector<Operation *> moved;
  moved.insert(op);
  for (size_t i = 0; i < moved.size(); ++i) {
    SetVector<Value> used(moved[i]->operand_begin(), moved[i]->operand_end());
    getUsedValuesDefinedAbove(moved[i]->getRegions(), used);
    for (Value value : used) {
      Operation *source = value.getDefiningOp();
      if (!source || source->getBlock() != block ||
          source->isBeforeInBlock(place))
        continue;
      if (source == place)
        return "it reads what the first loop gives";
      moved.insert(source);
    }
  }
  SmallVector<Operation *> sorted = moved.takeVector();
  llvm::sort(sorted,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *each : sorted)
    each->moveBefore(place);
  return "";
}

/// Moves the loop that keeps most tiles to the front, where no other tiles have
/// to be kept beside it.
static void startWithHeaviest(Block &block) {
  LoopLikeOpInterface first, heaviest;
  for (auto loop : block.getOps<LoopLikeOpInterface>()) {
    if (!carriesTiles(loop))
      continue;
    if (!first)
      first = loop;
    if (!heaviest || getWeight(loop) > getWeight(heaviest))
      heaviest = loop;
  }
  if (!heaviest || heaviest == first)
    return;
  StringRef reason = moveBefore(heaviest, first);
  if (reason.empty())
    kCombineRemarks.passed(heaviest, "the loop that keeps most runs first");
  else
    kCombineRemarks.missed(
        heaviest, "the loop that keeps most doesn't run first: " + reason);
}

namespace {

struct CombineEarly
    : nsacc::nsatile::impl::NSATileCombineEarlyBase<CombineEarly> {
  void runOnOperation() override {
    startWithHeaviest(getOperation().getBody().front());
    getOperation()->walk([](Block *block) {
      for (Operation &op : llvm::make_early_inc_range(*block)) {
        if (!isArithmetic(op))
          continue;
        Operation *source = findLastSource(op);
        if (!source || !hasLoopBetween(source, &op))
          continue;
        if (combines(op)) {
          kCombineRemarks.passed(&op, "computed in front of a loop that would "
                                      "keep its operands");
          op.moveAfter(source);
        } else {
          kCombineRemarks.missed(&op, "stays behind a loop: its result is "
                                      "larger than the operands that it frees");
        }
      }
    });
  }
};

} // namespace
