//===- SemaFunctions.cpp - Functions that never give a number -------------===//

#include "ScalarGen.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;

namespace {
/// Known facts about a number other than NaN. 0 counts as both signs.
struct Sign {
  bool neverPositive = false, neverNegative = false;

  bool isZero() const { return neverPositive && neverNegative; }
  Sign negate() const { return {neverNegative, neverPositive}; }
};
} // namespace

static Sign getSign(Value value);

static Sign getProductSign(Value lhs, Value rhs) {
  if (lhs == rhs)
    return {false, true};
  Sign left = getSign(lhs), right = getSign(rhs);
  if (left.isZero() || right.isZero())
    return {true, true};
  return {(left.neverPositive && right.neverNegative) ||
              (left.neverNegative && right.neverPositive),
          (left.neverPositive && right.neverPositive) ||
              (left.neverNegative && right.neverNegative)};
}

static Sign getSign(Value value) {
  FloatAttr constant;
  if (matchPattern(value, m_Constant(&constant))) {
    double number = constant.getValueAsDouble();
    return {number <= 0, number >= 0};
  }
  llvm::APInt integer;
  if (matchPattern(value, m_ConstantInt(&integer)))
    return {integer.isNonPositive(), integer.isNonNegative()};
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (isa<math::AbsFOp, math::ExpOp, math::Exp2Op, math::SqrtOp>(op))
    return {false, true};
  if (isa<arith::TruncFOp, arith::SIToFPOp, arith::IndexCastOp>(op))
    return getSign(op->getOperand(0));
  if (isa<arith::NegFOp>(op))
    return getSign(op->getOperand(0)).negate();
  if (isa<arith::MulIOp>(op)) {
    // Other products of integers may wrap around.
    bool isZero = getSign(op->getOperand(0)).isZero() ||
                  getSign(op->getOperand(1)).isZero();
    return {isZero, isZero};
  }
  if (isa<arith::MulFOp>(op))
    return getProductSign(op->getOperand(0), op->getOperand(1));
  if (!isa<arith::AddFOp, arith::SubFOp, arith::MinimumFOp, arith::MaximumFOp>(
          op))
    return {};
  Sign left = getSign(op->getOperand(0)), right = getSign(op->getOperand(1));
  if (isa<arith::SubFOp>(op))
    right = right.negate();
  bool anyPositive = left.neverPositive || right.neverPositive;
  bool anyNegative = left.neverNegative || right.neverNegative;
  Sign both = {left.neverPositive && right.neverPositive,
               left.neverNegative && right.neverNegative};
  if (isa<arith::MinimumFOp>(op))
    return {anyPositive, both.neverNegative};
  if (isa<arith::MaximumFOp>(op))
    return {both.neverPositive, anyNegative};
  return both;
}

static bool isLogarithm(StringRef function) {
  return function == "log" || function == "log2";
}

void ScalarGen::checkArgument(StringRef function, Value argument, Range range) {
  bool isRoot = function == "sqrt";
  if (!isRoot && !isLogarithm(function))
    return;
  Sign sign = getSign(argument);
  if (!sign.neverPositive || (isRoot && sign.isZero()))
    return;
  problems
      .warning(range, isRoot ? "this root is NaN wherever its argument isn't "
                               "0: that is never above 0"
                             : "this logarithm is -inf or NaN everywhere: its "
                               "argument is never above 0")
      .note("take " + function + " of something that is positive, such as " +
            (isRoot ? "abs(x)" : "1 + abs(x)"));
}

void ScalarGen::checkInfinite(StringRef function, const Constant &argument,
                              Range range) {
  if (isLogarithm(function) && argument.asReal() == 0)
    problems.warning(range, "the logarithm of 0 is -inf")
        .note("write '-inf' if that is meant; keys are hidden with 'where'");
}
