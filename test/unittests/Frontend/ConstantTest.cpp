//===- ConstantTest.cpp - Compile-time arithmetic is exact ----------------===//

#include "Constant.h"
#include "gtest/gtest.h"
#include <limits>

using namespace nsacc::frontend;
using ast::Operator;

static constexpr int64_t least = std::numeric_limits<int64_t>::min();
static constexpr int64_t most = std::numeric_limits<int64_t>::max();

static std::optional<int64_t> fold(Operator op, int64_t lhs, int64_t rhs) {
  Folded folded = foldBinary(op, Constant::ofInt(lhs), Constant::ofInt(rhs));
  if (!folded.value)
    return std::nullopt;
  return folded.value->integer;
}

TEST(Constant, DivisionRoundsAsNamed) {
  EXPECT_EQ(fold(Operator::FloorDiv, 7, 2), 3);
  EXPECT_EQ(fold(Operator::FloorDiv, -7, 2), -4);
  EXPECT_EQ(fold(Operator::FloorDiv, 7, -2), -4);
  EXPECT_EQ(fold(Operator::FloorDiv, -7, -2), 3);
  EXPECT_EQ(fold(Operator::CeilDiv, 7, 2), 4);
  EXPECT_EQ(fold(Operator::CeilDiv, -7, 2), -3);
  EXPECT_EQ(fold(Operator::CeilDiv, 7, -2), -3);
  EXPECT_EQ(fold(Operator::CeilDiv, -7, -2), 4);
}

TEST(Constant, ModHasTheSignOfTheDivisor) {
  EXPECT_EQ(fold(Operator::Mod, 7, 3), 1);
  EXPECT_EQ(fold(Operator::Mod, -7, 3), 2);
  EXPECT_EQ(fold(Operator::Mod, 7, -3), -2);
  EXPECT_EQ(fold(Operator::Mod, -7, -3), -1);
  EXPECT_EQ(fold(Operator::Mod, 6, -3), 0);
}

TEST(Constant, OverflowIsAnError) {
  EXPECT_EQ(fold(Operator::Add, most, 0), most);
  EXPECT_EQ(fold(Operator::Add, most, 1), std::nullopt);
  EXPECT_EQ(fold(Operator::Subtract, least, 1), std::nullopt);
  EXPECT_EQ(fold(Operator::Multiply, most, 2), std::nullopt);
  EXPECT_EQ(fold(Operator::FloorDiv, least, -1), std::nullopt);
  EXPECT_EQ(fold(Operator::Mod, least, -1), 0);
  EXPECT_FALSE(foldUnary(Operator::Negate, Constant::ofInt(least)).value);
  EXPECT_FALSE(foldFunction("abs", Constant::ofInt(least)).value);
}

TEST(Constant, DivisionByZeroIsAnError) {
  for (Operator op : {Operator::FloorDiv, Operator::CeilDiv, Operator::Mod})
    EXPECT_EQ(fold(op, 1, 0), std::nullopt);
  EXPECT_FALSE(
      foldBinary(Operator::Divide, Constant::ofReal(1), Constant::ofReal(0))
          .value);
}

TEST(Constant, WhatIsNoNumberIsAnError) {
  double inf = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(foldBinary(Operator::Subtract, Constant::ofReal(inf),
                          Constant::ofReal(inf))
                   .value);
  EXPECT_FALSE(foldFunction("log", Constant::ofReal(-1)).value);
  EXPECT_FALSE(foldFunction("sqrt", Constant::ofReal(-1)).value);
}

TEST(Constant, TruncationStaysWithin64Bits) {
  EXPECT_EQ(foldTruncate(-1.9).value->integer, -1);
  EXPECT_EQ(foldTruncate(-9223372036854775808.0).value->integer, least);
  EXPECT_FALSE(foldTruncate(9223372036854775808.0).value);
  EXPECT_FALSE(foldTruncate(std::numeric_limits<double>::infinity()).value);
}

TEST(Constant, ComparesIntegersExactly) {
  // These two would be equal as doubles.
  Folded folded = foldBinary(Operator::Less, Constant::ofInt(most - 1),
                             Constant::ofInt(most));
  EXPECT_TRUE(folded.value->boolean);
}
