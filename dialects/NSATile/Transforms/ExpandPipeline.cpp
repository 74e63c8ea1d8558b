//===- ExpandPipeline.cpp - Loops whose steps overlap ---------------------===//

#include "AsyncProducts.h"
#include "NSATile/IR/NSATileHints.h"
#include "NSATile/IR/TileLoop.h"
#include "NSATile/Transforms/Passes.h"
#include "OverlapProducts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

namespace nsacc::nsatile {
#define GEN_PASS_DEF_NSATILEEXPANDPIPELINE
#include "NSATile/Transforms/Passes.h.inc"
} // namespace nsacc::nsatile

using namespace mlir;
using namespace nsacc::nsatile;

static DotAsyncOp start(OpBuilder &builder, DotOp dot, Value lhs, Value rhs,
                        Value acc, Value adds = Value()) {
  auto type = PendingType::get(
      dot.getContext(), cast<RankedTensorType>(dot.getResult().getType()));
  return DotAsyncOp::create(builder, dot.getLoc(), type, lhs, /*head=*/Value(),
                            rhs, acc, adds, dot.getTransposeRhs(),
                            dot.getTransposeLhs());
}

static std::optional<int64_t> getStage(Operation *op) {
  auto stage = op->getAttrOfType<IntegerAttr>(kStageAttrName);
  return stage ? std::optional(stage.getInt()) : std::nullopt;
}

static bool isLate(Operation *op) { return op->hasAttr(kLateAttrName); }

/// Whether `op` is code of stage 1 other than a product, or the wait for its
/// operand and the release.
static bool isOwnSumCode(Operation *op) {
  return getStage(op) == 1 &&
         !isa<DotOp, ConsumerWaitOp, ConsumerReleaseOp>(op);
}

//===----------------------------------------------------------------------===//
// One loop
//===----------------------------------------------------------------------===//

namespace {

/// A product of stage 1, which runs in the step after its own.
struct Deferred {
  DotOp dot;
  /// Index of the carried tile that it adds to.
  unsigned accIndex = 0;
  /// Code on that tile: late, or in stage 1.
  llvm::SetVector<Operation *> sumCode;
  /// Whether code of stage 1 runs while the step's first products do. It reads
  /// values that its own step has handed on: `factors`, broadcast again where
  /// it reads `broadcasts`.
  bool sumsInFlight = false;
  SmallVector<Operation *> broadcasts;
  SmallVector<Value> factors;
  /// Ops from the wait to its right operand, and the operand's release.
  SmallVector<Operation *> tail;
  ConsumerReleaseOp release;
  /// Whether the sum starts at zero. Scaled zeros stay zeros: the first product
  /// needn't add to them, and the first scores can have their registers.
  bool startsAtZero = false;
};

/// Writes a loop whose steps overlap as its annotations say.
class Expansion {
public:
  explicit Expansion(TileLoop loop) : loop(loop) {}

  /// Fails with an error if the annotations don't describe a pipeline.
  LogicalResult collect();
  void apply();

private:
  /// Values that one step hands to the next.
  struct Step {
    SmallVector<Value> carried;
    /// Operands of each deferred product.
    SmallVector<Value> accs, lhs;
    SmallVector<SmallVector<Value>> factors;
    /// False for a first step, which has no sums yet.
    Value adds;
  };
  LogicalResult collectDeferred(DotOp dot);
  LogicalResult collectFactors(Deferred &product);
  Step cloneStep(OpBuilder &builder, IRMapping &mapping, const Step &previous,
                 bool isFirst);
  Value computeSum(OpBuilder &builder, const Deferred &product, Value acc,
                   ArrayRef<Value> factors);
  SmallVector<DotAsyncOp> startDeferred(OpBuilder &builder,
                                        const Step &previous);
  SmallVector<Value> finishDeferred(OpBuilder &builder,
                                    ArrayRef<DotAsyncOp> pending);
  /// Clones the ops that `dot` is computed from, unless they were cloned
  /// before.
  void cloneSources(OpBuilder &builder, DotOp dot, IRMapping &mapping,
                    llvm::SmallPtrSetImpl<Operation *> &cloned);
  Value isBehindFirst(OpBuilder &builder, Value index, Value second);

