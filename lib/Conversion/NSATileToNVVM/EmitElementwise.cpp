//===- EmitElementwise.cpp - One scalar op for each register --------------===//

#include "InlinePTX.h"
#include "Instructions.h"
#include "KernelEmitter.h"
#include "NSATile/IR/Logistic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Writes ops on scalars, or on tiles element by element.
class ElementwiseEmitter {
public:
  explicit ElementwiseEmitter(Kernel &kernel)
      : b(kernel.b), threads(kernel.threads), program(kernel.program),
        facts(kernel.facts) {}

  LogicalResult emit(Operation *op);

private:
  LogicalResult emitScalar(Operation *op);
  LogicalResult emitElementwise(Operation *op);
  FailureOr<Value> emitOne(Operation *op, ValueRange operands);
  Value emitIndexOp(Operation *op, ValueRange operands);
  Value emitFast(Operation *op, ValueRange operands);
  Value emitScaled(Value value, Value factor);

  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  const KernelFacts &facts;
};

} // namespace

static bool hasTiles(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), isTile) ||
         llvm::any_of(op->getResultTypes(), isTile);
}

LogicalResult ElementwiseEmitter::emit(Operation *op) {
  if (op->getNumRegions() != 0 || isa<NSATileDialect>(op->getDialect()))
    return reject(op);
  return hasTiles(op) ? emitElementwise(op) : emitScalar(op);
}

LogicalResult ElementwiseEmitter::emitScalar(Operation *op) {
  if (op->getNumResults() != 1)
    return reject(op);
  SmallVector<Value> operands = program.lookupAll(op->getOperands());
  FailureOr<Value> value = emitOne(op, operands);
  if (failed(value))
    return failure();
  program.map(op->getResult(0), *value);
  return success();
}

LogicalResult ElementwiseEmitter::emitElementwise(Operation *op) {
  if (op->getNumResults() != 1 || !op->hasTrait<OpTrait::Elementwise>())
    return reject(op);
  Value result = op->getResult(0);
  const TileLayout &layout = program.getLayout(getTile(result));
  Type type = getRegisterType(getTile(result).getElementType());
  SmallVector<Value> values;
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    if (layout.isPadding(index)) {
      values.push_back(b.zero(type));
      continue;
    }
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isTile(operand.getType())
                             ? program.getRegisters(operand)[index]
                             : program.lookup(operand));
    FailureOr<Value> value = emitOne(op, operands);
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  program.setRegisters(result, std::move(values));
  return success();
}

/// Writes the op on scalars; indices have 32 bits.
FailureOr<Value> ElementwiseEmitter::emitOne(Operation *op,
                                             ValueRange operands) {
  Type type = getRegisterType(getElementTypeOrSelf(op->getResult(0).getType()));
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    Value from = operands.front();
    unsigned width = from.getType().getIntOrFloatBitWidth();
    if (width == type.getIntOrFloatBitWidth())
      return from;
    if (width > type.getIntOrFloatBitWidth())
      return b.make<arith::TruncIOp>(type, from);
    return isa<arith::IndexCastOp>(op) ? b.make<arith::ExtSIOp>(type, from)
                                       : b.make<arith::ExtUIOp>(type, from);
  }
  if (Value sum = emitIndexOp(op, operands))
    return sum;
  if (facts.multipliesIn16Bits && isTile(op->getResult(0).getType()))
    if (Value value = emitFast(op, operands))
      return value;
  SmallVector<NamedAttribute> attributes =
      llvm::to_vector(op->getAttrDictionary());
  Operation *copy = b.create(b.getLoc(), op->getName().getIdentifier(),
                             operands, type, attributes);
  return copy->getResult(0);
}

//===----------------------------------------------------------------------===//
// Arithmetic on results of operands that were rounded to 16 bits
//===----------------------------------------------------------------------===//

/// A normal constant; none for other values.
static std::optional<llvm::APFloat> getFactor(Value value) {
  FloatAttr constant;
  if (!matchPattern(value, m_Constant(&constant)) ||
      !constant.getType().isF32() || !constant.getValue().isNormal())
    return std::nullopt;
  return constant.getValue();
}

