//===- PlanNumbers.cpp - Integer arithmetic of a plan as steps ------------===//

#include "PlanNumbers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nsacc;
using rt::Step;
using Kind = rt::Step::Kind;

static std::optional<Kind> getKind(Operation *op) {
  using Result = std::optional<Kind>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([](arith::AddIOp) { return Kind::Add; })
      .Case([](arith::SubIOp) { return Kind::Sub; })
      .Case([](arith::MulIOp) { return Kind::Mul; })
      .Case([](arith::DivSIOp) { return Kind::Div; })
      .Case([](arith::FloorDivSIOp) { return Kind::FloorDiv; })
      .Case([](arith::CeilDivSIOp) { return Kind::CeilDiv; })
      .Case([](arith::RemSIOp) { return Kind::Rem; })
      .Case([](arith::MinSIOp) { return Kind::Min; })
      .Case([](arith::MaxSIOp) { return Kind::Max; })
      .Case([](arith::AndIOp) { return Kind::And; })
      .Case([](arith::OrIOp) { return Kind::Or; })
      .Case([](arith::SelectOp) { return Kind::Select; })
      .Default([](Operation *) { return Result(); });
}

/// A comparison as equal, not equal, less, or less or equal; greater becomes
/// one of the latter two with swapped operands.
static std::optional<std::pair<Kind, bool>>
getComparison(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return std::pair(Kind::Equal, false);
  case arith::CmpIPredicate::ne:
    return std::pair(Kind::NotEqual, false);
  case arith::CmpIPredicate::slt:
    return std::pair(Kind::Less, false);
  case arith::CmpIPredicate::sle:
    return std::pair(Kind::LessEqual, false);
  case arith::CmpIPredicate::sgt:
    return std::pair(Kind::Less, true);
  case arith::CmpIPredicate::sge:
    return std::pair(Kind::LessEqual, true);
  default:
    return std::nullopt;
  }
}

static FailureOr<int64_t> getValue(arith::ConstantOp constant) {
  if (auto integer = dyn_cast<IntegerAttr>(constant.getValue()))
    return integer.getType().isInteger(1)
               ? int64_t(integer.getValue().getZExtValue())
               : integer.getValue().getSExtValue();
  if (auto real = dyn_cast<FloatAttr>(constant.getValue()))
    return int64_t(real.getValue().bitcastToAPInt().getZExtValue());
  return constant.emitOpError("of this type isn't supported in a plan");
}

uint32_t PlanNumbers::add(Kind kind, ArrayRef<uint32_t> operands,
                          int64_t value) {
  Step step;
  step.kind = kind;
  step.value = value;
  llvm::copy(operands, step.operands);
  Key key(static_cast<int>(kind), value, step.operands[0], step.operands[1],
          step.operands[2]);
  auto [entry, isNew] = known.try_emplace(key, steps.size());
  if (isNew)
    steps.push_back(step);
  return entry->second;
}

uint32_t PlanNumbers::constant(int64_t value) {
  return add(Kind::Constant, {}, value);
}

uint32_t PlanNumbers::dim(uint32_t parameter, int64_t dim) {
  return add(Kind::Dim, parameter, dim);
}

LogicalResult PlanNumbers::read(Operation *op) {
  if (auto constantOp = dyn_cast<arith::ConstantOp>(op)) {
    FailureOr<int64_t> value = getValue(constantOp);
    if (succeeded(value))
      define(constantOp, constant(*value));
    return value;
  }
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    auto comparison = getComparison(compare.getPredicate());
    if (!comparison)
      return op->emitOpError("of unsigned numbers isn't supported in a plan");
    uint32_t operands[] = {lookup(compare.getLhs()), lookup(compare.getRhs())};
    if (comparison->second)
      std::swap(operands[0], operands[1]);
    define(compare, add(comparison->first, operands));
    return success();
  }
  // Numbers of a plan have 64 bits, independent of their types.
  if (isa<arith::IndexCastOp, arith::ExtSIOp>(op)) {
    define(op->getResult(0), lookup(op->getOperand(0)));
    return success();
  }
  std::optional<Kind> kind = getKind(op);
  if (!kind)
    return op->emitOpError("in a plan isn't supported by ") << target;
  SmallVector<uint32_t> operands;
  for (Value operand : op->getOperands())
    operands.push_back(lookup(operand));
  define(op->getResult(0), add(*kind, operands));
  return success();
}
