//===- AssumeFinite.cpp - Plain products, and exact ones where they fail --===//

#include "Launches.h"
#include "NSATile/IR/NSATileHints.h"
#include "NSATile/IR/Remarks.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include <array>
#include <limits>

namespace nsacc::nsatile {
#define GEN_PASS_DEF_NSATILEASSUMEFINITE
#include "NSATile/Transforms/Passes.h.inc"
} // namespace nsacc::nsatile

using namespace mlir;
using namespace nsacc::nsatile;

static constexpr PassRemarks kFiniteRemarks = {"nsatile-assume-finite",
                                               "AssumedFinite"};

/// The tile outside of loops and branches that a step's `tile` is yielded to.
static Value getFinalTile(Value tile, Block &outermost) {
  while (tile.getParentBlock() != &outermost) {
    OpOperand *yielded = nullptr;
    for (OpOperand &use : tile.getUses())
      if (isa<scf::YieldOp, YieldOp>(use.getOwner()))
        yielded = &use;
    if (!yielded)
      return Value();
    tile = yielded->getOwner()->getParentOp()->getResult(
        yielded->getOperandNumber());
  }
  return tile;
}

namespace {

/// A program and the exact program that computes the same results.
struct Pair {
  ProgramOp fast, exact;
  LaunchOp fastLaunch, exactLaunch;
};

/// Writes code that marks the fast program's rows with results that aren't
/// finite. A buffer has a number for each row of each program: 0, or NaN.
class MarkWriter {
public:
  explicit MarkWriter(Pair pair) : pair(pair) {}

  /// Reason why a result that isn't finite would not be found; empty if it is.
  StringRef collect();
  void write();

private:
  struct Arguments {
    Value buffer, x, y;
  };
  void createBuffer();
  Arguments takeBuffer(ProgramOp program, LaunchOp launch);
  Value getPlace(OpBuilder &builder, Location loc, Arguments arguments,
                 std::array<Value, 3> point, Value row);
  void writeMarks();
  void readMarks();
  int64_t getTokens(ProgramOp program) {
    return program.getScheduleAttr().getTokens();
  }

  Pair pair;
  SmallVector<DotOp> products;
  SmallVector<Value> sums, maxima;
  int64_t rows = 0;
  /// The buffer in the plan.
  Value buffer;
};

struct AssumeFinite
    : nsacc::nsatile::impl::NSATileAssumeFiniteBase<AssumeFinite> {
  void runOnOperation() override;
};

} // namespace

/// The greatest size of a grid in all runs of a repeat, computed in front of
/// the repeat; null if it isn't known.
static Value getMost(RepeatOp repeat, Value extent) {
  if (!repeat || extent.getParentRegion() != &repeat.getBody())
    return extent;
  auto least = extent.getDefiningOp<arith::MinSIOp>();
  if (!least)
    return {};
  Value lhs = getMost(repeat, least.getLhs());
  return lhs ? lhs : getMost(repeat, least.getRhs());
}

/// Whether more steps follow that may raise a maximum.
static bool isChanged(Value max) {
  return llvm::any_of(max.getUsers(), [](Operation *user) {
    return isa<SoftmaxUpdateOp, SoftmaxMergeOp, LoopLikeOpInterface>(user);
  });
}

