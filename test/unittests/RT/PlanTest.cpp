//===- PlanTest.cpp - Numbers of plans ------------------------------------===//

#include "nsacc/RT/Plan.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace nsacc::rt;
using Kind = Step::Kind;

/// The last of a plan's numbers, or the error.
static std::string compute(const std::vector<Step> &steps) {
  Plan plan;
  plan.steps = steps;
  int64_t sizes[] = {7, 0};
  std::vector<int64_t> numbers;
  Problem problem = computeNumbers(plan, {sizes}, numbers);
  return problem ? *problem : std::to_string(numbers.back());
}

static std::string compute(Kind kind, int64_t lhs, int64_t rhs) {
  return compute({{Kind::Constant, lhs, {}},
                  {Kind::Constant, rhs, {}},
                  {kind, 0, {0, 1}}});
}

TEST(PlanTest, ComputesNumbers) {
  EXPECT_EQ(compute({{Kind::Dim, 0, {0}}}), "7");
  EXPECT_EQ(compute({{Kind::Dim, 1, {0}}}), "0");
  EXPECT_EQ(compute(Kind::Add, 2, -5), "-3");
  EXPECT_EQ(compute(Kind::Sub, 2, -5), "7");
  EXPECT_EQ(compute(Kind::Mul, 2, -5), "-10");
  EXPECT_EQ(compute(Kind::Min, 2, -5), "-5");
  EXPECT_EQ(compute(Kind::Max, 2, -5), "2");
  EXPECT_EQ(compute(Kind::And, 6, 3), "2");
  EXPECT_EQ(compute(Kind::Or, 6, 3), "7");
  EXPECT_EQ(compute(Kind::Equal, 6, 6), "1");
  EXPECT_EQ(compute(Kind::NotEqual, 6, 6), "0");
  EXPECT_EQ(compute(Kind::Less, 6, 6), "0");
  EXPECT_EQ(compute(Kind::LessEqual, 6, 6), "1");
  for (int64_t condition : {0, 1})
    EXPECT_EQ(compute({{Kind::Constant, condition, {}},
                       {Kind::Constant, 10, {}},
                       {Kind::Constant, 20, {}},
                       {Kind::Select, 0, {0, 1, 2}}}),
              condition ? "10" : "20");
}

TEST(PlanTest, DividesAsTheOpsDo) {
  struct {
    int64_t lhs, rhs;
    const char *div, *floor, *ceil, *rem;
  } rows[] = {{7, 2, "3", "3", "4", "1"},
              {-7, 2, "-3", "-4", "-3", "-1"},
              {7, -2, "-3", "-4", "-3", "1"},
              {-7, -2, "3", "3", "4", "-1"},
              {6, -2, "-3", "-3", "-3", "0"}};
  for (auto &row : rows) {
    EXPECT_EQ(compute(Kind::Div, row.lhs, row.rhs), row.div);
    EXPECT_EQ(compute(Kind::FloorDiv, row.lhs, row.rhs), row.floor);
    EXPECT_EQ(compute(Kind::CeilDiv, row.lhs, row.rhs), row.ceil);
    EXPECT_EQ(compute(Kind::Rem, row.lhs, row.rhs), row.rem);
  }
}

TEST(PlanTest, TellsWhatHasNoNumber) {
  for (Kind kind : {Kind::Div, Kind::FloorDiv, Kind::CeilDiv, Kind::Rem}) {
    EXPECT_EQ(compute(kind, 1, 0), "the launch plan divides by zero");
    EXPECT_EQ(compute(kind, INT64_MIN, -1), kSizesTooLarge);
  }
  EXPECT_EQ(compute(Kind::Add, INT64_MAX, 1), kSizesTooLarge);
  EXPECT_EQ(compute(Kind::Sub, INT64_MIN, 1), kSizesTooLarge);
  EXPECT_EQ(compute(Kind::Mul, INT64_MAX, 2), kSizesTooLarge);
}

TEST(PlanTest, LooksAtChecks) {
  Plan plan;
  plan.steps = {{Kind::Dim, 0, {0}}, {Kind::Constant, 3, {}}};
  plan.checks = {{0, 1, "size 0 of 'o'"}};
  int64_t size = 3;
  std::vector<int64_t> numbers;
  EXPECT_EQ(computeNumbers(plan, {&size}, numbers), std::nullopt);
  size = 4;
  EXPECT_EQ(computeNumbers(plan, {&size}, numbers),
            "size 0 of 'o' is 4, expected 3");
}

TEST(PlanTest, WorkspacesAreRowMajor) {
  Workspace workspace = {4, DType::F32, {0, 1, 2}, 0, 0};
  int64_t sizes[3], strides[3], bytes;
  auto extend = [&](std::vector<int64_t> numbers) {
    return computeExtent(workspace, numbers, sizes, strides, bytes);
  };
  EXPECT_EQ(extend({2, 3, 5}), std::nullopt);
  EXPECT_THAT(strides, ::testing::ElementsAre(15, 5, 1));
  EXPECT_EQ(bytes, 120);
  EXPECT_EQ(extend({2, 0, 5}), std::nullopt);
  EXPECT_THAT(strides, ::testing::ElementsAre(5, 5, 1));
  EXPECT_EQ(bytes, 0);
  EXPECT_EQ(extend({2, -3, 5}), "the launch plan asks for a buffer of size -3");
  EXPECT_EQ(extend({INT64_MAX / 8, 3, 5}), kSizesTooLarge);
}

TEST(PlanTest, FormatsMessages) {
  int64_t values[] = {-3, 8};
  auto format = [&](const char *message) {
    return formatMessage({message, 2}, values);
  };
  EXPECT_EQ(format("{1} of {0}, {1}"), "8 of -3, 8");
  EXPECT_EQ(format("no values"), "no values");
  EXPECT_EQ(format("{2} and {99} aren't there"), " and  aren't there");
  EXPECT_EQ(format("an open {0"), "an open {0");
}
