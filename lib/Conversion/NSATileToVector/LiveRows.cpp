//===- LiveRows.cpp - Rows of tiles that somebody reads -------------------===//

#include "LiveRows.h"
#include "TilePlacement.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

LiveRows::Need LiveRows::Need::join(const Need &other) const {
  if (kind == Kind::None || *this == other)
    return other;
  return other.kind == Kind::None ? *this : all();
}

LiveRows::Need LiveRows::Need::scaleBy(int64_t factor) const {
  if (kind == Kind::Some && bound.start && factor != 1)
    return all();
  Need scaled = *this;
  scaled.bound.scale *= factor;
  return scaled;
}

LiveRows::Need LiveRows::Need::divideBy(int64_t divisor) const {
  if (kind == Kind::Some && (bound.scale % divisor != 0 || bound.start))
    return all();
  Need divided = *this;
  divided.bound.scale /= divisor;
  return divided;
}

LiveRows::Need LiveRows::Need::startAt(OpFoldResult row) const {
  if (kind != Kind::Some || isConstantIntValue(row, 0))
    return *this;
  auto start = dyn_cast<Value>(row);
  if (!start || bound.start)
    return all();
  Need part = *this;
  part.bound.start = start;
  return part;
}

LiveRows::LiveRows(ProgramOp program) {
  SmallVector<Value> tiles;
  auto add = [&](ValueRange values) {
    llvm::copy_if(values, std::back_inserter(tiles),
                  [](Value value) { return isTile(value.getType()); });
  };
  program.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Region &region : op->getRegions())
      add(region.getArguments());
    add(op->getResults());
  });
  // Needs only grow, so this ends. Readers come first: they are behind the
  // tiles that they read, except for tiles that loops carry.
  bool hasChanged = true;
  while (hasChanged) {
    hasChanged = false;
    for (Value tile : llvm::reverse(tiles)) {
      Need need = findNeed(tile), &known = needs[tile];
      hasChanged |= !(need == known);
      known = need;
    }
  }
}

std::optional<LiveRows::Bound> LiveRows::get(ValueRange tiles) const {
  Need need = join(tiles);
  return need.kind == Need::Kind::Some ? std::optional(need.bound)
                                       : std::nullopt;
}

LiveRows::Need LiveRows::findNeed(Value tile) const {
  Need need;
  for (OpOperand &use : tile.getUses())
    need = need.join(findNeed(use));
  return need;
}

LiveRows::Need LiveRows::join(ValueRange tiles) const {
  Need need;
  for (Value tile : tiles)
    need = need.join(needs.lookup(tile));
  return need;
}

/// Number of elements of the other dimensions that are merged with the first
/// one, on the side with more dimensions.
static int64_t countInner(RankedTensorType expanded,
                          ArrayRef<ReassociationIndices> groups) {
  int64_t inner = 1;
  for (int64_t dim : ArrayRef(groups.front()).drop_front())
    inner *= expanded.getDimSize(dim);
  return inner;
}

LiveRows::Need LiveRows::findYielded(OpOperand &use) const {
  Operation *parent = use.getOwner()->getParentOp();
  unsigned index = use.getOperandNumber();
  if (auto loop = dyn_cast<scf::ForOp>(parent))
    return join({loop.getRegionIterArg(index), loop.getResult(index)});
  return isa<scf::IfOp>(parent) ? join(parent->getResult(index)) : Need::all();
}

/// Whether an op may end the program: a processor traps when it divides an
/// integer by 0.
static bool mayTrap(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
             arith::FloorDivSIOp, arith::CeilDivSIOp, arith::CeilDivUIOp>(op);
}

/// Rows that a use needs. Uses that may not go row by row, such as addresses,
/// need all rows.
LiveRows::Need LiveRows::findNeed(OpOperand &use) const {
  unsigned index = use.getOperandNumber();
  return llvm::TypeSwitch<Operation *, Need>(use.getOwner())
      .Case([&](StoreOp op) -> Need {
        AtOp at = op.getAt();
        if (at.isListed() || !at.getSteps().empty() || at.getDims().empty())
          return Need::all();
        return {Need::Kind::Some,
                {at.getOffsets()[at.getDims().front()], at.getLimits().front(),
                 /*scale=*/1, /*start=*/{}}};
      })
      .Case([&](tensor::ExpandShapeOp op) {
        return join(op.getResult())
            .scaleBy(
                countInner(op.getResultType(), op.getReassociationIndices()));
      })
      .Case([&](tensor::CollapseShapeOp op) {
        return join(op.getResult())
            .divideBy(
                countInner(op.getSrcType(), op.getReassociationIndices()));
      })
      .Case([&](tensor::InsertSliceOp op) {
        Need need = join(op.getResult());
        bool isWhole = op.getSourceType().getRank() == op.getType().getRank();
        return index == 1 ? need
               : !isWhole ? Need::all()
                          : need.startAt(op.getMixedOffsets().front());
      })
      .Case([&](DotOp op) {
        bool isRows = index == 0 ? !op.getTransposeLhs() : index != 1;
        return isRows ? join(op.getResult()) : Need::all();
      })
      .Case([&](BroadcastOp op) {
        return llvm::is_contained(op.getDims(), 0) ? Need::all()
                                                   : join(op.getResult());
      })
      .Case([&](ReduceOp op) {
        return op.getDim() == 0 ? Need::all() : join(op.getResult());
      })
      .Case<SoftmaxUpdateOp, SoftmaxFinalizeOp>(
          [&](Operation *op) { return join(op->getResults()); })
      .Case([&](scf::ForOp op) {
        OpResult result = op.getTiedLoopResult(&use);
        return join({op.getTiedLoopRegionIterArg(&use), result});
      })
      .Case([&](scf::YieldOp) { return findYielded(use); })
      .Default([&](Operation *op) {
        bool isElementwise =
            op->getNumResults() == 1 && isTile(op->getResult(0).getType()) &&
            OpTrait::hasElementwiseMappableTraits(op) && !mayTrap(op);
        return isElementwise ? join(op->getResults()) : Need::all();
      });
}