StringRef MarkWriter::collect() {
  Block &body = pair.fast.getBody().front();
  auto repeat = dyn_cast<RepeatOp>(pair.fastLaunch->getParentOp());
  if (pair.exactLaunch->getParentOp() != pair.fastLaunch->getParentOp() ||
      !llvm::all_of(getGrid(pair.fastLaunch),
                    [&](Value extent) { return getMost(repeat, extent); }))
    return "it isn't known how many programs there are in a plan's loop";
  WalkResult stores = pair.fast.walk([&](StoreOp store) {
    return store->getBlock() == &body ? WalkResult::advance()
                                      : WalkResult::interrupt();
  });
  if (stores.wasInterrupted())
    return "it writes results in a loop or a branch";
  pair.fast.walk([&](DotOp dot) {
    if (dot.getVisible())
      products.push_back(dot);
  });
  llvm::SetVector<Value> finals, finalMaxima;
  for (DotOp dot : products)
    finals.insert(getFinalTile(dot.getResult(), body));
  if (finals.empty())
    return "no product looks at which pairs are visible";
  pair.fast.walk([&](SoftmaxUpdateOp update) {
    finalMaxima.insert(getFinalTile(update.getNewMax(), body));
  });
  if (finals.contains(Value()))
    return "a product's sum doesn't leave its loop";
  if (finalMaxima.contains(Value()))
    return "a softmax's maximum doesn't leave its loop";
  sums = finals.takeVector();
  maxima = finalMaxima.takeVector();
  llvm::erase_if(maxima, isChanged);
  rows = cast<RankedTensorType>(sums.front().getType()).getDimSize(0);
  int64_t tokens = getTokens(pair.fast);
  auto haveSameRows = [&](ArrayRef<Value> tiles) {
    return llvm::all_of(tiles, [&](Value tile) {
      return cast<RankedTensorType>(tile.getType()).getDimSize(0) == rows;
    });
  };
  if (!haveSameRows(sums) || !haveSameRows(maxima) || rows % tokens != 0)
    return "its products' sums or maxima don't have the rows of its queries";
  return tokens % getTokens(pair.exact) == 0
             ? ""
             : "the exact program's tiles don't divide its own";
}

/// Workspace is made in front of a repeat.
void MarkWriter::createBuffer() {
  LaunchOp launch = pair.fastLaunch;
  auto repeat = dyn_cast<RepeatOp>(launch->getParentOp());
  OpBuilder builder(repeat ? repeat.getOperation() : launch.getOperation());
  Location loc = launch.getLoc();
  Value size = arith::ConstantIndexOp::create(builder, loc, rows);
  for (Value extent : getGrid(launch))
    size = arith::MulIOp::create(builder, loc, size, getMost(repeat, extent));
  auto type = MemRefType::get({ShapedType::kDynamic}, builder.getF32Type());
  buffer = WorkspaceOp::create(builder, loc, type, size);
}

/// Adds arguments for the buffer and for the fast program's grid, which gives
/// the places of marks.
MarkWriter::Arguments MarkWriter::takeBuffer(ProgramOp program,
                                             LaunchOp launch) {
  SmallVector<Value> taken =
      addArguments(program, launch, [&](LaunchOp) -> SmallVector<Value> {
        return {buffer, pair.fastLaunch.getX(), pair.fastLaunch.getY()};
      });
  return {taken[0], taken[1], taken[2]};
}

/// Place in the buffer of the marks for a point of the fast program's grid.
Value MarkWriter::getPlace(OpBuilder &builder, Location loc,
                           Arguments arguments, std::array<Value, 3> point,
                           Value row) {
  auto add = [&](Value a, Value b) {
    return Value(arith::AddIOp::create(builder, loc, a, b));
  };
  auto mul = [&](Value a, Value b) {
    return Value(arith::MulIOp::create(builder, loc, a, b));
  };
  Value outer = add(mul(point[2], arguments.y), point[1]);
  Value number = add(mul(outer, arguments.x), point[0]);
  Value size = arith::ConstantIndexOp::create(builder, loc, rows);
  Value place = mul(number, size);
  return row ? add(place, row) : place;
}

/// The greatest absolute value in each row, if the program computes it anyway.
static Value getGreatest(Value sum) {
  for (Operation *user : sum.getUsers())
    if (isa<math::AbsFOp>(user))
      for (Operation *reader : user->getUsers())
        if (auto reduce = dyn_cast<ReduceOp>(reader);
            reduce && reduce.getKind() == ReduceKind::Max &&
            reduce.getDim() == 1 && reduce->getBlock() == sum.getParentBlock())
          return reduce.getResult();
  return Value();
}

