//===- FuseKeyLoops.cpp - One loop over full and partial tiles ------------===//

#include "NSATile/IR/NSATileOps.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace nsacc::nsatile {
#define GEN_PASS_DEF_NSATILEFUSEKEYLOOPS
#include "NSATile/Transforms/Passes.h.inc"
} // namespace nsacc::nsatile

using namespace mlir;
using namespace nsacc::nsatile;

//===----------------------------------------------------------------------===//
// Order of bounds
//===----------------------------------------------------------------------===//

/// True when `lhs` is provably at most `rhs`, by the minima and maxima that
/// they are made of.
static bool isAtMost(Value lhs, Value rhs, unsigned depth = 6) {
  if (lhs == rhs)
    return true;
  IntegerAttr lhsConstant, rhsConstant;
  if (matchPattern(lhs, m_Constant(&lhsConstant)) &&
      matchPattern(rhs, m_Constant(&rhsConstant)))
    return lhsConstant.getInt() <= rhsConstant.getInt();
  if (depth-- == 0)
    return false;
  if (auto max = lhs.getDefiningOp<arith::MaxSIOp>())
    return isAtMost(max.getLhs(), rhs, depth) &&
           isAtMost(max.getRhs(), rhs, depth);
  if (auto min = rhs.getDefiningOp<arith::MinSIOp>())
    return isAtMost(lhs, min.getLhs(), depth) &&
           isAtMost(lhs, min.getRhs(), depth);
  if (auto min = lhs.getDefiningOp<arith::MinSIOp>())
    if (isAtMost(min.getLhs(), rhs, depth) ||
        isAtMost(min.getRhs(), rhs, depth))
      return true;
  if (auto max = rhs.getDefiningOp<arith::MaxSIOp>())
    return isAtMost(lhs, max.getLhs(), depth) ||
           isAtMost(lhs, max.getRhs(), depth);
  return false;
}

//===----------------------------------------------------------------------===//
// Bodies that are the same but for additions
//===----------------------------------------------------------------------===//

namespace {

/// How the body of a partial loop follows from that of a full one: each op of
/// the full one has its like, and where an operand of that is another, code
/// that only the partial one has computes it.
class Additions {
public:
  /// Null when the bodies differ in another way.
  static std::unique_ptr<Additions> find(scf::ForOp full, scf::ForOp partial);

  bool isAdded(Operation *op) const { return added.contains(op); }

  /// What the operand would be in a full tile, in terms of the partial loop's
  /// body; null if the operand is the same.
  Value getUnchanged(OpOperand &operand) const {
    return changed.lookup(&operand);
  }

private:
  bool match(Block &full, Block &partial);
  Operation *findLike(Operation &op, Block &partial, Operation *after);
  bool isLike(Operation &op, Operation &candidate) const;
  bool canChange(Value full, Value partial) const;

  /// From the full body to the partial one.
  IRMapping like;
  llvm::SmallPtrSet<Operation *, 32> matched, added;
  llvm::DenseMap<OpOperand *, Value> changed;
};

} // namespace

bool Additions::isLike(Operation &op, Operation &candidate) const {
  return op.getName() == candidate.getName() &&
         op.getNumOperands() == candidate.getNumOperands() &&
         op.getResultTypes() == candidate.getResultTypes() &&
         op.getAttrDictionary() == candidate.getAttrDictionary() &&
         op.getNumRegions() == 0 && candidate.getNumRegions() == 0;
}

/// Code that was added may compute another value of the same type.
bool Additions::canChange(Value full, Value partial) const {
  Operation *op = partial.getDefiningOp();
  return op && full.getType() == partial.getType() && !matched.contains(op);
}

/// The op of `partial` that is like `op`: one with the same operands, or else
/// the next one with operands that may have changed.
Operation *Additions::findLike(Operation &op, Block &partial,
                               Operation *after) {
  Operation *next = nullptr;
  for (Operation &candidate : partial.without_terminator()) {
    if (matched.contains(&candidate) || !isLike(op, candidate))
      continue;
    bool same = true, possible = true;
    for (auto [mine, its] :
         llvm::zip(op.getOperands(), candidate.getOperands())) {
      Value expected = like.lookupOrDefault(mine);
      same &= expected == its;
      possible &= expected == its || canChange(expected, its);
    }
    if (same)
      return &candidate;
    if (!next && possible && (!after || after->isBeforeInBlock(&candidate)))
      next = &candidate;
  }
  return next;
}