  TileLoop loop;
  SmallVector<DotOp> leading;
  std::vector<Deferred> deferred;
};

} // namespace

LogicalResult Expansion::collectFactors(Deferred &product) {
  product.sumsInFlight = llvm::any_of(product.sumCode, isOwnSumCode);
  if (!product.sumsInFlight)
    return success();
  for (Operation *op : product.sumCode) {
    if (!isOwnSumCode(op) || op->getNumRegions() != 0)
      return op->emitOpError("works on the sum of a product that other code of "
                             "stage 1 works on: expected stage 1 and no "
                             "region");
    for (Value value : op->getOperands()) {
      if (value == loop.getCarried()[product.accIndex] ||
          value.getParentBlock() != loop.getBody() ||
          product.sumCode.contains(value.getDefiningOp()))
        continue;
      if (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
        product.broadcasts.push_back(broadcast);
        value = broadcast.getSource();
      }
      product.factors.push_back(value);
    }
  }
  return success();
}

LogicalResult Expansion::collectDeferred(DotOp dot) {
  Deferred product;
  product.dot = dot;
  Operation *yield = loop.getBody()->getTerminator();
  auto yielded = llvm::find(yield->getOperands(), dot.getResult());
  if (yielded == yield->operand_end() || !dot.getAcc())
    return dot.emitOpError("of stage 1 has to add to a tile that the loop "
                           "carries");
  product.accIndex = std::distance(yield->operand_begin(), yielded);
  SmallVector<Value> open = {loop.getCarried()[product.accIndex]};
  while (!open.empty())
    for (Operation *user : open.pop_back_val().getUsers())
      if ((isLate(user) || isOwnSumCode(user)) && product.sumCode.insert(user))
        open.push_back(user->getResult(0));
  if (failed(collectFactors(product)))
    return failure();
  Value rhs = dot.getRhs();
  while (Operation *op = rhs.getDefiningOp()) {
    if (op->getBlock() != loop.getBody() || getStage(op) != 1)
      break;
    product.tail.insert(product.tail.begin(), op);
    if (isa<ConsumerWaitOp>(op))
      break;
    rhs = op->getOperand(0);
  }
  if (product.tail.empty() || !isa<ConsumerWaitOp>(product.tail.front()))
    return dot.emitOpError("of stage 1 needs a right operand that "
                           "nsatile.consumer_wait gives in stage 1");
  Value buffer = cast<ConsumerWaitOp>(product.tail.front()).getCircularBuffer();
  for (auto release : loop.getBody()->getOps<ConsumerReleaseOp>())
    if (release.getCircularBuffer() == buffer && getStage(release) == 1 &&
        dot->isBeforeInBlock(release) && !product.release)
      product.release = release;
  if (!product.release)
    return dot.emitOpError("of stage 1 needs a right operand that is released "
                           "in stage 1");
  product.startsAtZero =
      matchPattern(loop.getInits()[product.accIndex], m_AnyZeroFloat()) &&
      llvm::all_of(product.sumCode, llvm::IsaPred<arith::MulFOp>);
  deferred.push_back(std::move(product));
  return success();
}

LogicalResult Expansion::collect() {
  for (auto dot : loop.getBody()->getOps<DotOp>()) {
    std::optional<int64_t> stage = getStage(dot);
    if (!stage)
      continue;
    if (*stage != 0 && *stage != 1)
      return dot.emitOpError("expected stage 0 or 1, found ") << *stage;
    if (!canBeAsync(dot))
      return dot.emitOpError("with a stage has to be one that can be in "
                             "flight");
    if (*stage == 0)
      leading.push_back(dot);
    else if (failed(collectDeferred(dot)))
      return failure();
  }
  if (leading.empty() || deferred.empty())
    return loop->emitOpError("of several stages needs products of stage 0 and "
                             "of stage 1");
  return success();
}

