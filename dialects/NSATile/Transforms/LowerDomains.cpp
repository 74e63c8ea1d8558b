//===- LowerDomains.cpp - Folds over one range of steps -------------------===//

#include "NSATile/IR/NSATileOps.h"
#include "NSATile/IR/Remarks.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace nsacc::nsatile {
#define GEN_PASS_DEF_NSATILELOWERDOMAINS
#include "NSATile/Transforms/Passes.h.inc"
} // namespace nsacc::nsatile

using namespace mlir;
using namespace nsacc::nsatile;

static constexpr PassRemarks kRangeRemarks = {"nsatile-lower-domains",
                                              "FoldForEachRange"};

namespace {

using State = SmallVector<Value>;

/// Writes one fold as folds over one range each.
class DomainLowering {
public:
  DomainLowering(FoldOp fold, bool peels)
      : fold(fold), domain(fold.getDomain()), peels(peels), builder(fold),
        loc(fold.getLoc()) {}

  void run();

private:
  State lowerRanges(State state);
  State lowerManyRanges(State state);
  State lowerParts(Value entry, State state);
  State lowerList(State state);
  State runStep(Value tile, Value partial, ValueRange state);
  State runChecked(Value tile, ValueRange state, bool mayBeUnseen);
  Value readEntry(Value index);
  void readWords(Value index);

  using Then = llvm::function_ref<State()>;
  State choose(Value condition, Then yes, Then no);
  using Step =
      llvm::function_ref<State(Value tile, Value partial, ValueRange carried)>;
  State createFold(const TileRange &range, const State &state, Step step);
  /// Creates a fold without a full part: its steps find out which tiles are
  /// full.
  State createFold(Value end, const State &state, Step step) {
    Value first = constant(0);
    return createFold({first, end, first, first}, state, step);
  }

  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value constantBool(bool value) {
    return arith::ConstantIntOp::create(builder, loc, value, /*width=*/1);
  }
  Value compare(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return arith::CmpIOp::create(builder, loc, predicate, lhs, rhs);
  }
  Value less(Value lhs, Value rhs) {
    return compare(arith::CmpIPredicate::slt, lhs, rhs);
  }
  Value atLeast(Value lhs, Value rhs) {
    return compare(arith::CmpIPredicate::sge, lhs, rhs);
  }
  template <typename OpTy> Value make(Value lhs, Value rhs) {
    return OpTy::create(builder, loc, lhs, rhs);
  }
  Value isOutside(Value tile, Value first, Value end) {
    return make<arith::OrIOp>(less(tile, first), atLeast(tile, end));
  }

  FoldOp fold;
  FoldDomain domain;
  bool peels;
  OpBuilder builder;
  Location loc;
  /// Words of the entry that the current steps are for.
  SmallVector<Value> words;
};

} // namespace

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Writes a copy of the body.
State DomainLowering::runStep(Value tile, Value partial, ValueRange state) {
  IRMapping mapping;
  mapping.map(fold.getTile(), tile);
  mapping.map(fold.getPartial(), partial);
  mapping.map(fold.getWords(), words);
  mapping.map(fold.getState(), state);
  for (Operation &op : fold.getBody().front().without_terminator())
    builder.clone(op, mapping);
  State next;
  for (Value value : fold.getYieldedValues())
    next.push_back(mapping.lookupOrDefault(value));
  return next;
}

/// Writes a step for any tile: the ranges say whether it is full and, if
/// `mayBeUnseen`, whether any row sees it.
State DomainLowering::runChecked(Value tile, ValueRange state,
                                 bool mayBeUnseen) {
  Value seen, full;
  auto either = [&](Value &any, Value one) {
    any = any ? make<arith::OrIOp>(any, one) : one;
  };
  for (const TileRange &range : domain.ranges) {
    if (mayBeUnseen)
      either(seen, make<arith::AndIOp>(atLeast(tile, range.first),
                                       less(tile, range.end)));
    if (range.hasFull())
      either(full, make<arith::AndIOp>(atLeast(tile, range.fullFirst),
                                       less(tile, range.fullEnd)));
  }
  auto step = [&]() -> State {
    if (!full)
      return runStep(tile, constantBool(true), state);
    if (peels)
      return choose(
          full, [&] { return runStep(tile, constantBool(false), state); },
          [&] { return runStep(tile, constantBool(true), state); });
    Value partial = make<arith::XOrIOp>(full, constantBool(true));
    return runStep(tile, partial, state);
  };
  if (!seen)
    return step();
  return choose(seen, step, [&] { return State(state); });
}