bool Additions::match(Block &full, Block &partial) {
  like.map(full.getArguments(), partial.getArguments());
  auto noteChanges = [&](Operation &op, Operation &its) {
    for (auto [mine, other] :
         llvm::zip(op.getOperands(), its.getOpOperands())) {
      Value expected = like.lookupOrDefault(mine);
      if (expected == other.get())
        continue;
      if (!canChange(expected, other.get()))
        return false;
      changed[&other] = expected;
    }
    return true;
  };
  Operation *last = nullptr;
  for (Operation &op : full.without_terminator()) {
    Operation *found = findLike(op, partial, last);
    if (!found || !noteChanges(op, *found))
      return false;
    matched.insert(found);
    like.map(op.getResults(), found->getResults());
    last = found;
  }
  if (!noteChanges(*full.getTerminator(), *partial.getTerminator()))
    return false;
  for (Operation &op : partial.without_terminator()) {
    if (matched.contains(&op))
      continue;
    if (!isMemoryEffectFree(&op) && !isa<LoadOp, GatherOp>(op))
      return false;
    added.insert(&op);
  }
  // An operand that changed must come from added code indeed.
  return llvm::all_of(changed, [&](auto &entry) {
    return added.contains(entry.first->get().getDefiningOp());
  });
}

std::unique_ptr<Additions> Additions::find(scf::ForOp full,
                                           scf::ForOp partial) {
  auto result = std::make_unique<Additions>();
  if (!result->match(*full.getBody(), *partial.getBody()))
    return nullptr;
  return result;
}

//===----------------------------------------------------------------------===//
// The fused loop
//===----------------------------------------------------------------------===//

namespace {

/// Writes the body of a partial loop so that what was added is done only where
/// a condition holds.
class BodyWriter {
public:
  BodyWriter(OpBuilder &builder, Block &partial, const Additions &additions,
             Value condition)
      : builder(builder), partial(partial), additions(additions),
        condition(condition) {}

  /// False when a full tile's value isn't known where it is needed.
  bool write(ValueRange arguments);

private:
  Value getChanged(OpOperand &operand, Value unchanged);
  llvm::SetVector<Operation *> getAddedSlice(Value value) const;

  OpBuilder &builder;
  Block &partial;
  const Additions &additions;
  Value condition;
  IRMapping mapping;
  llvm::DenseMap<std::pair<Value, Value>, Value> choices;
};

} // namespace

/// The added ops that `value` is computed by, in order.
llvm::SetVector<Operation *> BodyWriter::getAddedSlice(Value value) const {
  llvm::SmallPtrSet<Operation *, 16> wanted;
  SmallVector<Value> open = {value};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || !additions.isAdded(op) || !wanted.insert(op).second)
      continue;
    op->walk([&](Operation *nested) {
      llvm::append_range(open, nested->getOperands());
    });
  }
  llvm::SetVector<Operation *> slice;
  for (Operation &op : partial)
    if (wanted.contains(&op))
      slice.insert(&op);
  return slice;
}

Value BodyWriter::getChanged(OpOperand &operand, Value unchanged) {
  Value &choice = choices[{operand.get(), unchanged}];
  if (choice)
    return choice;
  Value otherwise = mapping.lookupOrNull(unchanged);
  if (!otherwise && unchanged.getParentBlock() == &partial)
    return Value();
  if (!otherwise)
    otherwise = unchanged;
  Location loc = operand.getOwner()->getLoc();
  IRMapping inner = mapping;
  auto branch = scf::IfOp::create(
      builder, loc, condition,
      [&](OpBuilder &nested, Location loc) {
        for (Operation *op : getAddedSlice(operand.get()))
          nested.clone(*op, inner);
        scf::YieldOp::create(nested, loc, inner.lookup(operand.get()));
      },
      [&](OpBuilder &nested, Location loc) {
        scf::YieldOp::create(nested, loc, otherwise);
      });
  return choice = branch.getResult(0);
}

bool BodyWriter::write(ValueRange arguments) {
  mapping.map(partial.getArguments(), arguments);
  for (Operation &op : partial) {
    if (additions.isAdded(&op))
      continue;
    SmallVector<Value> operands;
    for (OpOperand &operand : op.getOpOperands()) {
      Value unchanged = additions.getUnchanged(operand);
      Value value = unchanged ? getChanged(operand, unchanged)
                              : mapping.lookupOrDefault(operand.get());
      if (!value)
        return false;
      operands.push_back(value);
    }
    builder.clone(op, mapping)->setOperands(operands);
  }
  return true;
}