/// The tile that a deferred product adds to, computed from the carried tile.
Value Expansion::computeSum(OpBuilder &builder, const Deferred &product,
                            Value acc, ArrayRef<Value> factors) {
  if (!product.sumsInFlight)
    return acc;
  IRMapping mapping;
  mapping.map(loop.getCarried()[product.accIndex], acc);
  mapping.map(product.factors, factors);
  for (Operation *op : product.broadcasts)
    builder.clone(*op, mapping);
  for (Operation *op : product.sumCode)
    builder.clone(*op, mapping)->removeAttr(kStageAttrName);
  return mapping.lookup(DotOp(product.dot).getAcc());
}

SmallVector<DotAsyncOp> Expansion::startDeferred(OpBuilder &builder,
                                                 const Step &previous) {
  SmallVector<DotAsyncOp> pending;
  for (auto [product, lhs, acc, factors] : llvm::zip_equal(
           deferred, previous.lhs, previous.accs, previous.factors)) {
    IRMapping mapping;
    Value sum = computeSum(builder, product, acc, factors);
    for (Operation *op : product.tail)
      builder.clone(*op, mapping)->removeAttr(kStageAttrName);
    pending.push_back(start(builder, product.dot, lhs,
                            mapping.lookup(product.dot.getRhs()), sum,
                            product.startsAtZero ? previous.adds : Value()));
  }
  return pending;
}

SmallVector<Value> Expansion::finishDeferred(OpBuilder &builder,
                                             ArrayRef<DotAsyncOp> pending) {
  SmallVector<Value> tiles;
  int64_t later = pending.size();
  for (auto [product, dot] : llvm::zip_equal(deferred, pending)) {
    tiles.push_back(DotWaitOp::create(builder, product.dot.getLoc(),
                                      DotAsyncOp(dot).getResult(), --later));
    ConsumerReleaseOp::create(builder, product.release.getLoc(),
                              product.release.getCircularBuffer());
  }
  return tiles;
}

/// Creates an op for steps that all warpgroups run. `condition` is null if they
/// run all steps.
static void whereUniform(OpBuilder &builder, Value condition,
                         llvm::function_ref<void(OpBuilder &)> create) {
  if (!condition)
    return create(builder);
  scf::IfOp::create(builder, condition.getLoc(), condition,
                    [&](OpBuilder &nested, Location loc) {
                      create(nested);
                      scf::YieldOp::create(nested, loc);
                    });
}

void Expansion::cloneSources(OpBuilder &builder, DotOp dot, IRMapping &mapping,
                             llvm::SmallPtrSetImpl<Operation *> &cloned) {
  llvm::SmallPtrSet<Operation *, 16> wanted;
  SmallVector<Value> open(dot->getOperands());
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != loop.getBody() || cloned.contains(op) ||
        !wanted.insert(op).second)
      continue;
    op->walk([&](Operation *nested) {
      llvm::append_range(open, nested->getOperands());
    });
  }
  for (Operation &op : loop.getBody()->without_terminator())
    if (wanted.contains(&op)) {
      builder.clone(op, mapping);
      cloned.insert(&op);
    }
}

