#include "nsacc/Tensor/Tensor.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace nsacc;

static constexpr double infinity = std::numeric_limits<double>::infinity();
static constexpr double quietNaN = std::numeric_limits<double>::quiet_NaN();

TEST(RoundTo, BFloatTiesToEven) {
  // Numbers of bf16 in [1, 2) are 2^-7 apart.
  EXPECT_EQ(roundTo(DType::BF16, 1 + 0x1p-8), 1.0);
  EXPECT_EQ(roundTo(DType::BF16, 1 + 3 * 0x1p-8), 1 + 0x1p-6);
  EXPECT_EQ(roundTo(DType::BF16, 1 + 0x1p-8 + 0x1p-40), 1 + 0x1p-7);
  EXPECT_EQ(roundTo(DType::BF16, -1 - 0x1p-8), -1.0);
}

TEST(RoundTo, RoundsOnce) {
  // Through f32 this would become a tie and then 1.
  EXPECT_EQ(roundTo(DType::BF16, 1 + 0x1p-8 + 0x1p-30), 1 + 0x1p-7);
  EXPECT_EQ(roundTo(DType::F16, 1 + 0x1p-11 + 0x1p-30), 1 + 0x1p-10);
}

TEST(RoundTo, SubnormalsAndOverflow) {
  EXPECT_EQ(roundTo(DType::F16, 0x1p-24), 0x1p-24);
  EXPECT_EQ(roundTo(DType::F16, 0x1p-25), 0.0);
  EXPECT_EQ(roundTo(DType::F16, 0x1.8p-24), 0x1p-23);
  EXPECT_EQ(roundTo(DType::F16, 65519.0), 65504.0);
  EXPECT_EQ(roundTo(DType::F16, 65520.0), infinity);
  EXPECT_EQ(roundTo(DType::BF16, 0x1p-133), 0x1p-133);
  EXPECT_EQ(roundTo(DType::BF16, 0x1.FFp+127), infinity);
  EXPECT_EQ(roundTo(DType::BF16, -1e300), -infinity);
  EXPECT_TRUE(std::signbit(roundTo(DType::BF16, -1e-300)));
}

TEST(RoundTo, NonFiniteStays) {
  for (DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64}) {
    EXPECT_TRUE(std::isnan(roundTo(dtype, quietNaN)));
    EXPECT_EQ(roundTo(dtype, infinity), infinity);
    EXPECT_EQ(roundTo(dtype, -infinity), -infinity);
  }
}

TEST(RoundTo, Integers) {
  EXPECT_EQ(roundTo(DType::I32, 2.5), 2);
  EXPECT_EQ(roundTo(DType::I32, 1e20), 2147483647);
  EXPECT_EQ(roundTo(DType::I32, -1e20), -2147483648.0);
  EXPECT_EQ(roundTo(DType::Bool, -0.5), 1);
}

TEST(Tensor, EveryHalfSurvivesStoring) {
  Tensor bits = Tensor::zeros(DType::F16, {65536});
  auto *data = static_cast<uint16_t *>(bits.getData());
  for (int i = 0; i < 65536; ++i)
    data[i] = i;
  std::vector<double> values = bits.toReals();
  Tensor again = Tensor::zeros(DType::F16, {65536});
  again.setReals(values);
  for (int i = 0; i < 65536; ++i) {
    if (std::isnan(values[i]))
      EXPECT_EQ(i & 0x7c00, 0x7c00);
    else
      EXPECT_EQ(static_cast<uint16_t *>(again.getData())[i], i);
  }
  EXPECT_EQ(values[0x3c00], 1.0);
  EXPECT_EQ(values[0x0001], 0x1p-24);
}

TEST(Tensor, EveryBFloatSurvivesStoring) {
  Tensor bits = Tensor::zeros(DType::BF16, {65536});
  auto *data = static_cast<uint16_t *>(bits.getData());
  for (int i = 0; i < 65536; ++i)
    data[i] = i;
  std::vector<double> values = bits.toReals();
  Tensor again = Tensor::zeros(DType::BF16, {65536});
  again.setReals(values);
  std::vector<double> stored = again.toReals();
  for (int i = 0; i < 65536; ++i)
    EXPECT_TRUE(std::isnan(values[i]) ? std::isnan(stored[i])
                                      : stored[i] == values[i])
        << i;
}

TEST(Tensor, NothingFiniteIsLargerThanTheLargest) {
  for (DType dtype : {DType::F16, DType::BF16, DType::F32}) {
    double largest = getLargest(dtype);
    EXPECT_EQ(roundTo(dtype, largest), largest) << getName(dtype).str();
    EXPECT_EQ(roundTo(dtype, -largest), -largest);
    EXPECT_TRUE(std::isinf(roundTo(dtype, largest * 1.01)));
  }
  EXPECT_EQ(getLargest(DType::F16), 65504);
}

TEST(Tensor, LargeIntegersAreExact) {
  Tensor tensor = Tensor::zeros(DType::I64, {2});
  std::vector<int64_t> values = {(int64_t(1) << 62) + 1, -7};
  tensor.setIntegers(values);
  EXPECT_EQ(tensor.toIntegers(), values);
}

TEST(Tensor, NegativeAndZeroStrides) {
  std::vector<float> memory = {0, 1, 2, 3, 4, 5};
  Tensor backwards =
      Tensor::borrow(&memory[5], DType::F32, {3, 2}, {-2, -1}, nullptr);
  EXPECT_EQ(backwards.toReals(), (std::vector<double>{5, 4, 3, 2, 1, 0}));
  EXPECT_FALSE(backwards.isContiguous());
  EXPECT_TRUE(backwards.toContiguous().isContiguous());
  EXPECT_EQ(backwards.toContiguous().toReals(), backwards.toReals());
  Tensor repeated =
      Tensor::borrow(memory.data(), DType::F32, {2, 3}, {0, 2}, nullptr);
  EXPECT_EQ(repeated.toReals(), (std::vector<double>{0, 2, 4, 0, 2, 4}));
}

TEST(Tensor, ScalarsAndEmptyTensors) {
  Tensor scalar = Tensor::zeros(DType::F32, {});
  scalar.setReals({1.5});
  EXPECT_EQ(scalar.toReals(), std::vector<double>{1.5});
  Tensor empty = Tensor::zeros(DType::BF16, {2, 0, 3});
  EXPECT_EQ(empty.getNumElements(), 0);
  EXPECT_TRUE(empty.toReals().empty());
  EXPECT_TRUE(empty.isContiguous());
}
