//===- ScalarValues.cpp - Numbers that programs compute -------------------===//

#include "ScalarValues.h"
#include "NSATile/IR/NSATileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::tuning;

using Number = std::optional<int64_t>;

void ScalarValues::setPoint(const std::array<int64_t, 3> &next) {
  point = next;
  computed.clear();
  order.clear();
}

void ScalarValues::forgetFrom(size_t number) {
  while (order.size() > number)
    computed.erase(order.pop_back_val());
}

Number ScalarValues::get(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  if (auto found = computed.find(value); found != computed.end())
    return found->second;
  Number number = compute(value);
  if (!number && !value.getType().isInteger(1))
    number = assumed;
  order.push_back(value);
  return computed[value] = number;
}

static bool compare(arith::CmpIPredicate predicate, int64_t lhs, int64_t rhs) {
  return arith::applyCmpPredicate(predicate, APInt(64, lhs, true),
                                  APInt(64, rhs, true));
}

/// The result of an op on two numbers; none if it has more than 64 bits.
/// Numbers of unsigned ops aren't negative.
static Number combine(Operation *op, int64_t lhs, int64_t rhs) {
  bool divides = isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp,
                     arith::CeilDivSIOp, arith::CeilDivUIOp, arith::RemSIOp,
                     arith::RemUIOp>(op);
  if (divides && (rhs == 0 || (lhs == INT64_MIN && rhs == -1)))
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, Number>(op)
      .Case([&](arith::AddIOp) { return llvm::checkedAdd(lhs, rhs); })
      .Case([&](arith::SubIOp) { return llvm::checkedSub(lhs, rhs); })
      .Case([&](arith::MulIOp) { return llvm::checkedMul(lhs, rhs); })
      .Case<arith::DivSIOp, arith::DivUIOp>(
          [&](Operation *) { return lhs / rhs; })
      .Case<arith::RemSIOp, arith::RemUIOp>(
          [&](Operation *) { return lhs % rhs; })
      .Case([&](arith::FloorDivSIOp) {
        return llvm::divideFloorSigned(lhs, rhs);
      })
      .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>(
          [&](Operation *) { return llvm::divideCeilSigned(lhs, rhs); })
      .Case<arith::MinSIOp, arith::MinUIOp>(
          [&](Operation *) { return std::min(lhs, rhs); })
      .Case<arith::MaxSIOp, arith::MaxUIOp>(
          [&](Operation *) { return std::max(lhs, rhs); })
      .Case([&](arith::AndIOp) { return lhs & rhs; })
      .Case([&](arith::OrIOp) { return lhs | rhs; })
      .Case([&](arith::XOrIOp) { return lhs ^ rhs; })
      .Case([&](arith::CmpIOp compared) -> int64_t {
        return compare(compared.getPredicate(), lhs, rhs);
      })
      .Default([](Operation *) { return std::nullopt; });
}

Number ScalarValues::compute(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return value.getType().isInteger(1) ? constant.getZExtValue()
                                        : constant.getSExtValue();
  if (auto id = dyn_cast<nsatile::ProgramIdOp>(op)) {
    dimsRead[id.getAxis()] = true;
    return point[id.getAxis()];
  }
  if (auto range = dyn_cast<nsatile::RowRangeOp>(op))
    return get(value == range.getOwnFirst() ? range.getFirst()
                                            : range.getEnd());
  if (isa<memref::LoadOp, nsatile::LookupOp>(op)) {
    llvm::SmallVector<int64_t> place;
    for (Value index : op->getOperands().drop_front()) {
      Number number = get(index);
      if (!number)
        return std::nullopt;
      place.push_back(*number);
    }
    return read(op->getOperand(0), place);
  }
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
          arith::ExtUIOp, arith::TruncIOp>(op))
    return get(op->getOperand(0));
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    // Both are asked for, so that no dimension of the grid is overlooked.
    Number condition = get(select.getCondition()),
           yes = get(select.getTrueValue()), no = get(select.getFalseValue());
    return !condition ? std::nullopt : *condition ? yes : no;
  }
  if (op->getNumOperands() != 2 || op->getNumResults() != 1 ||
      !value.getType().isIntOrIndex())
    return std::nullopt;
  Number lhs = get(op->getOperand(0)), rhs = get(op->getOperand(1));
  return lhs && rhs ? combine(op, *lhs, *rhs) : std::nullopt;
}