/// Writes a step without its own deferred products, but with the previous
/// step's. All products that can start at once do, the step's own ones first.
Expansion::Step Expansion::cloneStep(OpBuilder &builder, IRMapping &mapping,
                                     const Step &previous, bool isFirst) {
  mapping.map(loop.getCarried(), previous.carried);
  SmallVector<DotAsyncOp> own, pending;
  llvm::SmallPtrSet<Operation *, 16> cloned;
  Value isUniform;
  bool usesPingPong = loop->hasAttr(kPingPongAttrName);
  auto startAll = [&] {
    Location loc = leading.front().getLoc();
    if (usesPingPong)
      whereUniform(builder, isUniform, [&](OpBuilder &nested) {
        PingPongWaitOp::create(nested, loc);
      });
    for (DotOp dot : leading) {
      cloneSources(builder, dot, mapping, cloned);
      own.push_back(start(builder, dot, mapping.lookupOrDefault(dot.getLhs()),
                          mapping.lookupOrDefault(dot.getRhs()), Value()));
    }
    if (!isFirst)
      pending = startDeferred(builder, previous);
    if (usesPingPong)
      whereUniform(builder, isUniform, [&](OpBuilder &nested) {
        PingPongArriveOp::create(nested, loc);
      });
  };
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (getStage(&op) == 1 || isLate(&op) || cloned.contains(&op))
      continue;
    auto *first = llvm::find(leading, dyn_cast<DotOp>(op));
    if (auto step = dyn_cast<UniformStepOp>(op)) {
      isUniform = mapping.lookupOrDefault(step.getCondition());
    } else if (isa<DotOp>(op) && first != leading.end()) {
      if (own.empty())
        startAll();
      size_t number = first - leading.begin();
      int64_t later = own.size() - 1 - number + pending.size();
      mapping.map(op.getResult(0),
                  DotWaitOp::create(builder, op.getLoc(), own[number], later)
                      .getTile());
    } else {
      builder.clone(op, mapping);
      cloned.insert(&op);
    }
  }
  if (!pending.empty())
    for (auto [product, tile] :
         llvm::zip_equal(deferred, finishDeferred(builder, pending)))
      mapping.map(loop.getCarried()[product.accIndex], tile);
  auto isNothing = [&](const Deferred &product) {
    return isFirst && product.startsAtZero;
  };
  for (Operation &op : loop.getBody()->without_terminator())
    if (isLate(&op) && llvm::none_of(deferred, [&](const Deferred &product) {
          return isNothing(product) && product.sumCode.contains(&op);
        }))
      builder.clone(op, mapping)->removeAttr(kLateAttrName);

  Step step;
  for (Value value : loop.getBody()->getTerminator()->getOperands())
    step.carried.push_back(mapping.lookupOrDefault(value));
  for (const Deferred &product : deferred) {
    DotOp dot = product.dot;
    auto type = cast<RankedTensorType>(dot.getAcc().getType());
    Value acc =
        isNothing(product)
            ? tensor::EmptyOp::create(builder, loop.getLoc(), type.getShape(),
                                      type.getElementType(), type.getEncoding())
                  .getResult()
        : product.sumsInFlight
            ? mapping.lookup(loop.getCarried()[product.accIndex])
            : mapping.lookupOrDefault(Value(dot.getAcc()));
    SmallVector<Value> &factors = step.factors.emplace_back();
    for (Value factor : product.factors)
      factors.push_back(mapping.lookupOrDefault(factor));
    step.accs.push_back(acc);
    step.lhs.push_back(mapping.lookupOrDefault(dot.getLhs()));
    // The sum isn't there yet: the tile that it adds to takes its place.
    step.carried[product.accIndex] = acc;
  }
  return step;
}

/// Whether a step ahead of step `index` isn't the first; null if no product
/// needs to know.
Value Expansion::isBehindFirst(OpBuilder &builder, Value index, Value second) {
  if (llvm::none_of(deferred,
                    [](const Deferred &each) { return each.startsAtZero; }))
    return {};
  return arith::CmpIOp::create(builder, loop.getLoc(),
                               arith::CmpIPredicate::sgt, index, second);
}

