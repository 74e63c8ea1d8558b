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

/// A loop whose steps read numbers from memory. A number that gives the place
/// of another entry is read one step earlier than that entry, so that nobody
/// waits for it.
class EntryLoop {
public:
  explicit EntryLoop(TileLoop loop) : loop(loop) {}

  /// False if nothing can be read ahead.
  bool find();
  void apply();

private:
  struct Entry {
    Operation *read;
    /// Number of steps between the read of the entry and its use.
    int64_t lead = 1;
  };

  bool comesOfIndex(Value value);
  bool isEntry(Operation *op) const;
  void findLeads();
  /// The entry's value for the step `distance` steps after the current one.
  Value getCarried(const Entry &entry, int64_t distance, ValueRange carried);
  SmallVector<Value> readFirst(OpBuilder &builder, Value last);
  SmallVector<Value> readNext(OpBuilder &builder, Value index, Value last,
                              ValueRange carried);
  /// The number of the step `distance` steps after `index`, or of the last
  /// step.
  Value getStep(OpBuilder &builder, Value index, int64_t distance, Value last);

  TileLoop loop;
  /// Entries in the order of the loop's body.
  SmallVector<Entry> entries;
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

bool EntryLoop::isEntry(Operation *op) const {
  return llvm::any_of(entries,
                      [&](const Entry &entry) { return entry.read == op; });
}

bool EntryLoop::find() {
  if (!loop.hasUnitStep())
    return false;
  for (Operation &op : *loop.getBody()) {
    if (!isa<memref::LoadOp, LookupOp>(op))
      continue;
    Value number = op.getResult(0);
    if (!number.getType().isIntOrIndex() || !comesOfIndex(number))
      continue;
    if (loop.isKnownAhead(number))
      entries.push_back({&op});
    else
      kEntryRemarks.missed(&op, "the entry isn't read a step ahead: its place "
                                "depends on tiles or on the step before, or "
                                "the program writes the list");
  }
  findLeads();
  return !entries.empty();
}

/// Goes from the last entry to the first: the entries that an entry depends on
/// are read earlier.
void EntryLoop::findLeads() {
  for (const Entry &entry : llvm::reverse(entries))
    for (Value operand : entry.read->getOperands())
      walkSources(operand, [&](Value source) {
        Operation *code = source.getDefiningOp();
        if (!code || code->getBlock() != loop.getBody())
          return WalkResult::skip();
        for (Entry &earlier : entries)
          if (earlier.read == code)
            earlier.lead = std::max(earlier.lead, entry.lead + 1);
        return isEntry(code) ? WalkResult::skip() : WalkResult::advance();
      });
}

Value EntryLoop::getCarried(const Entry &entry, int64_t distance,
                            ValueRange carried) {
  size_t place = distance;
  for (const Entry &each : entries) {
    if (each.read == entry.read)
      break;
    place += each.lead;
  }
  return carried[place];
}

Value EntryLoop::getStep(OpBuilder &builder, Value index, int64_t distance,
                         Value last) {
  if (distance == 0)
    return index;
  Location loc = loop.getLoc();
  Value steps = arith::ConstantIndexOp::create(builder, loc, distance);
  Value later = arith::AddIOp::create(builder, loc, index, steps);
  return arith::MinSIOp::create(builder, loc, later, last);
}

/// Reads the values for the first step.
SmallVector<Value> EntryLoop::readFirst(OpBuilder &builder, Value last) {
  SmallVector<Value> values;
  for (const Entry &entry : entries)
    for (int64_t distance = 0; distance < entry.lead; ++distance) {
      IRMapping step;
      step.map(loop.getIndex(),
               getStep(builder, loop.getFirst(), distance, last));
      for (const Entry &earlier : entries) {
        if (earlier.read == entry.read)
          break;
        step.map(earlier.read->getResult(0),
                 getCarried(earlier, distance, values));
      }
      values.push_back(loop.copyFor(builder, entry.read->getResult(0), step));
    }
  return values;
}

/// Computes the values that step `index` hands on: the values that it was
/// given, moved on by a step, and the values that it reads.
SmallVector<Value> EntryLoop::readNext(OpBuilder &builder, Value index,
                                       Value last, ValueRange carried) {
  SmallVector<Value> values;
  for (const Entry &entry : entries) {
    for (int64_t distance = 1; distance < entry.lead; ++distance)
      values.push_back(getCarried(entry, distance, carried));
    IRMapping step;
    step.map(loop.getIndex(), getStep(builder, index, entry.lead, last));
    for (const Entry &earlier : entries)
      if (earlier.lead > entry.lead)
        step.map(earlier.read->getResult(0),
                 getCarried(earlier, entry.lead, carried));
    values.push_back(loop.copyFor(builder, entry.read->getResult(0), step));
  }
  return values;
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
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value last = arith::SubIOp::create(builder, loc, end, one);
  auto start = scf::IfOp::create(
      builder, loc, any,
      [&](OpBuilder &nested, Location loc) {
        scf::YieldOp::create(nested, loc, readFirst(nested, last));
      },
      [&](OpBuilder &nested, Location loc) {
        SmallVector<Value> none;
        for (const Entry &entry : entries)
          none.append(entry.lead, arith::ConstantOp::create(
                                      nested, loc,
                                      nested.getZeroAttr(
                                          entry.read->getResult(0).getType())));
        scf::YieldOp::create(nested, loc, none);
      });
  SmallVector<Value> inits(loop.getInits());
  size_t numCarried = inits.size();
  llvm::append_range(inits, start.getResults());
  Operation *ahead = loop.createOver(
      builder, first, end, inits,
      [&](OpBuilder &nested, IRMapping &mapping, Value index,
          ValueRange carried) {
        mapping.map(loop.getCarried(), carried.take_front(numCarried));
        ValueRange given = carried.drop_front(numCarried);
        SmallVector<Value> later = readNext(nested, index, last, given);
        for (const Entry &entry : entries)
          mapping.map(entry.read->getResult(0), getCarried(entry, 0, given));
        for (Operation &op : loop.getBody()->without_terminator())
          if (!isEntry(&op))
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
