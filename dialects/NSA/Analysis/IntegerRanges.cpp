//===- IntegerRanges.cpp - Ranges of integers in scalar code --------------===//

#include "NSA/Analysis/IntegerRanges.h"
#include "NSA/IR/NSAOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace nsacc::nsa;

/// Indices have the language's 64 bits.
static unsigned getWidth(Type type) {
  return ConstantIntRanges::getStorageBitwidth(type);
}

static ConstantIntRanges between(const APInt &least, const APInt &most) {
  return ConstantIntRanges::fromSigned(least, most);
}

/// The range of a tensor's elements as integers of scalar code; none for reals.
static std::optional<ConstantIntRanges> getElements(Type elementType,
                                                    unsigned width) {
  auto integer = dyn_cast<IntegerType>(elementType);
  if (!integer || integer.getWidth() > width)
    return std::nullopt;
  if (integer.getWidth() == 1)
    return ConstantIntRanges::fromUnsigned(APInt(width, 0), APInt(width, 1));
  return between(APInt::getSignedMinValue(integer.getWidth()).sext(width),
                 APInt::getSignedMaxValue(integer.getWidth()).sext(width));
}

Value nsacc::nsa::getModuloProduct(Operation *op) {
  auto rest = dyn_cast_if_present<arith::SubIOp>(op);
  auto product =
      rest ? rest.getRhs().getDefiningOp<arith::MulIOp>() : arith::MulIOp();
  auto quotient = product
                      ? product.getLhs().getDefiningOp<arith::FloorDivSIOp>()
                      : arith::FloorDivSIOp();
  APInt divisor;
  if (!quotient || quotient.getLhs() != rest.getLhs() ||
      quotient.getRhs() != product.getRhs() ||
      !matchPattern(product.getRhs(), m_ConstantInt(&divisor)) ||
      !divisor.isStrictlyPositive())
    return {};
  return product;
}

/// Whether the last argument of a region of scalar code over rows is a key.
static bool hasKeys(Region *region) {
  Operation *parent = region->getParentOp();
  auto op = dyn_cast<ScoringOpInterface>(parent);
  return isa<TopKOp>(parent) ||
         (op && (region == &op.getMask() || region == &op.getScore() ||
                 region == &op.getWeight()));
}

/// The dimension that an argument is an index of a key in; null for others.
static Attribute getKeyDim(BlockArgument argument) {
  Region *region = argument.getOwner()->getParent();
  if (argument != region->getArguments().back() || !hasKeys(region))
    return {};
  Operation *parent = region->getParentOp();
  if (auto topk = dyn_cast<TopKOp>(parent))
    return cast<NamedTensorType>(topk.getImportance().getType())
        .getDims()
        .back();
  auto key = cast<NamedTensorType>(
      cast<ScoringOpInterface>(parent).getKey().getType());
  return key.getDims()[key.isRagged() ? 0 : 1];
}

/// Whether an argument is a query's position, which keys stand behind.
static bool isPosition(BlockArgument argument) {
  Region *region = argument.getOwner()->getParent();
  unsigned behind = region->getNumArguments() - argument.getArgNumber() - 1;
  return behind == (hasKeys(region) ? 1 : 0);
}

/// The tokens from one window or block to the next, if there are no more of
/// them than the tokens give.
static int64_t getStride(Attribute dim) {
  if (auto blocks = dyn_cast_if_present<BlocksDimAttr>(dim))
    return blocks.getBlock();
  auto pooled = dyn_cast_if_present<PooledDimAttr>(dim);
  return pooled && !pooled.isDeclared() ? pooled.getStride() : 1;
}

/// Operands of maps are elements of their inputs; all other arguments are
/// counts, and the query's position, which is in front of all keys where
/// queries are more.
ConstantIntRanges IntegerRanges::computeArgument(BlockArgument argument) {
  unsigned width = getWidth(argument.getType());
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto map = dyn_cast<MapOp>(parent)) {
    auto type = cast<NamedTensorType>(
        map.getInputs()[argument.getArgNumber()].getType());
    return getElements(type.getElementType(), width)
        .value_or(ConstantIntRanges::maxRange(width));
  }
  if (!argument.getType().isIndex())
    return ConstantIntRanges::maxRange(width);
  int64_t sizes = int64_t{1} << sizeBits,
          stride = getStride(getKeyDim(argument));
  APInt most(width, stride == 1 ? sizes - 1 : sizes / stride + 1);
  return between(isPosition(argument) ? -most : APInt(width, 0), most);
}

