//===- RoundingTest.cpp - Rounding to f32, and products that round --------===//

#include "InterpreterTestUtil.h"
#include "Products.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <cmath>
#include <random>

using namespace nsacc;
using namespace nsacc::interpreter;

/// The f32 at or below x, and at or above.
static std::pair<double, double> getNeighbours(double x) {
  float near = x;
  float limit = near > x ? -INFINITY : INFINITY;
  double other = near == x ? near : std::nextafter(near, limit);
  return std::minmax(double(near), other);
}

static std::vector<double> makeNumbers(size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> numbers(count);
  for (double &x : numbers)
    x = float(normal(random));
  return numbers;
}

TEST(RoundingTest, EitherNeighbourEquallyOften) {
  Rounding round(7);
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  int ups = 0, number = 20000;
  for (int i = 0; i < number; ++i) {
    double x = std::ldexp(normal(random), i % 100 - 50);
    auto [below, above] = getNeighbours(x);
    ASSERT_TRUE(round(x) == below || round(x) == above) << x;
    EXPECT_EQ(round(x), round(x));
    ups += round(x) == above;
  }
  EXPECT_NEAR(ups, number / 2, number / 40);
}

TEST(RoundingTest, SeedsAreIndependent) {
  // Factors of few digits, and of many.
  for (double factor : {1.0 / 3, 1.1, 0x1.8000008p0}) {
    for (unsigned seed : llvm::seq(19u)) {
      int same = 0, number = 0;
      for (double x : makeNumbers(4000, seed)) {
        if (float(x * factor) == x * factor)
          continue;
        ++number;
        same += Rounding(seed)(x * factor) == Rounding(seed + 1)(x * factor);
      }
      EXPECT_NEAR(same, number / 2, number / 12) << seed << " " << factor;
    }
  }
}

TEST(RoundingTest, NumbersOfF32Stay) {
  for (double x : {0.0, 1.0, -0x1.fffffep127, 0x1p-114, 3.5, infinity})
    for (unsigned seed : llvm::seq(20u))
      EXPECT_EQ(Rounding(seed)(x), x);
  EXPECT_TRUE(std::isnan(Rounding(0)(notANumber)));
  EXPECT_EQ(Rounding()(1.0 / 3), 1.0 / 3);
}

TEST(RoundingTest, BeyondTheRangeOfF32) {
  int zeros = 0;
  for (unsigned seed : llvm::seq(100u)) {
    Rounding round(seed);
    EXPECT_EQ(round(0x1.ffffffp127), infinity);
    EXPECT_EQ(round(-1e300), -infinity);
    EXPECT_EQ(round(0x1p-127), 0);
    EXPECT_EQ(round(1e-300), 0);
    double tiny = round(0x1.8p-115);
    EXPECT_TRUE(tiny == 0 || tiny == 0x1.8p-115);
    zeros += tiny == 0;
  }
  EXPECT_GT(zeros, 20);
  EXPECT_LT(zeros, 80);
}

namespace {

/// Rows with other rows in between, as heads have; only some of them are used.
struct ProductsTest : testing::TestWithParam<int64_t> {
  static constexpr int64_t numRows = 101, stride = 70;

  ProductsTest()
      : x(makeNumbers(GetParam(), 1)), matrix(makeNumbers(numRows * stride, 2)),
        weights(makeNumbers(numRows, 3)) {
    for (int64_t row = 0; row < numRows; ++row)
      if (row % 7 != 3 && (row < 40 || row > 71))
        places.push_back(row);
    weights.resize(places.size());
  }
  double get(int64_t place, int64_t index) const {
    return matrix[place * stride + index];
  }

  std::vector<double> x, matrix, weights;
  std::vector<int64_t> places;
  RowsOf rows{matrix.data(), stride};
};

} // namespace

TEST_P(ProductsTest, RoundedStepByStep) {
  Rounding round(5);
  std::vector<double> found(places.size());
  TiledRows(rows, numRows, x.size()).dot(x.data(), places, round, found.data());
  std::vector<double> sums(x.size());
  addRowsRounded(weights, rows, places, x.size(), round, sums.data());

  std::vector<double> expectedSums(x.size());
  for (auto [n, place] : llvm::enumerate(places)) {
    double expected = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      expected = round(expected + round(x[i] * get(place, i)));
      expectedSums[i] =
          round(expectedSums[i] + round(weights[n] * get(place, i)));
    }
    EXPECT_EQ(found[n], expected);
  }
  EXPECT_EQ(sums, expectedSums);
}

TEST_P(ProductsTest, ExactInAFixedOrder) {
  std::vector<double> found(places.size()), sums(x.size());
  dotRows(x.data(), x.size(), rows, places, found.data());
  addRows(weights, rows, places, x.size(), sums.data());

  std::vector<double> expectedSums(x.size());
  for (auto [n, place] : llvm::enumerate(places)) {
    double s[8] = {};
    for (size_t i = 0; i < x.size(); ++i) {
      s[i % 8] += x[i] * get(place, i);
      expectedSums[i] += weights[n] * get(place, i);
    }
    EXPECT_EQ(found[n], ((s[0] + s[4]) + (s[2] + s[6])) +
                            ((s[1] + s[5]) + (s[3] + s[7])));
  }
  EXPECT_EQ(sums, expectedSums);
}

INSTANTIATE_TEST_SUITE_P(Depths, ProductsTest,
                         testing::Values(1, 3, 8, 40, 64, 70));
