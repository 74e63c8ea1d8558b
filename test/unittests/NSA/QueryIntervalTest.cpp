//===- QueryIntervalTest.cpp - Tests of queries that see a key ------------===//

#include "NSA/Analysis/MaskAnalysis.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace nsacc::nsa;

namespace {

/// The value of an expression for d0, d1 and s0.
int64_t evaluate(AffineExpr expr, int64_t d0, int64_t d1, int64_t s0) {
  MLIRContext *context = expr.getContext();
  auto number = [&](int64_t value) {
    return getAffineConstantExpr(value, context);
  };
  AffineExpr value = expr.replaceDimsAndSymbols(
      {number(d0), number(d1)}, ArrayRef<AffineExpr>{number(s0)});
  return cast<AffineConstantExpr>(value).getValue();
}

class QueryIntervalTest : public testing::Test {
protected:
  QueryIntervalTest()
      : i(getAffineDimExpr(0, &context)), s(getAffineSymbolExpr(0, &context)) {}

  int64_t pick(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  }

  /// A bound in which i occurs once.
  AffineExpr makeBound() {
    AffineExpr expr = i;
    for (int64_t step = pick(0, 4); step > 0; --step) {
      switch (pick(0, 5)) {
      case 0:
        expr = expr + pick(-9, 9);
        break;
      case 1:
        expr = expr + s * pick(-2, 2);
        break;
      case 2:
        expr = expr * pick(1, 4);
        break;
      case 3:
        expr = expr * pick(-3, -1);
        break;
      case 4:
        expr = expr.floorDiv(pick(1, 5));
        break;
      default:
        expr = expr.ceilDiv(pick(1, 5));
        break;
      }
    }
    return expr;
  }

  static bool contains(const QueryInterval &queries, int64_t position,
                       int64_t first, int64_t last, int64_t s0) {
    auto value = [&](AffineExpr expr) {
      return evaluate(expr, first, last, s0);
    };
    return llvm::all_of(queries.lower,
                        [&](AffineExpr e) { return value(e) <= position; }) &&
           llvm::all_of(queries.upper,
                        [&](AffineExpr e) { return position < value(e); });
  }

  /// Whether `lower(i) <= greatest` and `least < upper(i)` for all bounds.
  static bool isBetween(const KeyInterval &interval, int64_t position,
                        int64_t least, int64_t greatest, int64_t s0) {
    auto value = [&](AffineExpr expr) {
      return evaluate(expr, position, 0, s0);
    };
    return llvm::all_of(interval.lower,
                        [&](AffineExpr e) { return value(e) <= greatest; }) &&
           llvm::all_of(interval.upper,
                        [&](AffineExpr e) { return least < value(e); });
  }

  MLIRContext context;
  AffineExpr i, s;
  std::mt19937 random{39};
};

// Each position is in the solution if and only if it satisfies the bounds.
TEST_F(QueryIntervalTest, SolvesBoundsWithOneOccurrence) {
  for (int trial = 0; trial < 400; ++trial) {
    KeyInterval interval;
    for (int64_t count = pick(0, 2); count > 0; --count)
      interval.lower.push_back(makeBound());
    for (int64_t count = pick(0, 2); count > 0; --count)
      interval.upper.push_back(makeBound());
    QueryInterval any = findQueriesOfAny(interval),
                  all = findQueriesOfAll(interval);
    // A division may have made a bound constant.
    bool hasConstant =
        llvm::any_of(interval.lower,
                     [](AffineExpr e) { return !e.isFunctionOfDim(0); }) ||
        llvm::any_of(interval.upper,
                     [](AffineExpr e) { return !e.isFunctionOfDim(0); });
    ASSERT_EQ(any.exact, !hasConstant);
    ASSERT_EQ(all.exact, !hasConstant);
    if (hasConstant)
      continue;
    int64_t first = pick(-20, 20), last = first + pick(0, 9), s0 = pick(0, 7);
    for (int64_t position = -60; position <= 60; ++position) {
      ASSERT_EQ(contains(any, position, first, last, s0),
                isBetween(interval, position, first, last, s0));
      ASSERT_EQ(contains(all, position, first, last, s0),
                isBetween(interval, position, last, first, s0));
    }
  }
}

// Bounds that are left out lose no query that sees a key.
TEST_F(QueryIntervalTest, LeavesOutWhatItCantSolve) {
  KeyInterval interval;
  interval.lower = {i - i % 4, s, i * s};
  interval.upper = {i + 1};
  QueryInterval queries = findQueriesOfAny(interval);
  EXPECT_FALSE(queries.exact);
  for (int64_t first = -9; first <= 9; ++first)
    for (int64_t position = -30; position <= 30; ++position)
      if (isBetween(interval, position, first, first + 3, 2)) {
        EXPECT_TRUE(contains(queries, position, first, first + 3, 2));
      }
}

TEST_F(QueryIntervalTest, KnowsWindows) {
  KeyInterval window;
  window.lower = {i - 511};
  window.upper = {i + 1};
  QueryInterval queries = findQueriesOfAny(window);
  ASSERT_EQ(queries.lower.size(), 1u);
  ASSERT_EQ(queries.upper.size(), 1u);
  AffineExpr first = getAffineDimExpr(0, &context),
             last = getAffineDimExpr(1, &context);
  EXPECT_EQ(queries.lower[0], first);
  EXPECT_EQ(queries.upper[0], last + 512);
  EXPECT_TRUE(queries.exact);
}

TEST_F(QueryIntervalTest, SeesEverythingWithoutBounds) {
  QueryInterval queries = findQueriesOfAny({});
  EXPECT_TRUE(queries.lower.empty() && queries.upper.empty());
  EXPECT_TRUE(queries.exact);
}

} // namespace
