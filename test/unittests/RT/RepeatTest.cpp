//===- RepeatTest.cpp - Launches that run several times -------------------===//

#include "RTTest.h"

using namespace nsacc::rt;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using Kind = Step::Kind;

using RepeatTest = RTTest;

/// Both launches repeat for each batch row, and @fill gets the iteration's
/// number instead of T.
static Package makeRepeats() {
  Package package = makePackage();
  Plan &plan = package.variants[0].targets[0].plan;
  plan.steps.push_back({Kind::Time, 0, {}});    // 7
  plan.steps.push_back({Kind::Add, 0, {7, 4}}); // 8
  plan.repeats = {{0, 1, 0}};
  plan.launches[0].arguments[2].index = 7;
  plan.launches[1].grid[1] = 8;
  // The counter's number of points grows each time.
  plan.launches[1].extra.erase(plan.launches[1].extra.begin());
  plan.launches[1].arguments.push_back({false, 8, 8});
  plan.workspaces[1].first = 0;
  return package;
}

/// Launches, each with its last number.
static std::vector<std::pair<size_t, int64_t>>
visit(const Plan &plan, const std::vector<int64_t> &sizes) {
  std::vector<int64_t> numbers;
  std::vector<const int64_t *> given = {sizes.data(), sizes.data()};
  EXPECT_EQ(computeNumbers(plan, given, numbers), std::nullopt);
  std::vector<int64_t> before = numbers;
  std::vector<std::pair<size_t, int64_t>> visited;
  EXPECT_EQ(forEachLaunch(plan, given, numbers,
                          [&](size_t launch) -> Problem {
                            visited.push_back({launch, numbers.back()});
                            return std::nullopt;
                          }),
            std::nullopt);
  EXPECT_EQ(numbers, before);
  return visited;
}

TEST_F(RepeatTest, VisitsLaunchesInTheirOrder) {
  Plan plan;
  plan.steps = {{Kind::Dim, 0, {0}},      {Kind::Dim, 1, {0}},
                {Kind::Time, 0, {}},      {Kind::Time, 1, {}},
                {Kind::Constant, 10, {}}, {Kind::Mul, 0, {3, 4}},
                {Kind::Add, 0, {2, 5}}};
  plan.launches.resize(5);
  plan.repeats = {{1, 2, 0}, {3, 3, 1}};
  EXPECT_THAT(visit(plan, {2, 3}),
              ElementsAre(Pair(0, 0), Pair(1, 0), Pair(2, 0), Pair(1, 1),
                          Pair(2, 1), Pair(3, 0), Pair(3, 10), Pair(3, 20),
                          Pair(4, 0)));
  EXPECT_THAT(visit(plan, {1, 0}),
              ElementsAre(Pair(0, 0), Pair(1, 0), Pair(2, 0), Pair(4, 0)));
  plan.repeats = {};
  EXPECT_EQ(visit(plan, {2, 3}).size(), 5u);
}

TEST_F(RepeatTest, EndsWithAProblem) {
  Plan plan;
  plan.steps = {{Kind::Dim, 0, {0}},
                {Kind::Time, 0, {}},
                {Kind::Constant, INT64_MAX, {}},
                {Kind::Add, 0, {1, 2}}};
  plan.launches.resize(2);
  plan.repeats = {{0, 0, 0}};
  std::vector<int64_t> numbers, sizes = {2};
  size_t visited = 0;
  auto count = [&](size_t) -> Problem {
    return ++visited == 2 ? Problem("enough") : std::nullopt;
  };
  ASSERT_EQ(computeNumbers(plan, {sizes.data()}, numbers), std::nullopt);
  EXPECT_EQ(forEachLaunch(plan, {sizes.data()}, numbers, count),
            kSizesTooLarge);
  EXPECT_EQ(visited, 1u);
  plan.repeats = {};
  ASSERT_EQ(computeNumbers(plan, {sizes.data()}, numbers), std::nullopt);
  EXPECT_EQ(forEachLaunch(plan, {sizes.data()}, numbers, count), "enough");
  plan.repeats = {{0, 0, 2}};
  EXPECT_EQ(forEachLaunch(plan, {sizes.data()}, numbers, count),
            "the launch plan repeats launches 9223372036854775807 times, more "
            "than 65536: run smaller batches, or in larger chunks");
}

