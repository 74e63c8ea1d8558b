//===- LintArithmetic.cpp - Scalar code that can't be meant ---------------===//

#include "NSA/Analysis/IntegerRanges.h"
#include "NSA/Analysis/LintChecks.h"
#include "NSA/IR/NSANames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace nsacc::nsa;

//===----------------------------------------------------------------------===//
// Comparisons of real numbers
//===----------------------------------------------------------------------===//

/// Whether both compute the same function of the same values. `same` holds
/// pairs that are known to be equal: code may use a value more than once.
static bool isSame(Value one, Value other,
                   llvm::DenseSet<std::pair<Value, Value>> &same) {
  if (one == other || same.contains({one, other}))
    return true;
  Operation *left = one.getDefiningOp(), *right = other.getDefiningOp();
  bool isEqual =
      left && right && left->getName() == right->getName() &&
      left->getAttrs() == right->getAttrs() &&
      left->getNumOperands() == right->getNumOperands() &&
      llvm::all_of(llvm::zip_equal(left->getOperands(), right->getOperands()),
                   [&](auto pair) {
                     return isSame(std::get<0>(pair), std::get<1>(pair), same);
                   });
  if (isEqual)
    same.insert({one, other});
  return isEqual;
}

static bool isInteger(Value real) {
  FloatAttr constant;
  return real.getDefiningOp<arith::SIToFPOp>() ||
         (matchPattern(real, m_Constant(&constant)) &&
          constant.getValue().isInteger());
}

/// Whether a quotient of integers is multiplied by its divisor.
static bool isRoundTrip(Value value) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (!product)
    return false;
  for (auto [quotient, factor] :
       {std::pair(product.getLhs(), product.getRhs()),
        std::pair(product.getRhs(), product.getLhs())}) {
    auto division = quotient.getDefiningOp<arith::DivFOp>();
    FloatAttr divisor, times;
    if (division && isInteger(division.getLhs()) &&
        matchPattern(division.getRhs(), m_Constant(&divisor)) &&
        matchPattern(factor, m_Constant(&times)) && divisor == times)
      return true;
  }
  return false;
}

