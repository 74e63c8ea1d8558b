//===- ScalarCost.cpp - Length of scalar code -----------------------------===//

#include "nsacc/Schedule/ScalarCost.h"
#include "NSA/Analysis/AssertionNeed.h"
#include "NSA/Transforms/Passes.h"
#include "NSATile/IR/Logistic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nsacc;

int64_t nsacc::countElementInstructions(Operation &op) {
  if (op.hasTrait<OpTrait::ConstantLike>())
    return 0;
  return llvm::TypeSwitch<Operation *, int64_t>(&op)
      .Case<math::SinOp, math::CosOp>([](Operation *) { return 65; })
      .Case([](math::PowFOp) { return 55; })
      .Case<math::ErfOp, math::TanhOp, math::LogOp, math::Log2Op>(
          [](Operation *) { return 40; })
      .Case<math::ExpOp, math::Exp2Op>([](Operation *) { return 20; })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
            arith::FloorDivSIOp, arith::CeilDivSIOp>(
          [](Operation *) { return 20; })
      .Case<arith::DivFOp, math::SqrtOp, math::RsqrtOp>(
          [](Operation *) { return 10; })
      .Case<nsa::TableReadOp, nsatile::LoadOp>([](Operation *) { return 10; })
      .Default([](Operation *) { return 1; });
}

//===----------------------------------------------------------------------===//
// Regions of scalar code
//===----------------------------------------------------------------------===//

namespace {
/// Positions that a value depends on within a tile, which has one batch row.
struct Variation {
  /// `blocks`: only the block of the tile's keys matters.
  bool queries = false, keys = false, blocks = false;

  bool isOfPair() const { return queries && keys; }
};
} // namespace

/// Instructions of an assertion: a test of an element, its place in the
/// program's words, and the minimum over failing elements.
constexpr int64_t kAssertion = 80;
/// An assertion's share of a program's length: five merged attentions with
/// tables that may fail compile in 15 s.
constexpr int64_t kAssertionLength = 30;
/// Instructions of an assertion that tests and reports different values for
/// each pair. All of a thread's pairs take registers until one branch looks at
/// them, and these count like instructions.
constexpr int64_t kHeldAssertion = 176;

/// Counts the assertions needed for the op to have a value.
static int64_t countAssertions(Operation &op, const nsa::ScalarPlaces &places) {
  auto read = dyn_cast<nsa::TableReadOp>(op);
  if (!read)
    return nsa::mayDivideByZero(&op) ? 1 : 0;
  auto type = cast<nsa::NamedTensorType>(read.getTable().getType());
  return llvm::count_if(
      llvm::zip_equal(read.getIndices(), type.getDims()), [&](auto index) {
        return nsa::getIndexNeed(std::get<0>(index), std::get<1>(index),
                                 places) != nsa::AssertionNeed::Never;
      });
}

/// Whether a value is the same for all keys of a tile. Keys of selected blocks
/// are in tiles of one block each.
static bool isBlockOfKeys(nsa::ScoringOpInterface scoring, Operation &op,
                          Value key) {
  APInt size;
  Value selection = scoring.getSelection();
  return selection && isa<arith::FloorDivSIOp>(op) && op.getOperand(0) == key &&
         matchPattern(op.getOperand(1), m_ConstantInt(&size)) &&
         size.isStrictlyPositive() &&
         size.urem(cast<nsa::SelectionType>(selection.getType()).getBlock()) ==
             0;
}

using ScalarVisitor = llvm::function_ref<void(Operation &, Variation, int64_t)>;