/// Before:   for i: A(i) B(i); B is in stage 1
/// After:    if there is a step: A(first); for i from the second on: A(i) with
///           B(i - 1); B(last)
void Expansion::apply() {
  Location loc = loop.getLoc();
  size_t numCarried = loop.getCarried().size();
  auto getStep = [&](ValueRange values, Value adds) {
    Step step;
    step.carried = values.take_front(numCarried);
    step.adds = adds;
    values = values.drop_front(numCarried);
    step.lhs = values.take_front(deferred.size());
    values = values.drop_front(deferred.size());
    for (const Deferred &product : deferred) {
      step.accs.push_back(step.carried[product.accIndex]);
      size_t numFactors = product.factors.size();
      step.factors.push_back(values.take_front(numFactors));
      values = values.drop_front(numFactors);
    }
    return step;
  };
  auto flatten = [](const Step &step) {
    SmallVector<Value> values(step.carried);
    llvm::append_range(values, step.lhs);
    for (const SmallVector<Value> &factors : step.factors)
      llvm::append_range(values, factors);
    return values;
  };
  auto rotate = [&](OpBuilder &builder, Location loc) {
    Step init;
    init.carried = SmallVector<Value>(loop.getInits());
    IRMapping mapping;
    loop.mapStep(builder, mapping, loop.getFirst());
    Step head = cloneStep(builder, mapping, init, true);
    Value second = arith::AddIOp::create(builder, loc, loop.getFirst(),
                                         loop.getStep(builder));
    Operation *steady =
        loop.createOver(builder, second, loop.getEnd(), flatten(head),
                        [&](OpBuilder &nested, IRMapping &mapping, Value index,
                            ValueRange carried) {
                          Value adds = isBehindFirst(nested, index, second);
                          return flatten(cloneStep(
                              nested, mapping, getStep(carried, adds), false));
                        });
    Step last = getStep(steady->getResults(),
                        isBehindFirst(builder, loop.getEnd(), second));
    SmallVector<Value> tiles =
        finishDeferred(builder, startDeferred(builder, last));
    for (auto [product, tile] : llvm::zip_equal(deferred, tiles))
      last.carried[product.accIndex] = tile;
    scf::YieldOp::create(builder, loc, last.carried);
  };
  OpBuilder builder(loop.getOperation());
  Value any = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                    loop.getFirst(), loop.getEnd());
  auto guarded = scf::IfOp::create(
      builder, loc, any, rotate, [&](OpBuilder &nested, Location loc) {
        scf::YieldOp::create(nested, loc, loop.getInits());
      });
  loop->replaceAllUsesWith(guarded);
  loop->erase();
}

//===----------------------------------------------------------------------===//
// All loops
//===----------------------------------------------------------------------===//

/// Starts a product and waits for it at once.
static void runInPlace(DotOp dot) {
  OpBuilder builder(dot);
  DotAsyncOp pending =
      start(builder, dot, dot.getLhs(), dot.getRhs(), dot.getAcc());
  dot.getResult().replaceAllUsesWith(
      DotWaitOp::create(builder, dot.getLoc(), pending, 0).getTile());
  dot.erase();
}

namespace {

struct ExpandPipeline
    : nsacc::nsatile::impl::NSATileExpandPipelineBase<ExpandPipeline> {
  void runOnOperation() override {
    SmallVector<TileLoop> loops;
    getOperation()->walk([&](Operation *op) {
      if (TileLoop loop(op); loop && op->hasAttr(kStagesAttrName))
        loops.push_back(loop);
    });
    for (TileLoop loop : loops) {
      auto stages = cast<IntegerAttr>(loop->removeAttr(kStagesAttrName));
      if (stages.getInt() == 1) {
        if (failed(overlapProducts(loop.getOperation())))
          return signalPassFailure();
        continue;
      }
      Expansion expansion(loop);
      if (failed(expansion.collect()))
        return signalPassFailure();
      expansion.apply();
    }
    getOperation()->walk([](UniformStepOp step) { step.erase(); });
    getOperation()->walk([](DotOp dot) {
      if (canBeAsync(dot))
        runInPlace(dot);
    });
  }
};

} // namespace
