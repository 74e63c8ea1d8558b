//===- PrefetchEntries.cpp - Entries of lists a step ahead ----------------===//

#include "NSATile/IR/NSATileUses.h"
#include "NSATile/IR/Remarks.h"
#include "NSATile/IR/TileLoop.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace nsacc::nsatile {
#define GEN_PASS_DEF_NSATILEPREFETCHENTRIES
#include "NSATile/Transforms/Passes.h.inc"
} // namespace nsacc::nsatile

using namespace mlir;
using namespace nsacc::nsatile;

static constexpr PassRemarks kEntryRemarks = {"nsatile-prefetch-entries",
                                              "PrefetchedEntries"};

namespace {

/// A loop whose steps read numbers from memory.
class EntryLoop {
public:
  explicit EntryLoop(TileLoop loop) : loop(loop) {}

  /// False where nothing can be read ahead.
  bool find();
  void apply();

private:
  bool comesOfIndex(Value value);
  Value copyFor(OpBuilder &builder, Value value, IRMapping &step);
  SmallVector<Value> readFor(OpBuilder &builder, Value index);

  TileLoop loop;
  SmallVector<memref::LoadOp> entries;
};

} // namespace

bool EntryLoop::comesOfIndex(Value value) {
  return walkSources(value,
                     [&](Value source) {
                       if (source == loop.getIndex())
                         return WalkResult::interrupt();
                       Operation *code = source.getDefiningOp();
                       return code && code->getBlock() == loop.getBody()
                                  ? WalkResult::advance()
                                  : WalkResult::skip();
                     })
      .wasInterrupted();
}

bool EntryLoop::find() {
  if (!loop.hasUnitStep())
    return false;
  for (auto load : loop.getBody()->getOps<memref::LoadOp>()) {
    if (!load.getType().isIntOrIndex() || !comesOfIndex(load.getResult()))
      continue;
    if (loop.isKnownAhead(load.getResult()))
      entries.push_back(load);
    else
      kEntryRemarks.missed(load, "the entry isn't read a step ahead: its place "
                                 "depends on tiles or on the step before, or "
                                 "the program writes the list");
  }
  return !entries.empty();
}

Value EntryLoop::copyFor(OpBuilder &builder, Value value, IRMapping &step) {
  if (Value known = step.lookupOrNull(value))
    return known;
  if (loop.getInterface().isDefinedOutsideOfLoop(value))
    return value;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    copyFor(builder, operand, step);
  builder.clone(*op, step);
  return step.lookup(value);
}

/// The entries of step `index`.
SmallVector<Value> EntryLoop::readFor(OpBuilder &builder, Value index) {
  IRMapping step;
  step.map(loop.getIndex(), index);
  return llvm::map_to_vector(entries, [&](memref::LoadOp load) {
    return copyFor(builder, load.getResult(), step);
  });
}

/// The last step reads its own entries once more.
void EntryLoop::apply() {
  kEntryRemarks.passed(loop.getOperation(),
                       "entries of a step that are read in the one before: " +
                           Twine(entries.size()));
  OpBuilder builder(loop.getOperation());
  Location loc = loop.getLoc();
  Value first = loop.getFirst(), end = loop.getEnd();
  Value any = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                    first, end);
  auto start = scf::IfOp::create(
      builder, loc, any,
      [&](OpBuilder &nested, Location loc) {
        scf::YieldOp::create(nested, loc, readFor(nested, first));
      },
      [&](OpBuilder &nested, Location loc) {
        SmallVector<Value> none;
        for (memref::LoadOp load : entries)
          none.push_back(arith::ConstantOp::create(
              nested, loc, nested.getZeroAttr(load.getType())));
        scf::YieldOp::create(nested, loc, none);
      });
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value last = arith::SubIOp::create(builder, loc, end, one);
  SmallVector<Value> inits(loop.getInits());
  size_t numCarried = inits.size();
  llvm::append_range(inits, start.getResults());
  Operation *ahead = loop.createOver(
      builder, first, end, inits,
      [&](OpBuilder &nested, IRMapping &mapping, Value index,
          ValueRange carried) {
        mapping.map(loop.getCarried(), carried.take_front(numCarried));
        Value next = arith::AddIOp::create(nested, loc, index, one);
        next = arith::MinSIOp::create(nested, loc, next, last);
        SmallVector<Value> later = readFor(nested, next);
        for (auto [load, entry] :
             llvm::zip_equal(entries, carried.drop_front(numCarried)))
          mapping.map(load.getResult(), entry);
        for (Operation &op : loop.getBody()->without_terminator())
          if (auto load = dyn_cast<memref::LoadOp>(op);
              !load || !llvm::is_contained(entries, load))
            nested.clone(op, mapping);
        SmallVector<Value> yielded =
            llvm::map_to_vector(loop.getYielded(), [&](Value value) {
              return mapping.lookupOrDefault(value);
            });
        llvm::append_range(yielded, later);
        return yielded;
      });
  loop->replaceAllUsesWith(ahead->getResults().take_front(numCarried));
  loop->erase();
}

namespace {

struct PrefetchEntries
    : nsacc::nsatile::impl::NSATilePrefetchEntriesBase<PrefetchEntries> {
  void runOnOperation() override {
    // Inner loops first: bodies are copied.
    SmallVector<TileLoop> loops;
    getOperation()->walk([&](Operation *op) {
      if (TileLoop loop(op); loop && op->getParentOfType<WarpSpecializeOp>())
        loops.push_back(loop);
    });
    for (TileLoop loop : loops) {
      EntryLoop entries(loop);
      if (entries.find())
        entries.apply();
    }
  }
};

} // namespace