/// Adds the divisors of quotients of integers in a sum whose other terms are
/// all integers; false for other values.
static bool collectDivisors(Value value, SmallVectorImpl<Value> &divisors) {
  if (isInteger(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (isa_and_present<arith::AddFOp, arith::SubFOp, arith::NegFOp>(op))
    return llvm::all_of(op->getOperands(), [&](Value term) {
      return collectDivisors(term, divisors);
    });
  auto quotient = dyn_cast_if_present<arith::DivFOp>(op);
  if (!quotient || !isInteger(quotient.getLhs()) ||
      !isInteger(quotient.getRhs()))
    return false;
  divisors.push_back(quotient.getRhs());
  return true;
}

static bool isEquality(arith::CmpFOp op) {
  return op.getPredicate() == arith::CmpFPredicate::OEQ ||
         op.getPredicate() == arith::CmpFPredicate::UNE;
}

/// Warns of quotients with a fraction that are compared.
static void checkQuotients(arith::CmpFOp op, LintReport &report) {
  Value lhs = op.getLhs(), rhs = op.getRhs();
  if (isRoundTrip(lhs) || isRoundTrip(rhs)) {
    report
        .warning(op.getLoc(), "'/' doesn't round: a number that is divided and "
                              "multiplied again is itself")
        .note("whole quotients are written 'floordiv': 'i floordiv 64 * 64' is "
              "the first token of i's block");
    return;
  }
  SmallVector<Value> divisors;
  if (!collectDivisors(lhs, divisors) || !collectDivisors(rhs, divisors))
    return;
  // In 'i / 4 < n' the fraction may be intended; comparing two quotients only
  // compares their numerators.
  llvm::DenseSet<std::pair<Value, Value>> same;
  auto isFirst = [&](Value divisor) {
    return isSame(divisor, divisors[0], same);
  };
  if (isEquality(op) ? divisors.empty()
                     : divisors.size() < 2 || !llvm::all_of(divisors, isFirst))
    return;
  report
      .warning(op.getLoc(),
               "quotients of integers are compared here, and '/' doesn't "
               "round them: 3 / 2 is 1.5")
      .note("whole quotients are written 'floordiv': 'i floordiv 64 == j "
            "floordiv 64' for tokens of one block");
}

/// The dimensions of a tensor as the program declares them.
static SmallVector<Attribute> getDeclaredDims(Value tensor) {
  ArrayRef<Attribute> dims = cast<NamedTensorType>(tensor.getType()).getDims();
  return llvm::map_to_vector(getDeclaredOrder(tensor),
                             [&](int64_t dim) { return dims[dim]; });
}

/// Warns of a constant that no element of a table can equal.
static void checkConstant(arith::CmpFOp op, TableReadOp read,
                          const APFloat &constant, StringRef element,
                          LintReport &report) {
  auto type = cast<NamedTensorType>(read.getTable().getType());
  APFloat nearest = constant;
  bool losesInfo = false;
  nearest.convert(cast<FloatType>(type.getElementType()).getFloatSemantics(),
                  APFloat::rmNearestTiesToEven, &losesInfo);
  if (!losesInfo)
    return;
  auto print = [](const APFloat &number) {
    SmallString<16> digits;
    number.toString(digits, /*FormatPrecision=*/6);
    return std::string(digits);
  };
  bool isEqual = op.getPredicate() == arith::CmpFPredicate::OEQ;
  report
      .warning(op.getLoc(),
               describeTensor(read.getTable()) + " has elements of " + element +
                   ", of which none is " + print(constant) + ": this is " +
                   (isEqual ? "false" : "true") + " everywhere")
      .note("the nearest number of " + element + " is " + print(nearest) +
            "; compare with a distance, as in 'abs(x - " + print(constant) +
            ") < 0.01'");
}

/// Warns if a real table's element is compared for equality with something
/// computed, or with a number that its type doesn't have: flags are fine.
static void checkEquality(arith::CmpFOp op, LintReport &report) {
  for (auto [side, other] : {std::pair(op.getLhs(), op.getRhs()),
                             std::pair(op.getRhs(), op.getLhs())}) {
    auto read = side.getDefiningOp<TableReadOp>();
    if (!read)
      continue;
    Value table = read.getTable();
    auto type = cast<NamedTensorType>(table.getType());
    auto real = cast<FloatType>(type.getElementType());
    std::string element = real.isBF16() ? "bf16" : real.isF16() ? "f16" : "f32";
    FloatAttr constant;
    if (matchPattern(other, m_Constant(&constant))) {
      checkConstant(op, read, constant.getValue(), element, report);
      return;
    }
    int64_t most = int64_t(1) << real.getFPMantissaWidth();
    std::string name = describeTensor(table);
    report
        .warning(op.getLoc(), name + " has elements of " + element +
                                  ", which are compared for equality")
        .note(
            table.getLoc(),
            element + " rounds whole numbers above " + Twine(most) +
                "; labels are declared as i32: " + StringRef(name).trim('\'') +
                ": i32" + toString(getDeclaredDims(table)));
    return;
  }
}

//===----------------------------------------------------------------------===//
// Sums that wrap around
//===----------------------------------------------------------------------===//

namespace {
/// A value, or its negative, and a number.
struct Shifted {
  bool isNegative = false;
  __int128 number = 0;

  /// The largest value with which the sum fits into 64 bits.
  __int128 getLargest() const {
    return isNegative ? number - std::numeric_limits<int64_t>::min()
                      : std::numeric_limits<int64_t>::max() - number;
  }
};
} // namespace

static Shifted getShifted(Value sum) {
  Shifted result;
  while (Operation *op = sum.getDefiningOp()) {
    if (!isa<arith::AddIOp, arith::SubIOp>(op))
      break;
    bool subtracts = isa<arith::SubIOp>(op);
    APInt left, right;
    bool isLeft = matchPattern(op->getOperand(0), m_ConstantInt(&left));
    if (!isLeft && !matchPattern(op->getOperand(1), m_ConstantInt(&right)))
      break;
    __int128 number = isLeft ? left.getSExtValue() : right.getSExtValue();
    bool negates = result.isNegative != (subtracts && !isLeft);
    result.number += negates ? -number : number;
    result.isNegative = result.isNegative != (subtracts && isLeft);
    sum = op->getOperand(isLeft ? 1 : 0);
  }
  return result;
}

/// The number above which the value in a sum makes it exceed 64 bits, if
/// positions may be that large.
static std::optional<int64_t> findWrap(Value sum) {
  constexpr int64_t mostTokens = std::numeric_limits<int32_t>::max();
  __int128 largest = getShifted(sum).getLargest();
  if (largest >= mostTokens || largest < std::numeric_limits<int64_t>::min())
    return std::nullopt;
  return static_cast<int64_t>(largest);
}

/// Warns of a number that positions can't be added to.
static void checkWrapping(Operation *sum, LintReport &report) {
  std::optional<int64_t> largest = findWrap(sum->getResult(0));
  // There already is a warning for a sum within it.
  if (!largest || llvm::any_of(sum->getOperands(), findWrap))
    return;
  report
      .warning(sum->getLoc(),
               "this sum leaves 64 bits, and wraps around, where "
               "its other term is above " +
                   Twine(*largest))
      .note("2147483647 is a bound that no position reaches, and that can be "
            "added to one");
}

//===----------------------------------------------------------------------===//
// Indices in front of a table
//===----------------------------------------------------------------------===//

/// No tensor in memory has larger dimensions.
static constexpr unsigned kMostSizeBits = 56;

bool nsacc::nsa::isAlwaysInFront(Value index) {
  return IntegerRanges(kMostSizeBits).get(index).smax().isNegative();
}

/// Warns of an index that is always before the first element.
static void checkFirst(TableReadOp read, LintReport &report) {
  auto type = cast<NamedTensorType>(read.getTable().getType());
  std::string table = describeTensor(read.getTable());
  for (auto [index, dim] : llvm::zip_equal(read.getIndices(), type.getDims())) {
    if (!isAlwaysInFront(index))
      continue;
    llvm::APInt most = IntegerRanges(kMostSizeBits).get(index).smax();
    std::string number = std::to_string(most.getSExtValue());
    std::string found =
        matchPattern(index, m_Constant())
            ? "index " + number + " of " + table + " is"
            : "this index of " + table + " is at most " + number + ",";
    auto size = dyn_cast<IntegerAttr>(dim);
    report.warning(index.getLoc(), found + " in front of its first element")
        .note("indices count from 0, and not from the end: the last one is '" +
              (size ? std::to_string(size.getInt() - 1)
                    : toString(dim) + " - 1") +
              "'");
  }
}

//===----------------------------------------------------------------------===//
// Logarithms and roots
//===----------------------------------------------------------------------===//

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

/// Warns of logarithms and roots whose result is never a number.
static void checkArgument(Operation *op, LintReport &report) {
  bool isRoot = isa<math::SqrtOp>(op);
  Sign sign = getSign(op->getOperand(0));
  if (!sign.neverPositive || (isRoot && sign.isZero()))
    return;
  StringRef function = isRoot ? "sqrt" : isa<math::LogOp>(op) ? "log" : "log2";
  report
      .warning(op->getLoc(), isRoot
                                 ? "this root is NaN wherever its argument "
                                   "isn't 0: that is never above 0"
                                 : "this logarithm is -inf or NaN everywhere: "
                                   "its argument is never above 0")
      .note("take " + function + " of something that is positive, such as " +
            (isRoot ? "abs(x)" : "1 + abs(x)"));
}

void nsacc::nsa::lintArithmetic(Operation *op, LintReport &report) {
  if (auto comparison = dyn_cast<arith::CmpFOp>(op)) {
    checkQuotients(comparison, report);
    if (isEquality(comparison))
      checkEquality(comparison, report);
  } else if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    checkWrapping(op, report);
  } else if (auto read = dyn_cast<TableReadOp>(op)) {
    checkFirst(read, report);
  } else if (isa<math::SqrtOp, math::LogOp, math::Log2Op>(op)) {
    checkArgument(op, report);
  }
}
