//===- AssertionNeed.cpp - Scalar code that may have no value -------------===//

#include "NSA/Analysis/AssertionNeed.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace nsacc::nsa;

/// The token dimension that positions count in.
static Attribute getPositionDim(Attribute sequence) {
  if (auto pooled = dyn_cast<PooledDimAttr>(sequence))
    return NamedDimAttr::get(sequence.getContext(), pooled.getBase(),
                             pooled.getRagged());
  return sequence;
}

static void setRowDims(ScalarPlaces &places, NamedTensorType query) {
  ArrayRef<Attribute> dims = query.getDims();
  if (!query.isRagged()) {
    places.batchDim = dims.front();
    dims = dims.drop_front();
  }
  places.tokenDim = dims[0];
  places.headDim = dims[1];
}

ScalarPlaces ScalarPlaces::get(ScoringOpInterface op, Region &region,
                               unsigned leading) {
  ScalarPlaces places;
  auto arguments = region.getArguments().drop_front(leading);
  if (arguments.empty()) // `scale`
    return places;
  setRowDims(places, cast<NamedTensorType>(op.getQuery().getType()));
  auto key = cast<NamedTensorType>(op.getKey().getType());
  Attribute sequence = key.getDims()[key.isRagged() ? 0 : 1];
  places.positionDim = getPositionDim(sequence);
  places.batchRow = arguments[0];
  places.head = arguments[1];
  places.token = arguments[2];
  places.position = arguments[3];
  if (arguments.size() > 4) {
    places.key = arguments[4];
    places.keyDim = sequence;
  }
  return places;
}

ScalarPlaces ScalarPlaces::get(TopKOp op) {
  ScalarPlaces places;
  if (op.getMask().empty())
    return places;
  auto importance = cast<NamedTensorType>(op.getImportance().getType());
  auto arguments = op.getMask().getArguments();
  setRowDims(places, importance);
  places.batchRow = arguments[0];
  places.head = arguments[1];
  places.token = arguments[2];
  places.position = arguments[3];
  places.key = arguments[4];
  places.keyDim = importance.getDims().back();
  return places;
}

AssertionNeed nsacc::nsa::getIndexNeed(Value operand, Attribute dim,
                                       const ScalarPlaces &places) {
  APInt known;
  if (matchPattern(operand, m_ConstantInt(&known))) {
    auto size = dyn_cast<IntegerAttr>(dim);
    bool isInside = size && known.getSExtValue() >= 0 &&
                    known.getSExtValue() < size.getInt();
    return isInside ? AssertionNeed::Never : AssertionNeed::Always;
  }
  if ((operand == places.batchRow && dim == places.batchDim) ||
      (operand == places.head && dim == places.headDim) ||
      (operand == places.token && dim == places.tokenDim) ||
      (operand == places.key && dim == places.keyDim))
    return AssertionNeed::Never;
  if (operand == places.position && dim == places.positionDim)
    return dim == places.tokenDim ? AssertionNeed::Never
                                  : AssertionNeed::AtNegativePositions;
  return AssertionNeed::Always;
}

bool nsacc::nsa::mayDivideByZero(Operation *op) {
  if (!isa<arith::DivSIOp, arith::RemSIOp, arith::FloorDivSIOp,
           arith::CeilDivSIOp>(op))
    return false;
  APInt divisor;
  return !matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) ||
         divisor.isZero();
}

AssertionNeed nsacc::nsa::getAssertionNeed(Operation *op,
                                           const ScalarPlaces &places) {
  if (mayDivideByZero(op))
    return AssertionNeed::Always;
  auto read = dyn_cast<TableReadOp>(op);
  if (!read)
    return AssertionNeed::Never;
  AssertionNeed greatest = AssertionNeed::Never;
  ArrayRef<Attribute> dims =
      cast<NamedTensorType>(read.getTable().getType()).getDims();
  for (auto [index, dim] : llvm::zip_equal(read.getIndices(), dims))
    greatest = std::max(greatest, getIndexNeed(index, dim, places));
  return greatest;
}

AssertionNeed nsacc::nsa::getAssertionNeedWithin(Value value,
                                                 const ScalarPlaces &places) {
  AssertionNeed greatest = AssertionNeed::Never;
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> open = {value};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    // Code may use a value more than once: `x mod n` does.
    if (!op || !seen.insert(op).second)
      continue;
    greatest = std::max(greatest, getAssertionNeed(op, places));
    for (Value operand : op->getOperands())
      if (!isa<NamedTensorType>(operand.getType()))
        open.push_back(operand);
  }
  return greatest;
}