/// The operand of an absolute value, max(x, 0 - x); null for any other op.
static Value getAbsoluteOperand(Operation *op) {
  auto max = dyn_cast<arith::MaxSIOp>(op);
  auto negated =
      max ? max.getRhs().getDefiningOp<arith::SubIOp>() : arith::SubIOp();
  return negated && negated.getRhs() == max.getLhs() &&
                 matchPattern(negated.getLhs(), m_Zero())
             ? max.getLhs()
             : Value();
}

/// The absolute values of numbers; any number where one may wrap around.
static ConstantIntRanges getAbsolute(const ConstantIntRanges &range) {
  const APInt &least = range.smin(), &most = range.smax();
  if (least.isMinSignedValue())
    return ConstantIntRanges::maxRange(least.getBitWidth());
  APInt nearest = llvm::APIntOps::smax(least, -most);
  return between(llvm::APIntOps::smax(nearest, APInt(nearest.getBitWidth(), 0)),
                 llvm::APIntOps::smax(-least, most));
}

ConstantIntRanges IntegerRanges::compute(Value value) {
  unsigned width = getWidth(value.getType());
  if (auto argument = dyn_cast<BlockArgument>(value))
    return computeArgument(argument);
  Operation *op = value.getDefiningOp();
  if (isa<DimOp>(op))
    return between(APInt(width, 0), APInt::getOneBitSet(width, sizeBits) - 1);
  if (auto read = dyn_cast<TableReadOp>(op)) {
    auto table = cast<NamedTensorType>(read.getTable().getType());
    return getElements(table.getElementType(), width)
        .value_or(ConstantIntRanges::maxRange(width));
  }
  if (Value product = getModuloProduct(op)) {
    APInt divisor;
    matchPattern(product.getDefiningOp()->getOperand(1),
                 m_ConstantInt(&divisor));
    return between(APInt(width, 0), divisor - 1);
  }
  if (Value operand = getAbsoluteOperand(op))
    return getAbsolute(get(operand));
  ConstantIntRanges range = ConstantIntRanges::maxRange(width);
  auto inferable = dyn_cast<InferIntRangeInterface>(op);
  if (!inferable)
    return range;
  SmallVector<ConstantIntRanges> operands;
  for (Value operand : op->getOperands()) {
    if (!operand.getType().isIntOrIndex())
      return range;
    operands.push_back(get(operand));
  }
  inferable.inferResultRanges(
      operands,
      [&](Value, const ConstantIntRanges &inferred) { range = inferred; });
  return range;
}

ConstantIntRanges IntegerRanges::get(Value value) {
  auto found = known.find(value);
  if (found == known.end())
    found = known.try_emplace(value, compute(value)).first;
  return found->second;
}

bool IntegerRanges::isUnknown(Value value) {
  ConstantIntRanges range = get(value);
  return range.smin().isMinSignedValue() && range.smax().isMaxSignedValue();
}

bool IntegerRanges::fits(Value value, unsigned bits) {
  ConstantIntRanges range = get(value);
  return range.smin().isSignedIntN(bits) && range.smax().isSignedIntN(bits);
}

bool IntegerRanges::isWithin(Value value, int64_t limit) {
  ConstantIntRanges range = get(value);
  return range.smin().sgt(-limit) && range.smax().slt(limit);
}

bool IntegerRanges::differenceFits(Value lhs, Value rhs, unsigned bits) {
  ConstantIntRanges left = get(lhs), right = get(rhs);
  bool isLow = false, isHigh = false;
  APInt least = left.smin().ssub_ov(right.smax(), isLow);
  APInt most = left.smax().ssub_ov(right.smin(), isHigh);
  return !isLow && !isHigh && least.isSignedIntN(bits) &&
         most.isSignedIntN(bits);
}
