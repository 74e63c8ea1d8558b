//===- ThreadMap.cpp - Threads and their elements -------------------------===//

#include "ThreadMap.h"
#include "InlinePTX.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

void ThreadMap::enter(const ThreadScope &next) {
  scope = next;
  expressions.clear();
  prologueEnd = b.i32(0).getDefiningOp();
}

void ThreadMap::setState(State state) {
  scope = state.scope;
  prologueEnd = state.prologueEnd;
  expressions = std::move(state.expressions);
}

Value ThreadMap::isFirstThread() {
  return b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, scope.thread,
                               b.i32(0));
}

static AffineExpr getExpr(ThreadDim dim, MLIRContext *context) {
  return getAffineDimExpr(static_cast<unsigned>(dim), context);
}

Value ThreadMap::getDim(ThreadDim dim) {
  return materialize(getCoordinate(getExpr(dim, b.getContext())));
}

void ThreadMap::setWarp(Value warp) {
  expressions[getExpr(ThreadDim::Warp, b.getContext())] = warp;
}

Value ThreadMap::getLane() {
  return materialize(
      getCoordinate(getExpr(ThreadDim::Thread, b.getContext()) % 32));
}

Value ThreadMap::isFirstLane() {
  Value leads =
      b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, getLane(), b.i32(0));
  return b.make<arith::ExtUIOp>(b.getI32Type(), leads);
}

Value ThreadMap::getWarpgroup() {
  return b.make<arith::ShRUIOp>(getDim(ThreadDim::Warp), b.i32(2));
}

void ThreadMap::forget() {
  ThreadScope next = scope;
  next.thread = ptx::readThread(b);
  enter(next);
}

void ThreadMap::forgetLanes() {
  Value warp = getDim(ThreadDim::Warp);
  forget();
  setWarp(warp);
}

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

Value ThreadMap::materialize(const IndexSum &sum) {
  if (!sum.base)
    return b.i32(sum.offset);
  if (sum.offset == 0)
    return sum.base;
  Value value = b.add(sum.base, b.i32(sum.offset));
  sums[value] = sum;
  return value;
}

IndexSum ThreadMap::split(Value value) const {
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    return {Value(), cast<IntegerAttr>(constant.getValue()).getInt()};
  auto known = sums.find(value);
  return known == sums.end() ? IndexSum{value, 0} : known->second;
}

IndexSum ThreadMap::getCoordinate(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return {Value(), constant.getValue()};
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (binary && binary.getKind() == AffineExprKind::Add)
    if (auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS())) {
      IndexSum result = getCoordinate(binary.getLHS());
      result.offset += constant.getValue();
      return result;
    }
  if (Value known = expressions.lookup(expr))
    return {known, 0};
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(prologueEnd);
  Value value = binary ? compute(binary)
                       : computeDim(static_cast<ThreadDim>(
                             cast<AffineDimExpr>(expr).getPosition()));
  expressions[expr] = value;
  return {value, 0};
}

Value ThreadMap::computeDim(ThreadDim dim) {
  Value thread = scope.thread;
  switch (dim) {
  case ThreadDim::Warp:
    return b.make<arith::ShRUIOp>(thread, b.i32(5));
  case ThreadDim::Group:
    return b.make<arith::ShRUIOp>(
        Value(b.make<arith::AndIOp>(thread, b.i32(31))), b.i32(2));
  case ThreadDim::InGroup:
    return b.make<arith::AndIOp>(thread, b.i32(3));
  case ThreadDim::Thread:
    return thread;
  }
  llvm_unreachable("not a dimension of threads");
}

Value ThreadMap::compute(AffineBinaryOpExpr expr) {
  Value lhs = materialize(getCoordinate(expr.getLHS()));
  Value rhs = materialize(getCoordinate(expr.getRHS()));
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return b.add(lhs, rhs);
  case AffineExprKind::Mul:
    return b.mul(lhs, rhs);
  case AffineExprKind::FloorDiv:
    return b.make<arith::DivUIOp>(lhs, rhs);
  default:
    return b.make<arith::RemUIOp>(lhs, rhs);
  }
}

SmallVector<IndexSum> ThreadMap::getCoordinates(const TileLayout &layout,
                                                int64_t index) {
  return llvm::map_to_vector(
      layout.getCoordinates(index),
      [&](AffineExpr expr) { return getCoordinate(expr); });
}

SmallVector<Value> ThreadMap::getPlace(const TileLayout &layout,
                                       int64_t index) {
  return llvm::map_to_vector(
      layout.getCoordinates(index),
      [&](AffineExpr expr) { return materialize(getCoordinate(expr)); });
}

//===----------------------------------------------------------------------===//
// Who has what
//===----------------------------------------------------------------------===//

Value ThreadMap::getInside(const TileLayout &layout, int64_t index) {
  Value inside;
  for (const TileLayout::Condition &condition : layout.getConditions(index)) {
    IndexSum sum = getCoordinate(condition.expr);
    Value bound = b.i32(condition.bound - sum.offset);
    Value base = sum.base ? sum.base : b.i32(0);
    inside = b.both(
        inside, b.make<arith::CmpIOp>(arith::CmpIPredicate::slt, base, bound));
  }
  return inside;
}

Value ThreadMap::isFirstCopy(const TileLayout &layout, Value condition) {
  for (ThreadDim dim : layout.getCopies())
    condition =
        b.both(condition, b.make<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                                getDim(dim), b.i32(0)));
  return condition;
}

Value ThreadMap::getOwned(const TileLayout &layout, int64_t index) {
  return isFirstCopy(layout, getInside(layout, index));
}