State DomainLowering::choose(Value condition, Then yes, Then no) {
  auto branch = scf::IfOp::create(builder, loc, fold.getResultTypes(),
                                  condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  for (auto [block, then] : {std::pair(branch.thenBlock(), yes),
                             std::pair(branch.elseBlock(), no)}) {
    builder.setInsertionPointToEnd(block);
    scf::YieldOp::create(builder, loc, then());
  }
  return State(branch.getResults());
}

State DomainLowering::createFold(const TileRange &range, const State &state,
                                 Step step) {
  auto op = FoldOp::create(builder, loc, FoldDomain{{range}},
                           fold.getResultTypes(), state);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&op.getBody().front());
  State next = step(op.getTile(), op.getPartial(), op.getState());
  YieldOp::create(builder, loc, next);
  return State(op.getResults());
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

/// Writes a fold for each range, which leaves out the tiles of earlier ranges.
State DomainLowering::lowerRanges(State state) {
  for (auto [index, range] : llvm::enumerate(domain.ranges)) {
    auto earlier = ArrayRef(domain.ranges).take_front(index);
    state = createFold(
        range, state, [&](Value tile, Value partial, ValueRange carried) {
          Value fresh;
          for (const TileRange &each : earlier) {
            Value outside = isOutside(tile, each.first, each.end);
            fresh = fresh ? make<arith::AndIOp>(fresh, outside) : outside;
          }
          auto step = [&] { return runStep(tile, partial, carried); };
          return fresh ? choose(fresh, step, [&] { return State(carried); })
                       : step();
        });
  }
  return state;
}

/// Writes one fold that counts the tiles of all ranges, one range after the
/// other. A tile in several ranges counts in the first of them.
State DomainLowering::lowerManyRanges(State state) {
  SmallVector<Value> before; // tiles of earlier ranges
  Value count = constant(0);
  for (const TileRange &range : domain.ranges) {
    before.push_back(count);
    count =
        make<arith::AddIOp>(count, make<arith::SubIOp>(range.end, range.first));
  }
  return createFold(count, state, [&](Value index, Value, ValueRange carried) {
    Value tile = make<arith::AddIOp>(domain.ranges.front().first, index);
    for (auto [range, start] :
         llvm::drop_begin(llvm::zip_equal(domain.ranges, before))) {
      Value own =
          make<arith::AddIOp>(range.first, make<arith::SubIOp>(index, start));
      tile =
          arith::SelectOp::create(builder, loc, less(index, start), tile, own);
    }
    Value known = constantBool(false);
    for (auto [range, next] :
         llvm::zip(domain.ranges, ArrayRef(before).drop_front())) {
      Value within = make<arith::AndIOp>(atLeast(tile, range.first),
                                         less(tile, range.end));
      known = make<arith::OrIOp>(
          known, make<arith::AndIOp>(atLeast(index, next), within));
    }
    return choose(
        known, [&] { return State(carried); },
        [&] { return runChecked(tile, carried, /*mayBeUnseen=*/false); });
  });
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

Value DomainLowering::readEntry(Value index) {
  SmallVector<Value> indices(domain.indices);
  indices.push_back(index);
  Value entry = memref::LoadOp::create(builder, loc, domain.list, indices);
  Type type = builder.getIndexType();
  return entry.getType() == type
             ? entry
             : arith::IndexCastOp::create(builder, loc, type, entry);
}

void DomainLowering::readWords(Value index) {
  SmallVector<Value> indices(domain.indices);
  indices.append({index, Value()});
  words.clear();
  for (int64_t word = 0; word < domain.getNumWords(); ++word) {
    indices.back() = constant(word);
    words.push_back(
        memref::LoadOp::create(builder, loc, domain.members, indices));
  }
}

State DomainLowering::lowerParts(Value entry, State state) {
  if (domain.parts == 1)
    return runChecked(entry, state, /*mayBeUnseen=*/false);
  Value first = make<arith::MulIOp>(entry, constant(domain.parts));
  return createFold(constant(domain.parts), state,
                    [&](Value part, Value, ValueRange carried) {
                      return runChecked(make<arith::AddIOp>(first, part),
                                        carried, /*mayBeUnseen=*/true);
                    });
}

State DomainLowering::lowerList(State state) {
  auto type = cast<ShapedType>(domain.list.getType());
  Value end = domain.count;
  if (!end)
    end = constant(type.getShape().back() * domain.parts);
  auto parts = constant(domain.parts);
  return createFold(end, state, [&](Value index, Value, ValueRange carried) {
    if (domain.first)
      index = make<arith::AddIOp>(domain.first, index);
    Value number = index, part;
    if (domain.parts > 1) {
      number = make<arith::FloorDivSIOp>(index, parts);
      part = make<arith::SubIOp>(index, make<arith::MulIOp>(number, parts));
    }
    Value entry = readEntry(number);
    readWords(number);
    auto step = [&] {
      Value tile = entry;
      if (part)
        tile = make<arith::AddIOp>(make<arith::MulIOp>(entry, parts), part);
      // Steps of a pipeline have no branch: unseen tiles are masked.
      bool skips = domain.parts > 1 && (peels || !domain.count);
      return runChecked(tile, carried, /*mayBeUnseen=*/skips);
    };
    // Counted entries aren't negative.
    if (domain.count)
      return step();
    return choose(atLeast(entry, constant(0)), step,
                  [&] { return State(carried); });
  });
}

void DomainLowering::run() {
  State state(fold.getInits());
  if (domain.at)
    state = lowerParts(domain.at, state);
  else if (domain.list)
    state = lowerList(state);
  else if (!domain.hasFoldForEachRange()) {
    kRangeRemarks.missed(fold, Twine(domain.ranges.size()) +
                                   " ranges share a fold: code for each of "
                                   "them would be too long");
    state = lowerManyRanges(state);
  } else {
    if (domain.ranges.size() > 1)
      kRangeRemarks.passed(fold, "each range has a fold");
    state = lowerRanges(state);
  }
  fold.replaceAllUsesWith(state);
  fold.erase();
}

namespace {

struct LowerDomains
    : nsacc::nsatile::impl::NSATileLowerDomainsBase<LowerDomains> {
  using NSATileLowerDomainsBase::NSATileLowerDomainsBase;

  void runOnOperation() override {
    // Inner folds first: bodies are copied.
    SmallVector<FoldOp> folds;
    getOperation()->walk([&](FoldOp fold) {
      if (!fold.getSingleRange())
        folds.push_back(fold);
    });
    for (FoldOp fold : folds)
      DomainLowering(fold, peel).run();
  }
};

} // namespace
