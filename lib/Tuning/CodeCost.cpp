//===- CodeCost.cpp - Work of a program's code ----------------------------===//

#include "CodeCost.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "nsacc/Schedule/ScalarCost.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;
using namespace nsacc::tuning;

double CodeCost::getBytes() const {
  double all = 0;
  for (const auto &[buffer, each] : bytes)
    all += each;
  return all;
}

double CodeCost::getCacheBytes() const {
  constexpr double rowByRow = 4;
  return getBytes() + (rowByRow - 1) * listed;
}

void CodeCost::add(const CodeCost &other, double times) {
  products += times * other.products;
  exponentials += times * other.exponentials;
  instructions += times * other.instructions;
  rescaling += times * other.rescaling;
  listed += times * other.listed;
  for (const auto &[buffer, each] : other.bytes)
    bytes[buffer] += times * each;
  rows = std::max(rows, other.rows);
  keys = std::max(keys, other.keys);
  channels = std::max(channels, other.channels);
}

double ProductCode::pad(double rows) const {
  if (isCPU)
    return rows;
  double unit = hasWarpgroups && rows > 32 ? 64 : 16;
  return std::ceil(rows / unit) * unit;
}

static double countElements(Value tile) {
  auto type = dyn_cast<RankedTensorType>(tile.getType());
  return type ? static_cast<double>(type.getNumElements()) : 1;
}

static double countBytes(Value tile) {
  auto type = dyn_cast<RankedTensorType>(tile.getType());
  Type element = type ? type.getElementType() : tile.getType();
  return countElements(tile) *
         (element.isIndex()
              ? 8
              : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8));
}

/// Instructions of sorting rows of this many keys in a network.
static double countSorting(Value keys, double width) {
  auto type = cast<RankedTensorType>(keys.getType());
  double steps = std::log2(std::max(2 * width, 2.0));
  return static_cast<double>(type.getDimSize(0)) * width * steps * steps / 2;
}

namespace {

class CodeCounter {
public:
  explicit CodeCounter(const ProductCode &target) : target(target) {}

  CodeCost count(Block &block);

private:
  void countDot(DotOp dot);
  void countElementwise(Operation *op);

  const ProductCode &target;
  CodeCost found;
  /// Rows of the largest product, without the rest of a unit.
  double rows = 0;
};

} // namespace

void CodeCounter::countDot(DotOp dot) {
  auto type = cast<RankedTensorType>(dot.getResult().getType());
  auto own = static_cast<double>(type.getDimSize(0)),
       columns = static_cast<double>(type.getDimSize(1));
  unsigned bits = cast<RankedTensorType>(dot.getRhs().getType())
                      .getElementType()
                      .getIntOrFloatBitWidth();
  double padded = target.pad(own);
  found.products += 2 * padded * columns * static_cast<double>(dot.getInner()) *
                    (target.isCPU ? 1 : bits / 16.0);
  rows = std::max(rows, own);
  found.rows = std::max(found.rows, padded);
  double &width = dot.getAcc() ? found.channels : found.keys;
  width = std::max(width, columns);
}

void CodeCounter::countElementwise(Operation *op) {
  if (op->getNumResults() != 1 || !op->hasTrait<OpTrait::Elementwise>())
    return;
  double elements = countElements(op->getResult(0));
  auto isCarried = [](Value operand) {
    auto argument = dyn_cast<BlockArgument>(operand);
    return argument && isa<RankedTensorType>(argument.getType());
  };
  // GPUs have these functions beside products, as they have exponentials.
  if (!target.isCPU && isa<math::ExpOp, math::Exp2Op, math::TanhOp>(op)) {
    found.exponentials += elements;
    found.instructions += 4 * elements;
  } else if (llvm::any_of(op->getOperands(), isCarried)) {
    found.rescaling += elements;
  } else {
    found.instructions +=
        elements * static_cast<double>(countElementInstructions(*op));
  }
}

CodeCost CodeCounter::count(Block &block) {
  constexpr double access = 10, offered = 4, chosen = 8;
  auto copy = [&](Value buffer, Value tile) {
    // Other buffers are the program's own.
    if (isa<BlockArgument>(buffer))
      found.bytes[buffer] += ::countBytes(tile);
  };
  for (Operation &op : block)
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](DotOp dot) { countDot(dot); })
        .Case([&](SoftmaxUpdateOp update) {
          found.exponentials += countElements(update.getScores());
          found.instructions += countElements(update.getScores());
        })
        .Case([&](SoftmaxWeightsOp weights) {
          found.exponentials += countElements(weights.getScores());
          found.instructions += 2 * countElements(weights.getScores());
        })
        .Case([&](SoftmaxMergeOp merge) {
          found.exponentials += 2 * countElements(merge.getLhsMax());
        })
        .Case([&](SoftmaxFinalizeOp end) {
          found.instructions += countElements(end.getOutput());
        })
        .Case<LoadOp, StoreOp, AccumulateOp>([&](auto access) {
          copy(access.getAt().getBuffer(), access.getTile());
          if (access.getAt().isListed())
            found.listed += ::countBytes(access.getTile());
        })
        .Case([&](GatherOp gather) {
          copy(gather.getBuffer(), gather.getResult());
          found.instructions += access * countElements(gather.getResult());
        })
        .Case([&](ScatterOp scatter) {
          copy(scatter.getBuffer(), scatter.getValues());
          found.instructions += access * countElements(scatter.getValues());
        })
        .Case<EnumerateOp, ScanOp>([&](Operation *list) {
          found.instructions += access * countElements(list->getResult(0));
        })
        .Case([&](ReduceOp reduce) {
          found.instructions += countElements(reduce.getSource());
        })
        .Case([&](SortOp sort) {
          auto type = cast<RankedTensorType>(sort.getKeys().getType());
          found.instructions += countSorting(
              sort.getKeys(), static_cast<double>(type.getDimSize(1)) / 2);
        })
        .Case([&](TopOp top) {
          auto width = [](Value keys) {
            return static_cast<double>(
                cast<RankedTensorType>(keys.getType()).getDimSize(1));
          };
          found.instructions += countSorting(
              top.getList(), width(top.getList()) + width(top.getCandidates()));
        })
        .Case([&](OfferOp offer) {
          found.instructions += offered * countElements(offer.getKeys());
        })
        .Case([&](ChooseOp choose) {
          auto type = choose.getCandidates().getType();
          found.instructions +=
              chosen * static_cast<double>(type.getRows() * type.getRoom());
        })
        .Default([&](Operation *other) { countElementwise(other); });
  // Elementwise code has the rows of the products in registers.
  if (rows > 0) {
    double padded = found.rows / rows;
    found.exponentials *= padded;
    found.instructions *= padded;
    found.rescaling *= padded;
  }
  return found;
}

CodeCost tuning::countCode(Block &block, const ProductCode &target) {
  return CodeCounter(target).count(block);
}
