//===- RuleTest.cpp - Tuned schedules chosen by sizes ---------------------===//

#include "nsacc/Tuning/Shapes.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace nsacc;
using namespace nsacc::tuning;

static ShapeTimes makeShape(int64_t batch, int64_t tokens,
                            std::vector<double> times) {
  ShapeTimes shape = {{}, std::move(times)};
  shape.sizes.sizes["B"] = batch;
  shape.sizes.sizes["T"] = tokens;
  return shape;
}

TEST(Rule, OneScheduleWhereItIsFastEnough) {
  std::vector<ShapeTimes> shapes = {makeShape(1, 100, {1.04, 1}),
                                    makeShape(1, 1000, {1, 2})};
  Rule rule = chooseRule({"B", "T"}, shapes, 3, 1.05);
  ASSERT_EQ(rule.cases.size(), 1u);
  EXPECT_EQ(rule.cases[0].schedule, 0u);
  EXPECT_TRUE(rule.dims.empty());
  EXPECT_DOUBLE_EQ(rule.slowdown, 1.04);
  EXPECT_EQ(rule.describe({"", "keys=8"}), "always: ''");
}

TEST(Rule, CutsBetweenShapesByTheirRatio) {
  std::vector<ShapeTimes> shapes = {
      makeShape(1, 100, {1, 2}), makeShape(1, 200, {1, 2}),
      makeShape(1, 800, {2, 1}), makeShape(1, 900, {3, 1})};
  Rule rule = chooseRule({"T"}, shapes, 3, 1.05);
  ASSERT_EQ(rule.cases.size(), 2u);
  EXPECT_EQ(rule.cases[0].least, 400);
  EXPECT_EQ(rule.cases[0].schedule, 1u);
  EXPECT_EQ(rule.cases[1].least, 0);
  EXPECT_EQ(rule.cases[1].schedule, 0u);
  EXPECT_DOUBLE_EQ(rule.slowdown, 1);
  EXPECT_EQ(rule.describe({"", "keys=8"}), "T >= 400: 'keys=8'; else: ''");
  EXPECT_EQ(rule.find(makeShape(1, 399, {}).sizes), 0u);
  EXPECT_EQ(rule.find(makeShape(1, 400, {}).sizes), 1u);
}

TEST(Rule, TheSizeThatMostShapesDifferIn) {
  // Either dimension separates them; other calls of one token in a batch of one
  // follow.
  std::vector<ShapeTimes> shapes = {makeShape(1, 64, {1, 2}),
                                    makeShape(1, 257, {1, 2}),
                                    makeShape(4, 1, {2, 1})};
  Rule rule = chooseRule({"B", "T"}, shapes, 2, 1.05);
  EXPECT_EQ(rule.dims, (std::vector<std::string>{"T"}));
}

TEST(Rule, ProductsWhereNoSizeAloneTells) {
  std::vector<ShapeTimes> shapes = {
      makeShape(1, 100, {1, 2}), makeShape(16, 100, {2, 1}),
      makeShape(1, 1600, {2, 1}), makeShape(2, 90, {1, 2})};
  Rule rule = chooseRule({"B", "T"}, shapes, 2, 1.05);
  EXPECT_EQ(rule.dims, (std::vector<std::string>{"B", "T"}));
  EXPECT_DOUBLE_EQ(rule.slowdown, 1);
}

TEST(Rule, FewSchedulesHaveToDo) {
  std::vector<ShapeTimes> shapes = {makeShape(1, 1, {1, 9, 9}),
                                    makeShape(1, 10, {9, 1, 2}),
                                    makeShape(1, 100, {9, 3, 1})};
  EXPECT_DOUBLE_EQ(chooseRule({"T"}, shapes, 3, 1.05).slowdown, 1);
  Rule rule = chooseRule({"T"}, shapes, 2, 1.05);
  EXPECT_DOUBLE_EQ(rule.slowdown, 2);
  EXPECT_EQ(rule.find(shapes[2].sizes), 2u);
  EXPECT_DOUBLE_EQ(chooseRule({"T"}, shapes, 1, 1.05).slowdown, 9);
}

TEST(Rule, ShapesOfEqualSizesHaveOneCase) {
  std::vector<ShapeTimes> shapes = {makeShape(1, 7, {1, 2}),
                                    makeShape(1, 7, {2, 1})};
  Rule rule = chooseRule({"T"}, shapes, 3, 1.05);
  EXPECT_EQ(rule.cases.size(), 1u);
  EXPECT_DOUBLE_EQ(rule.slowdown, 2);
}

TEST(Rule, WhatFailedIsNotTaken) {
  std::vector<ShapeTimes> shapes = {makeShape(1, 7, {HUGE_VAL, 2}),
                                    makeShape(1, 70, {3, 3})};
  Rule rule = chooseRule({"T"}, shapes, 3, 1.05);
  EXPECT_EQ(rule.find(shapes[0].sizes), 1u);
  EXPECT_DOUBLE_EQ(rule.slowdown, 1);
}

TEST(Rule, EmptyAndHugeSizes) {
  std::vector<ShapeTimes> shapes = {
      makeShape(0, 0, {1, 2}),
      makeShape(INT64_C(1) << 40, INT64_C(1) << 40, {2, 1})};
  Rule rule = chooseRule({"B", "T"}, shapes, 2, 1.05);
  EXPECT_EQ(rule.find(shapes[0].sizes), 0u);
  EXPECT_EQ(rule.find(shapes[1].sizes), 1u);
}
