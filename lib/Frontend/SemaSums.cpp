//===- SemaSums.cpp - Sums of positions that are most likely a mistake ----===//

#include "ScalarGen.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include <limits>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::frontend;
using ast::Operator;

//===----------------------------------------------------------------------===//
// The distance of queries to keys, twice
//===----------------------------------------------------------------------===//

/// Counts each name of a sum, with its sign; start and end of a key count as
/// the key.
using Terms = llvm::SmallMapVector<StringRef, int64_t, 8>;

static void addTerms(const ast::Expr *expr, int64_t sign, Terms &terms) {
  if (auto *leaf = llvm::dyn_cast<ast::NameExpr>(expr)) {
    terms[leaf->name] += sign;
  } else if (auto *call = llvm::dyn_cast<ast::CallExpr>(expr)) {
    if (call->callee.text == "start" || call->callee.text == "end")
      terms["j"] += sign;
  } else if (auto *unary = llvm::dyn_cast<ast::UnaryExpr>(expr)) {
    addTerms(unary->operand, unary->op == Operator::Negate ? -sign : sign,
             terms);
  } else if (auto *binary = llvm::dyn_cast<ast::BinaryExpr>(expr);
             binary && (binary->op == Operator::Add ||
                        binary->op == Operator::Subtract)) {
    addTerms(binary->lhs, sign, terms);
    addTerms(binary->rhs, binary->op == Operator::Add ? sign : -sign, terms);
  }
}

/// Warns of `j <= i + (S - T)` in any form: i = t + S - T.
bool ScalarGen::checkOffset(const ast::Expr *lhs, const ast::Expr *rhs) {
  auto rows = scope.counted.find("t"), keys = scope.counted.find("j");
  if (rows == scope.counted.end() || keys == scope.counted.end())
    return false;
  StringRef queries = nsa::getTokenDim(rows->second),
            tokens = nsa::getTokenDim(keys->second);
  Terms terms;
  addTerms(lhs, 1, terms);
  addTerms(rhs, -1, terms);
  int64_t position = terms.lookup("i");
  if (queries == tokens || queries.empty() || tokens.empty() ||
      std::abs(position) != 1 || terms.lookup("j") != -position ||
      terms.lookup(tokens) != position || terms.lookup(queries) != -position)
    return false;
  std::string distance = (tokens + " - " + queries).str();
  problems
      .warning(join(lhs->range, rhs->range),
               distance +
                   " is added to 'i', which has it already: 'i' is the "
                   "query's position among the keys, t + " +
                   distance)
      .note("leave it out: 'j <= i' is causal for any " + tokens + " and " +
            queries + ", and 'j <= i + " + distance +
            "' shows later keys where " + queries + " < " + tokens +
            "; '1 * i' if the bound is to lie " + distance +
            " keys further on");
  return true;
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

void ScalarGen::checkWrapping(Value sum, Range range) {
  std::optional<int64_t> largest = findWrap(sum);
  Operation *op = sum.getDefiningOp();
  // There already is a warning for a sum within it.
  if (!largest || llvm::any_of(op->getOperands(), findWrap))
    return;
  problems
      .warning(range, "this sum leaves 64 bits, and wraps around, where its "
                      "other term is above " +
                          llvm::Twine(*largest))
      .note("2147483647 is a bound that no position reaches, and that can be "
            "added to one");
}