/// Marks the rows: 0 · x is 0 for finite numbers, NaN for others. The mark of a
/// sum is computed at once, so that the sum needn't wait in registers for the
/// others. `found` has a row of numbers for each row, or one number.
static Value markRows(Value found, Value others) {
  OpBuilder builder(found.getContext());
  builder.setInsertionPointAfterValue(found);
  Location loc = found.getLoc();
  auto type = cast<RankedTensorType>(found.getType());
  Value zero = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(type, builder.getZeroAttr(type.getElementType())));
  Value own = arith::MulFOp::create(builder, loc, found, zero);
  if (type.getRank() == 2)
    own = ReduceOp::create(
        builder, loc,
        RankedTensorType::get({type.getDimSize(0)}, type.getElementType()),
        ReduceKind::Sum, own, /*dim=*/1);
  return others ? Value(arith::AddFOp::create(builder, loc, others, own)) : own;
}

/// Infinity if a maximum is large; a row that sees nothing has no maximum.
static Value overflowLarge(Value max) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  OpBuilder builder(max.getContext());
  builder.setInsertionPointAfterValue(max);
  Location loc = max.getLoc();
  auto splat = [&](double value) -> Value {
    auto type = cast<RankedTensorType>(max.getType());
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(
            type, builder.getFloatAttr(type.getElementType(), value)));
  };
  Value isSeen = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNE,
                                       max, splat(-infinity));
  Value seen = arith::SelectOp::create(builder, loc, isSeen, max, splat(0));
  return arith::MulFOp::create(builder, loc, seen,
                               splat(0x1p128 / kLargeMaximum));
}

void MarkWriter::writeMarks() {
  Arguments arguments = takeBuffer(pair.fast, pair.fastLaunch);
  for (Value &sum : sums)
    if (Value greatest = getGreatest(sum))
      sum = greatest;
  sums.append(llvm::map_to_vector(maxima, overflowLarge));
  llvm::sort(sums, [](Value a, Value b) {
    return a.getDefiningOp() != b.getDefiningOp()
               ? a.getDefiningOp()->isBeforeInBlock(b.getDefiningOp())
               : cast<OpResult>(a).getResultNumber() <
                     cast<OpResult>(b).getResultNumber();
  });
  Value marks;
  for (Value sum : sums)
    marks = markRows(sum, marks);
  Location loc = marks.getLoc();
  OpBuilder builder(marks.getContext());
  builder.setInsertionPointAfterValue(marks);
  auto id = [&](int64_t axis) {
    return Value(ProgramIdOp::create(builder, loc, axis));
  };
  Value place =
      getPlace(builder, loc, arguments, {id(0), id(1), id(2)}, Value());
  Value size = arith::ConstantIndexOp::create(builder, loc, rows);
  Value limit = arith::AddIOp::create(builder, loc, place, size);
  storeTile(builder, loc, marks, arguments.buffer,
            {.offsets = {place}, .limits = {limit}, .dims = {0}});
  RaiseOp::create(builder, loc, marks);
}

/// Lets the exact program skip a tile if all marks of its rows are 0.
void MarkWriter::readMarks() {
  Arguments arguments = takeBuffer(pair.exact, pair.exactLaunch);
  Block &body = pair.exact.getBody().front();
  Location loc = pair.exact.getLoc();
  SmallVector<Value> extents =
      addArguments(pair.exact, pair.exactLaunch, getGrid);

  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  auto repair =
      RepairOp::create(builder, loc, extents[0], extents[1], extents[2]);
  Type index = builder.getIndexType();
  Block *visit = builder.createBlock(&repair.getBody(), {},
                                     {index, index, index}, {loc, loc, loc});
  int64_t group = rows / getTokens(pair.fast);
  int64_t own = getTokens(pair.exact) * group;
  auto constant = [&](int64_t value) {
    return Value(arith::ConstantIndexOp::create(builder, loc, value));
  };
  Value first =
      arith::MulIOp::create(builder, loc, visit->getArgument(0), constant(own));
  Value x = arith::DivUIOp::create(builder, loc, first, constant(rows));
  Value row = arith::RemUIOp::create(builder, loc, first, constant(rows));
  Value place =
      getPlace(builder, loc, arguments,
               {x, visit->getArgument(1), visit->getArgument(2)}, row);
  Value limit = arith::AddIOp::create(builder, loc, place, constant(own));
  Value marks = loadTile(
      builder, loc, arguments.buffer,
      {.offsets = {place}, .limits = {limit}, .dims = {0}, .shape = {own}});
  Value finite = AllFiniteOp::create(builder, loc, marks);
  Value isWrong = arith::XOrIOp::create(
      builder, loc, finite,
      arith::ConstantIntOp::create(builder, loc, 1, /*width=*/1));
  auto branch = scf::IfOp::create(builder, loc, isWrong);
  Block &then = *branch.thenBlock();
  then.getOperations().splice(then.begin(), body.getOperations(),
                              std::next(repair->getIterator()),
                              std::prev(body.end()));
  replaceProgramIds(repair);
}

