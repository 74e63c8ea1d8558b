//===- ScalarCost.cpp - How long scalar code is ---------------------------===//

#include "ScalarCost.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nsacc;

/// One element's, as counted in PTX.
static int64_t countInstructions(Operation &op) {
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
/// What a value differs by.
struct Variation {
  bool queries = false, keys = false;
};
} // namespace

static int64_t countPairInstructions(Region &region) {
  if (region.empty())
    return 0;
  // A pair's score perhaps, then b, h, t, i and j.
  constexpr unsigned places = 5;
  Block &body = region.front();
  llvm::DenseMap<Value, Variation> variations;
  unsigned scores = body.getNumArguments() - places;
  for (auto [index, argument] : llvm::enumerate(body.getArguments()))
    variations[argument] = {index < scores + places - 1,
                            index < scores || index == scores + places - 1};
  int64_t count = 0;
  for (Operation &op : body.without_terminator()) {
    Variation variation;
    for (Value operand : op.getOperands()) {
      Variation of = variations.lookup(operand);
      variation.queries |= of.queries;
      variation.keys |= of.keys;
    }
    for (Value result : op.getResults())
      variations[result] = variation;
    if (variation.queries && variation.keys)
      count += countInstructions(op);
  }
  return count;
}

int64_t nsacc::countPairInstructions(nsa::ScoringOpInterface op) {
  return ::countPairInstructions(op.getMask()) +
         ::countPairInstructions(op.getScore()) +
         ::countPairInstructions(op.getWeight());
}

//===----------------------------------------------------------------------===//
// Programs over tiles
//===----------------------------------------------------------------------===//

/// Of all warps, each of which multiplies 16 rows by 8 columns over 16
/// products.
static int64_t countProducts(nsatile::DotOp dot) {
  constexpr int64_t rows = 16, columns = 8, depth = 16;
  auto result = cast<RankedTensorType>(dot.getResult().getType());
  auto lhs = cast<RankedTensorType>(dot.getLhs().getType());
  return llvm::divideCeil(result.getDimSize(0), rows) *
         llvm::divideCeil(result.getDimSize(1), columns) *
         llvm::divideCeil(lhs.getDimSize(1), depth);
}

int64_t nsacc::countInstructions(nsatile::ProgramOp program) {
  constexpr int64_t warpSize = 32, usualWarps = 4, softmax = 20;
  std::optional<nsatile::ScheduleAttr> schedule = program.getSchedule();
  int64_t warps =
      schedule && schedule->getWarps() ? schedule->getWarps() : usualWarps;
  auto countElements = [&](Value tile) -> int64_t {
    auto type = dyn_cast<RankedTensorType>(tile.getType());
    return type ? llvm::divideCeil(type.getNumElements(), warps * warpSize) : 0;
  };
  int64_t count = 0;
  program.walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](nsatile::DotOp dot) {
          count += llvm::divideCeil(countProducts(dot), warps);
        })
        .Case([&](nsatile::SoftmaxUpdateOp update) {
          count += softmax * countElements(update.getScores());
        })
        .Default([&](Operation *op) {
          if (op->getNumResults() == 1 && op->hasTrait<OpTrait::Elementwise>())
            count += ::countInstructions(*op) * countElements(op->getResult(0));
        });
  });
  return count;
}