/// Writes a faster form of an op with an error of a few units in the last place
/// of f32. tanh has a relative error of 2^-11, exp the error of rounding its
/// operand. Scores of rounded operands have larger errors. Null for ops without
/// a faster form.
Value ElementwiseEmitter::emitFast(Operation *op, ValueRange operands) {
  constexpr auto contract = arith::FastMathFlags::contract;
  Type type = operands[0].getType();
  if (!type.isF32())
    return {};
  if (isa<math::TanhOp>(op))
    return LLVM::TanhOp::create(b, type, operands[0], LLVM::FastmathFlags::afn);
  if (isa<math::ExpOp>(op))
    return ptx::exp2(b, emitScaled(operands[0], b.f32(llvm::numbers::log2ef)));
  if (isLogistic(op))
    return arith::MulFOp::create(b, operands[0],
                                 nvvm::reciprocal(b, operands[1]), contract);
  if (isa<arith::AddFOp>(op))
    return arith::AddFOp::create(b, operands[0], operands[1], contract);
  if (isa<arith::SubFOp>(op))
    return arith::SubFOp::create(b, operands[0], operands[1], contract);
  if (isa<arith::MulFOp>(op))
    return emitScaled(operands[0], operands[1]);
  if (std::optional<llvm::APFloat> divisor =
          isa<arith::DivFOp>(op) ? getFactor(operands[1]) : std::nullopt) {
    llvm::APFloat inverse(1.0f);
    inverse.divide(*divisor, llvm::APFloat::rmNearestTiesToEven);
    if (inverse.isNormal())
      return emitScaled(operands[0], b.f32(inverse.convertToFloat()));
  }
  return {};
}

/// Writes a product; two constant factors become one.
Value ElementwiseEmitter::emitScaled(Value value, Value factor) {
  std::optional<llvm::APFloat> product = getFactor(factor);
  auto inner = value.getDefiningOp<arith::MulFOp>();
  if (std::optional<llvm::APFloat> other =
          product && inner ? getFactor(inner.getRhs()) : std::nullopt) {
    product->multiply(*other, llvm::APFloat::rmNearestTiesToEven);
    if (product->isNormal()) {
      value = inner.getLhs();
      factor = b.f32(product->convertToFloat());
    }
  }
  return arith::MulFOp::create(b, value, factor,
                               arith::FastMathFlags::contract);
}

/// Sums and comparisons of positions, with constants kept apart.
Value ElementwiseEmitter::emitIndexOp(Operation *op, ValueRange operands) {
  if (!isa<arith::AddIOp, arith::SubIOp, arith::CmpIOp>(op) ||
      !getElementTypeOrSelf(op->getOperand(0).getType()).isIndex() ||
      !isTile(op->getResult(0).getType()))
    return {};
  IndexSum lhs = threads.split(operands[0]), rhs = threads.split(operands[1]);
  auto difference = [&]() -> IndexSum {
    if (!rhs.base)
      return {lhs.base, lhs.offset - rhs.offset};
    Value base = lhs.base ? lhs.base : b.i32(0);
    return {b.make<arith::SubIOp>(base, rhs.base), lhs.offset - rhs.offset};
  };
  if (isa<arith::AddIOp>(op)) {
    Value base = lhs.base && rhs.base ? b.add(lhs.base, rhs.base)
                 : lhs.base           ? lhs.base
                                      : rhs.base;
    return threads.materialize({base, lhs.offset + rhs.offset});
  }
  if (isa<arith::SubIOp>(op))
    return threads.materialize(difference());
  auto compare = cast<arith::CmpIOp>(op);
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::ult:
  case arith::CmpIPredicate::ule:
  case arith::CmpIPredicate::ugt:
  case arith::CmpIPredicate::uge:
    return {};
  default:
    break;
  }
  IndexSum sum = difference();
  Value base = sum.base ? sum.base : b.i32(0);
  return b.make<arith::CmpIOp>(compare.getPredicate(), base,
                               b.i32(-sum.offset));
}

void nsacc::addElementwise(KernelEmitter &emitter, Kernel &kernel) {
  auto family = std::make_shared<ElementwiseEmitter>(kernel);
  emitter.setOthers([family](Operation *op) { return family->emit(op); });
}