TEST_F(RepeatTest, LaunchesEachTime) {
  Module module(makeRepeats());
  expectLaunch(module, Tensors(3, 100));
  const auto &launches = fakecuda::getLaunches();
  ASSERT_EQ(launches.size(), 6u);
  for (uint64_t time = 0; time < 3; ++time) {
    const fakecuda::Launch &fill = launches[2 * time],
                           &scale = launches[2 * time + 1];
    EXPECT_EQ(fill.kernel, "fill");
    EXPECT_EQ(fill.getWord(12), time);
    EXPECT_EQ(fill.getWord(7), launches[0].getWord(7)) << "another workspace";
    EXPECT_EQ(scale.kernel, "scale");
    EXPECT_THAT(scale.grid, ElementsAre(3, time + 1, 1));
  }
  EXPECT_EQ(nsacc_rt_launch_count(module), 2u);
}

TEST_F(RepeatTest, LooksAtAllGridsBeforehand) {
  Package package = makeRepeats();
  Plan &plan = package.variants[0].targets[0].plan;
  plan.steps.push_back({Kind::Constant, 60000, {}});
  plan.steps.push_back({Kind::Mul, 0, {8, 9}});
  plan.launches[1].grid[1] = 10;
  Module module(package);
  expectLaunch(module, Tensors(1, 100));
  fakecuda::reset();
  EXPECT_THAT(failLaunch(module, Tensors(2, 100)),
              HasSubstr("a grid of 120000 blocks along dimension 1"));
  EXPECT_EQ(fakecuda::getLaunches().size(), 0u);
}

TEST_F(RepeatTest, PackagesHaveRepeats) {
  std::string bytes = writePackage(makeRepeats());
  Package read = readPackage(bytes.data(), bytes.size());
  const Plan &plan = read.variants[0].targets[0].plan;
  ASSERT_EQ(plan.repeats.size(), 1u);
  EXPECT_EQ(plan.repeats[0].first, 0u);
  EXPECT_EQ(plan.repeats[0].last, 1u);
  EXPECT_EQ(plan.repeats[0].count, 0u);
  EXPECT_EQ(plan.steps[7].kind, Kind::Time);
  EXPECT_EQ(writePackage(read), bytes);
}

TEST_F(RepeatTest, DamagedOnesAreRefused) {
  auto fail = [](auto change) -> std::string {
    Package package = makeRepeats();
    change(package.variants[0].targets[0].plan, package.variants[0]);
    return failRead(writePackage(package));
  };
  auto failPlan = [&](auto change) {
    return fail([&](Plan &plan, Variant &) { change(plan); });
  };
  EXPECT_EQ(failPlan([](Plan &) {}), "read");
  EXPECT_THAT(failPlan([](Plan &plan) { plan.steps[7].value = 1; }),
              HasSubstr("there is no repeat 1"));
  EXPECT_THAT(failPlan([](Plan &plan) { plan.repeats[0].last = 2; }),
              HasSubstr("there is no launch 2"));
  EXPECT_THAT(failPlan([](Plan &plan) { plan.repeats[0].count = 9; }),
              HasSubstr("there is no number 9"));
  EXPECT_THAT(failPlan([](Plan &plan) { plan.repeats[0] = {1, 0, 0}; }),
              HasSubstr("a repeat from launch 1 to 0"));
  EXPECT_THAT(failPlan([](Plan &plan) { plan.repeats.push_back({1, 1, 0}); }),
              HasSubstr("a repeat from launch 1 to 1, behind one to launch 1"));
  // A number that changes each time may only be used in the repeat.
  EXPECT_THAT(failPlan([](Plan &plan) { plan.repeats[0].count = 7; }),
              HasSubstr("number 7 is of repeat 0 and is used outside of it"));
  EXPECT_THAT(failPlan([](Plan &plan) { plan.workspaces[0].sizes[1] = 8; }),
              HasSubstr("number 8 is of repeat 0"));
  EXPECT_THAT(failPlan([](Plan &plan) { plan.checks[0].found = 8; }),
              HasSubstr("number 8 is of repeat 0"));
  EXPECT_THAT(failPlan([](Plan &plan) {
                plan.repeats[0].last = 0;
                plan.workspaces[0] =
                    plan.workspaces[1] = {4, DType::F32, {0, 1}, 0, 1};
              }),
              HasSubstr("number 8 is of repeat 0"));
  EXPECT_THAT(failPlan([](Plan &plan) {
                plan.repeats = {{0, 0, 0}, {1, 1, 0}};
                plan.steps.push_back({Kind::Time, 1, {}});
                plan.steps.push_back({Kind::Add, 0, {8, 9}});
              }),
              HasSubstr("number 10 is of repeats 0 and 1"));
  EXPECT_THAT(failPlan([](Plan &plan) { plan.workspaces[1].first = 1; }),
              HasSubstr("a workspace from launch 1 to 1, which has a part of "
                        "the repeat from launch 0 to 1"));
  EXPECT_THAT(fail([](Plan &, Variant &variant) {
                variant.steps.push_back({Kind::Time, 0, {}});
              }),
              HasSubstr("there is no repeat 0"));
}