/// Calls `visit` with each op, the positions that it depends on, and its number
/// of assertions.
static void visitScalarCode(nsa::ScoringOpInterface op, Region &region,
                            ScalarVisitor visit) {
  if (region.empty())
    return;
  // The arguments are perhaps a pair's score, then b, h, t, i and j. A tile has
  // one b.
  constexpr unsigned places = 5;
  Block &body = region.front();
  llvm::DenseMap<Value, Variation> variations;
  unsigned scores = body.getNumArguments() - places;
  for (auto [index, argument] : llvm::enumerate(body.getArguments()))
    variations[argument] = {index != scores && index < scores + places - 1,
                            index < scores || index == scores + places - 1,
                            false};
  auto named = nsa::ScalarPlaces::get(op, region, scores);
  Value key = body.getArguments().back();
  for (Operation &each : body.without_terminator()) {
    Variation variation;
    if (isBlockOfKeys(op, each, key)) {
      variations[each.getResult(0)].blocks = true;
      continue;
    }
    for (Value operand : each.getOperands()) {
      Variation of = variations.lookup(operand);
      variation.blocks |= of.blocks;
      variation.queries |= of.queries;
      variation.keys |= of.keys;
    }
    for (Value result : each.getResults())
      variations[result] = variation;
    visit(each, variation, countAssertions(each, named));
  }
}

static void visitScalarCode(nsa::ScoringOpInterface op, ScalarVisitor visit) {
  for (Region *region : {&op.getMask(), &op.getScore(), &op.getWeight()})
    visitScalarCode(op, *region, visit);
}

int64_t nsacc::countPairInstructions(nsa::ScoringOpInterface op) {
  int64_t count = 0;
  visitScalarCode(op, [&](Operation &each, Variation by, int64_t assertions) {
    if (by.isOfPair())
      count += countElementInstructions(each);
    // A value of the tile's block alone is looked at once. Others are looked at
    // for the pairs that need them, whatever they depend on.
    if (by.queries || by.keys || !by.blocks)
      count += assertions * (by.isOfPair() ? kHeldAssertion : kAssertion);
  });
  return count;
}

int64_t nsacc::countHeldHalves(nsa::ScoringOpInterface op) {
  int64_t count = 0;
  visitScalarCode(op, [&](Operation &each, Variation by, int64_t assertions) {
    if (!by.isOfPair())
      return;
    count += 2 * assertions +
             llvm::TypeSwitch<Operation *, int64_t>(&each)
                 .Case<math::SinOp, math::CosOp>([](Operation *) { return 3; })
                 .Case([](nsa::TableReadOp) { return 2; })
                 .Case<math::LogOp, math::Log2Op, math::PowFOp>(
                     [](Operation *) { return 1; })
                 .Default([](Operation *) { return 0; });
  });
  return count;
}

bool nsacc::isShort(Region &region) {
  constexpr int64_t most = 12;
  auto sizes =
      region.getParentOfType<nsa::KernelOp>()->getAttrOfType<DictionaryAttr>(
          nsa::kSizesAttrName);
  int64_t count = 0;
  // Ops that depend on neither rows nor keys, and those of them whose values
  // are known when a kernel is compiled.
  llvm::SmallPtrSet<Operation *, 8> uniform, constant;
  auto isIn = [](const llvm::SmallPtrSet<Operation *, 8> &ops) {
    return [&ops](Value value) {
      return value.getDefiningOp() && ops.contains(value.getDefiningOp());
    };
  };
  for (Operation &op : region.front().without_terminator()) {
    if (llvm::all_of(op.getOperands(), isIn(uniform))) {
      uniform.insert(&op);
      auto dim = dyn_cast<nsa::DimOp>(op);
      bool isKnown = !dim || (sizes && sizes.contains(dim.getDim()));
      if (isKnown && llvm::all_of(op.getOperands(), isIn(constant)))
        constant.insert(&op);
      continue;
    }
    // Division by a number is one instruction, any other a dozen, with a call
    // for subnormals.
    bool isExact = isa<arith::DivFOp>(op) &&
                   !isIn(constant)(op.getOperand(1)) &&
                   !nsatile::isLogistic(&op);
    if (isExact ||
        !isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
             arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp, arith::CmpFOp,
             arith::SelectOp, math::AbsFOp, math::ExpOp, math::TanhOp>(op))
      return false;
    ++count;
  }
  return count <= most;
}

//===----------------------------------------------------------------------===//
// Programs over tiles
//===----------------------------------------------------------------------===//

/// Counts the matrix products of all warps. Each has 16 rows, 8 columns and a
/// depth of 16.
static int64_t countProducts(int64_t rows, int64_t columns, int64_t depth) {
  return llvm::divideCeil(rows, 16) * llvm::divideCeil(columns, 8) *
         llvm::divideCeil(depth, 16);
}

