#include "nsacc/Tensor/Compare.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace nsacc;

static Tensor reals(std::vector<double> values) {
  Tensor tensor = Tensor::zeros(DType::F32, {int64_t(values.size())});
  tensor.setReals(values);
  return tensor;
}

static constexpr double inf = std::numeric_limits<double>::infinity();
static const double notANumber = std::nan("");

TEST(Summary, CountsWhatIsNotFinite) {
  Summary summary = summarize(reals({1, notANumber, -3, inf, -inf}));
  EXPECT_EQ(summary.elements, 5);
  EXPECT_EQ(summary.nans, 1);
  EXPECT_EQ(summary.infinities, 2);
  EXPECT_EQ(summary.min, -3);
  EXPECT_EQ(summary.max, 1);
  EXPECT_EQ(summary.mean, -1);
}

TEST(Summary, ChecksumIsOfElementsNotOfMemory) {
  std::vector<float> memory = {3, 2, 1};
  Tensor reversed = Tensor::borrow(&memory[2], DType::F32, {3}, {-1}, nullptr);
  EXPECT_EQ(summarize(reversed).checksum, summarize(reals({1, 2, 3})).checksum);
  EXPECT_NE(summarize(reversed).checksum, summarize(reals({3, 2, 1})).checksum);
  EXPECT_EQ(summarize(reals({})).max, 0);
}

TEST(Compare, BitsTellZerosApart) {
  EXPECT_TRUE(haveSameBits(reals({notANumber}), reals({notANumber})));
  EXPECT_FALSE(haveSameBits(reals({0.0}), reals({-0.0})));
  EXPECT_FALSE(haveSameBits(reals({0.0}), Tensor::zeros(DType::I32, {1})));
}

TEST(Compare, Differences) {
  Difference none =
      compare(reals({1, inf, notANumber}), reals({1, inf, notANumber}));
  EXPECT_EQ(none.differing, 0);
  EXPECT_EQ(none.getRelativeRms(), 0);

  Difference some =
      compare(reals({1, 2.5, notANumber, -inf}), reals({1, 2, 0, inf}));
  EXPECT_EQ(some.elements, 4);
  EXPECT_EQ(some.differing, 3);
  EXPECT_EQ(some.nonFinite, 2);
  EXPECT_EQ(some.maxAbs, 0.5);
  EXPECT_DOUBLE_EQ(some.rms, std::sqrt(0.25 / 2));
  EXPECT_DOUBLE_EQ(some.referenceRms, std::sqrt(5.0 / 2));
}