/// Scores that are -inf for all keys of some rows -> an update of the other
/// rows. No score needs a check of its own; a number in a hidden row that isn't
/// finite makes a NaN in the row's sums.
static void hideRows(SoftmaxUpdateOp update) {
  auto select = update.getScores().getDefiningOp<arith::SelectOp>();
  auto rows = select ? select.getCondition().getDefiningOp<BroadcastOp>()
                     : BroadcastOp();
  if (!rows || update.getRows() || rows.getDims() != ArrayRef<int64_t>{1} ||
      !matchPattern(select.getFalseValue(), m_NegInfFloat()))
    return;
  update.getRowsMutable().assign(rows.getSource());
  update.getScoresMutable().assign(select.getTrueValue());
}

void MarkWriter::write() {
  createBuffer();
  for (DotOp dot : products)
    dot.getVisibleMutable().clear();
  pair.fast.walk([](arith::SelectOp select) {
    if (select->hasAttr(kOnlyFiniteAttrName))
      select.replaceAllUsesWith(select.getTrueValue());
  });
  pair.fast.walk([](Operation *op) {
    if (!isa<SoftmaxUpdateOp, SoftmaxFinalizeOp>(op))
      return;
    op->setAttr(kAssumesFiniteAttrName, UnitAttr::get(op->getContext()));
    if (auto update = dyn_cast<SoftmaxUpdateOp>(op))
      hideRows(update);
  });
  writeMarks();
  readMarks();
}

/// The only launch of a program; null if there are none or several.
static LaunchOp findLaunch(ProgramOp program) {
  SmallVector<LaunchOp> launches = findLaunches(program);
  return launches.size() == 1 ? launches.front() : LaunchOp();
}

static FailureOr<Pair> findPair(ModuleOp module, ProgramOp fast) {
  auto name = fast->getAttrOfType<FlatSymbolRefAttr>(kExactProgramAttrName);
  Pair pair;
  pair.fast = fast;
  pair.fastLaunch = findLaunch(fast);
  if (name)
    pair.exact = module.lookupSymbol<ProgramOp>(name);
  if (pair.exact)
    pair.exactLaunch = findLaunch(pair.exact);
  if (pair.fastLaunch && pair.exactLaunch && fast.getScheduleAttr() &&
      pair.exact.getScheduleAttr())
    return pair;
  return fast.emitError()
         << "expected '" << kExactProgramAttrName
         << "' to name a program, and both to have a schedule and to be "
            "launched once";
}

void AssumeFinite::runOnOperation() {
  ModuleOp module = getOperation();
  SmallVector<ProgramOp> named;
  for (ProgramOp program : module.getOps<ProgramOp>())
    if (program->hasAttr(kExactProgramAttrName))
      named.push_back(program);
  for (ProgramOp fast : named) {
    FailureOr<Pair> pair = findPair(module, fast);
    if (failed(pair))
      return signalPassFailure();
    fast->removeAttr(kExactProgramAttrName);
    MarkWriter marks(*pair);
    StringRef reason = marks.collect();
    if (reason.empty()) {
      kFiniteRemarks.passed(fast, "products are plain, and rows that aren't "
                                  "finite are computed by another program");
      marks.write();
      continue;
    }
    kFiniteRemarks.missed(fast, "products look at each pair: " + reason);
    pair->exactLaunch.erase();
    pair->exact.erase();
  }
}