namespace {

/// Loops of which each goes on where the one before ends.
using Chain = SmallVector<scf::ForOp>;

struct FuseKeyLoops
    : nsacc::nsatile::impl::NSATileFuseKeyLoopsBase<FuseKeyLoops> {
  void runOnOperation() override;

private:
  bool fuse(ArrayRef<scf::ForOp> chain);
};

} // namespace

/// The loop that takes all results of `loop`, from where it ends.
static scf::ForOp getNext(scf::ForOp loop) {
  if (loop.getNumResults() == 0)
    return {};
  scf::ForOp next;
  for (OpResult result : loop.getResults()) {
    if (!result.hasOneUse())
      return {};
    auto user = dyn_cast<scf::ForOp>(*result.user_begin());
    if (!user || (next && user != next))
      return {};
    next = user;
  }
  if (next->getBlock() != loop->getBlock() ||
      next.getInitArgs() != ValueRange(loop.getResults()) ||
      next.getLowerBound() != loop.getUpperBound() ||
      next.getStep() != loop.getStep())
    return {};
  return next;
}

static bool haveSameBody(scf::ForOp lhs, scf::ForOp rhs) {
  return OperationEquivalence::isRegionEquivalentTo(
      &lhs.getRegion(), &rhs.getRegion(),
      OperationEquivalence::IgnoreLocations);
}

static size_t countOps(scf::ForOp loop) {
  return loop.getBody()->getOperations().size();
}

/// Fuses loops before, after, or on both sides of one over full tiles.
bool FuseKeyLoops::fuse(ArrayRef<scf::ForOp> chain) {
  const auto *full = llvm::min_element(
      chain, [](auto lhs, auto rhs) { return countOps(lhs) < countOps(rhs); });
  scf::ForOp fullLoop = *full, first = chain.front(), last = chain.back();
  scf::ForOp partial = full == chain.begin() ? last : first;
  for (scf::ForOp loop : chain)
    if (!isAtMost(loop.getLowerBound(), loop.getUpperBound()) ||
        (loop != fullLoop && !haveSameBody(loop, partial)))
      return false;
  std::unique_ptr<Additions> additions = Additions::find(fullLoop, partial);
  if (!additions)
    return false;

  OpBuilder builder(last);
  Location loc = last.getLoc();
  bool written = true;
  auto fused = scf::ForOp::create(
      builder, loc, first.getLowerBound(), last.getUpperBound(),
      first.getStep(), first.getInitArgs(),
      [&](OpBuilder &nested, Location loc, Value iv, ValueRange carried) {
        auto compare = [&](arith::CmpIPredicate predicate, Value bound) {
          return arith::CmpIOp::create(nested, loc, predicate, iv, bound);
        };
        Value condition;
        if (fullLoop != first)
          condition =
              compare(arith::CmpIPredicate::slt, fullLoop.getLowerBound());
        if (fullLoop != last) {
          Value after =
              compare(arith::CmpIPredicate::sge, fullLoop.getUpperBound());
          condition = condition
                          ? arith::OrIOp::create(nested, loc, condition, after)
                                .getResult()
                          : after;
        }
        SmallVector<Value> arguments = {iv};
        llvm::append_range(arguments, carried);
        BodyWriter writer(nested, *partial.getBody(), *additions, condition);
        written = writer.write(arguments);
      });
  if (!written) {
    fused.erase();
    return false;
  }
  last.replaceAllUsesWith(fused);
  for (scf::ForOp loop : llvm::reverse(chain))
    loop.erase();
  return true;
}

void FuseKeyLoops::runOnOperation() {
  SmallVector<scf::ForOp> loops;
  getOperation()->walk([&](scf::ForOp loop) { loops.push_back(loop); });
  llvm::SmallPtrSet<Operation *, 8> done;
  for (scf::ForOp loop : loops) {
    if (done.contains(loop))
      continue;
    Chain chain = {loop};
    while (scf::ForOp next = getNext(chain.back()))
      chain.push_back(next);
    if (chain.size() < 2)
      continue;
    for (scf::ForOp member : chain)
      done.insert(member);
    fuse(chain);
  }
}