/// Counts the copies of the bodies around `op` that code is written for.
static int64_t countCopies(Operation *op) {
  int64_t copies = 1;
  auto multiply = [&](const nsatile::FoldDomain &domain) {
    if (!domain.isRanges())
      return;
    if (!domain.hasFoldForEachRange()) {
      copies *= 2;
      return;
    }
    int64_t loops = 0;
    for (const nsatile::TileRange &range : domain.ranges)
      loops += !range.hasFull() ? 1
                                : 1 + (range.first != range.fullFirst) +
                                      (range.fullEnd != range.end);
    copies *= loops;
  };
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp()) {
    if (auto fold = dyn_cast<nsatile::FoldOp>(parent))
      multiply(fold.getDomain());
    if (auto fold = dyn_cast<nsatile::SoftmaxFoldOp>(parent))
      multiply(fold.getDomain());
  }
  return copies;
}

/// Whether a tile has a value for each key, whatever the query.
static bool isOfKeys(Value tile) {
  return llvm::any_of(tile.getUsers(), [](Operation *user) {
    auto spread = dyn_cast<nsatile::BroadcastOp>(user);
    return spread && llvm::is_contained(spread.getDims(), 0);
  });
}

/// Number of a tile's values that a thread holds. Four lanes share a row of
/// scores, and each holds the values of its columns.
static int64_t countOfKeys(Value tile) {
  constexpr int64_t lanes = 4;
  return llvm::divideCeil(
      cast<RankedTensorType>(tile.getType()).getNumElements(), lanes);
}

/// Instructions of a load that waits in a register for the loads of all other
/// tables: a hundred of them with 128 keys took ptxas 70 s.
constexpr int64_t kHeldGather = 14;

int64_t nsacc::countInstructions(nsatile::ProgramOp program) {
  constexpr int64_t warpSize = 32, usualWarps = 4, softmax = 20;
  // Instructions of a loop over keys apart from its tiles: bounds, addresses,
  // loads.
  constexpr int64_t loop = 1000;
  std::optional<nsatile::ScheduleAttr> schedule = program.getSchedule();
  int64_t warps =
      schedule && schedule->getWarps() ? schedule->getWarps() : usualWarps;
  auto countElements = [&](Value tile) -> int64_t {
    auto type = dyn_cast<RankedTensorType>(tile.getType());
    return type ? llvm::divideCeil(type.getNumElements(), warps * warpSize) : 0;
  };
  int64_t count = 0;
  auto getSize = [](Value tile, int64_t dim) {
    return cast<RankedTensorType>(tile.getType()).getDimSize(dim);
  };
  program.walk([&](Operation *op) {
    int64_t own =
        llvm::TypeSwitch<Operation *, int64_t>(op)
            .Case([&](nsatile::DotOp dot) {
              return llvm::divideCeil(countProducts(getSize(dot.getResult(), 0),
                                                    getSize(dot.getResult(), 1),
                                                    dot.getInner()),
                                      warps);
            })
            .Case([&](nsatile::YieldScoresOp yield) {
              Value scores = yield.getScores(), values = yield.getValues();
              int64_t products =
                  values ? countProducts(getSize(scores, 0), getSize(values, 1),
                                         getSize(scores, 1))
                         : 0;
              return loop + softmax * countElements(scores) +
                     static_cast<int64_t>(llvm::divideCeil(products, warps));
            })
            .Case([&](nsatile::GatherOp gather) {
              // An index is clamped, and a value loaded.
              return isOfKeys(gather.getResult())
                         ? kHeldGather * countOfKeys(gather.getResult())
                         : 10 * countElements(gather.getResult());
            })
            .Case([&](nsatile::AssertOp assertion) {
              return kAssertionLength * countElements(assertion.getCondition());
            })
            .Default([&](Operation *op) -> int64_t {
              return op->getNumResults() == 1 &&
                             op->hasTrait<OpTrait::Elementwise>()
                         ? countElementInstructions(*op) *
                               countElements(op->getResult(0))
                         : 0;
            });
    if (own > 0)
      count += own * countCopies(op);
  });
  return count;
}
