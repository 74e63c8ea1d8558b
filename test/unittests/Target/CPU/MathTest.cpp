//===- MathTest.cpp - Accuracy of mathematical functions ------------------===//

#include "TileTest.h"
#include <cmath>
#include <limits>

using namespace nsacc;
using namespace nsacc::cpu;

namespace {

constexpr int64_t kCount = 1 << 16;

class MathTest : public TileTest {
protected:
  static constexpr const char *module = R"(
    nsatile.program @apply(%x: memref<65536xf32>, %z: memref<65536xf32>, %y: memref<65536xf32>) {
      %p = nsatile.program_id 0
      %c = arith.constant 256 : index
      %n = arith.constant 65536 : index
      %i = arith.muli %p, %c : index
      %t_at = nsatile.at %x[%i] dims [0] limits [%n] : memref<65536xf32> -> !nsatile.place<256xf32>
      %t = nsatile.load %t_at : tensor<256xf32>
      %e_at = nsatile.at %z[%i] dims [0] limits [%n] : memref<65536xf32> -> !nsatile.place<256xf32>
      %e = nsatile.load %e_at : tensor<256xf32>
      %u = math.$F %t$E : tensor<256xf32>
      %to = nsatile.at %y[%i] dims [0] limits [%n] : memref<65536xf32> -> !nsatile.place<256xf32>
      nsatile.store %u, %to : tensor<256xf32>
      nsatile.return
    }
    nsatile.plan @plan(%x: memref<65536xf32>, %z: memref<65536xf32>, %y: memref<65536xf32>) {
      %1 = arith.constant 1 : index
      %256 = arith.constant 256 : index
      nsatile.launch @apply grid(%256, %1, %1) (%x, %z, %y) : memref<65536xf32>, memref<65536xf32>, memref<65536xf32>
      nsatile.return
    })";

  static Tensor makeInput(std::vector<double> values) {
    values.resize(kCount, 1.0);
    return fromReals(DType::F32, {kCount}, values);
  }

  std::vector<double> apply(const std::string &function,
                            const std::vector<double> &inputs) {
    Tensor x = makeInput(inputs), y = Tensor::zeros(DType::F32, {kCount});
    run(substitute(module, {{"F", function}, {"E", ""}}), {x, x, y});
    return y.toReals();
  }

  std::vector<double> power(const std::vector<double> &bases,
                            const std::vector<double> &exponents) {
    Tensor x = makeInput(bases), z = makeInput(exponents);
    Tensor y = Tensor::zeros(DType::F32, {kCount});
    run(substitute(module, {{"F", "powf"}, {"E", ", %e"}}), {x, z, y});
    std::vector<double> values = y.toReals();
    values.resize(bases.size());
    return values;
  }

  static std::vector<double> spread(double low, double high) {
    std::vector<double> values;
    for (int64_t i = 0; i < kCount; ++i)
      values.push_back(
          static_cast<float>(low + (high - low) * i / (kCount - 1)));
    return values;
  }

  /// The greatest error in units in the last place of the exact result.
  double getUlps(const std::string &function, double (*exact)(double),
                 double low, double high) {
    std::vector<double> x = spread(low, high), y = apply(function, x);
    double greatest = 0;
    for (int64_t i = 0; i < kCount; ++i) {
      double value = exact(x[i]);
      int exponent = std::max(std::ilogb(value), -126);
      double ulp = std::ldexp(1.0, exponent - 23);
      double error = std::abs(y[i] - value) / ulp;
      if (!(error <= greatest))
        greatest = error;
    }
    return greatest;
  }
};

TEST_F(MathTest, ExpIsExact) {
  EXPECT_LE(getUlps("exp", std::exp, -87.3, 88.72), 1.5);
  EXPECT_LE(getUlps("exp", std::exp, -1.0, 1.0), 1.5);
  EXPECT_LE(getUlps("exp2", std::exp2, -126.0, 127.999), 1.5);
  EXPECT_LE(getUlps("exp2", std::exp2, -1.0, 1.0), 1.5);
}

TEST_F(MathTest, ExpAtTheEndsOfItsRange) {
  double infinity = std::numeric_limits<double>::infinity();
  double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> exp =
      apply("exp", {infinity, -infinity, nan, -nan, 88.8, 1e30, -88, -1e30, 0.0,
                    -0.0, 88.72283172607422, -87.336540222167969});
  expectNear(llvm::ArrayRef(exp).take_front(10),
             {infinity, 0, nan, nan, infinity, infinity, 0, 0, 1, 1}, 0);
  EXPECT_GT(exp[10], 3.4e38);
  EXPECT_LT(exp[10], infinity);
  EXPECT_NEAR(exp[11], std::ldexp(1.0, -126), std::ldexp(1.0, -140));
  std::vector<double> exp2 = apply(
      "exp2", {infinity, -infinity, nan, 128, -127, 0, 10, -126, 127, -20});
  expectNear(llvm::ArrayRef(exp2).take_front(10),
             {infinity, 0, nan, infinity, 0, 1, 1024, std::ldexp(1.0, -126),
              std::ldexp(1.0, 127), std::ldexp(1.0, -20)},
             0);
}

TEST_F(MathTest, OtherFunctions) {
  EXPECT_LE(getUlps("log", std::log, 1e-30, 10.0), 1.5);
  EXPECT_LE(getUlps("log2", std::log2, 1e-30, 1e30), 1.5);
  EXPECT_LE(getUlps("tanh", std::tanh, -10.0, 10.0), 1.5);
  EXPECT_LE(getUlps("tanh", std::tanh, -1.1, 1.1), 1.5);
  EXPECT_LE(getUlps("tanh", std::tanh, -0.01, 0.01), 1.5);
  EXPECT_LE(getUlps("erf", std::erf, -5.0, 5.0), 1.5);
  EXPECT_LE(getUlps("erf", std::erf, -1.1, 1.1), 1.5);
  EXPECT_LE(getUlps("erf", std::erf, -0.01, 0.01), 1.5);
  EXPECT_LE(getUlps("sqrt", std::sqrt, 0.0, 1000.0), 0.5);
  EXPECT_EQ(getUlps("floor", std::floor, -9.0, 9.0), 0);
}

TEST_F(MathTest, AnglesOfEverySize) {
  for (double end : {0.01, 1.0, 4.0, 1000.0, 1e5, 1e7, 3e20, 3.4e38}) {
    EXPECT_LE(getUlps("sin", std::sin, -end, 0.7 * end), 3) << end;
    EXPECT_LE(getUlps("cos", std::cos, -end, 0.7 * end), 3) << end;
  }
}

/// Multiples of pi / 2 leave small remainders, in which every digit counts.
TEST_F(MathTest, AnglesNextToMultiples) {
  std::vector<double> x;
  for (int64_t i = 0; i < kCount; ++i)
    x.push_back(static_cast<float>((i - 100) * 1.5707963267948966));
  // The f32 that is nearest to any multiple of pi / 2.
  x.front() = 0x1.4c3ba4p+125;
  std::vector<double> sin = apply("sin", x), cos = apply("cos", x);
  for (int64_t i = 0; i < kCount; ++i) {
    double s = std::sin(x[i]), c = std::cos(x[i]);
    ASSERT_NEAR(sin[i], s, std::abs(s) * 0x1p-22) << x[i];
    ASSERT_NEAR(cos[i], c, std::abs(c) * 0x1p-22) << x[i];
  }
}

TEST_F(MathTest, AnglesThatHaveNone) {
  double infinity = std::numeric_limits<double>::infinity();
  double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> x = {infinity, -infinity, nan, 0.0, -0.0, 1e-42};
  std::vector<double> sin = apply("sin", x), cos = apply("cos", x);
  expectNear(llvm::ArrayRef(sin).take_front(5), {nan, nan, nan, 0, 0}, 0);
  EXPECT_FALSE(std::signbit(sin[3]));
  EXPECT_TRUE(std::signbit(sin[4]));
  EXPECT_NEAR(sin[5], 1e-42, 1e-44);
  expectNear(llvm::ArrayRef(cos).take_front(6), {nan, nan, nan, 1, 1, 1}, 0);
}

TEST_F(MathTest, PowersAreExact) {
  std::vector<double> bases = spread(1e-6, 40.0), exponents;
  for (int64_t i = 0; i < kCount; ++i)
    exponents.push_back(static_cast<float>((i * 7919 % 4001 - 2000) * 0.01));
  auto getUlps = [](double found, double exact) {
    int exponent = std::max(std::ilogb(exact), -126);
    return std::abs(found - exact) / std::ldexp(1.0, exponent - 23);
  };
  for (double sign : {1.0, -1.0}) {
    std::vector<double> x, y;
    for (int64_t i = 0; i < kCount; ++i) {
      x.push_back(sign * bases[i]);
      y.push_back(sign < 0 ? std::round(exponents[i]) : exponents[i]);
    }
    std::vector<double> found = power(x, y);
    for (int64_t i = 0; i < kCount; ++i) {
      double exact = std::pow(x[i], y[i]);
      if (std::abs(exact) > 0x1p-126 && std::abs(exact) < 0x1.fffffep127)
        ASSERT_LE(getUlps(found[i], exact), 1.5) << x[i] << ", " << y[i];
    }
  }
}

/// All pairs in C's rules for special values.
TEST_F(MathTest, PowersAtTheEndsOfTheirRange) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const double edges[] = {0.0,
                          -0.0,
                          1.0,
                          -1.0,
                          2.0,
                          -2.0,
                          3.0,
                          -3.0,
                          0.5,
                          -0.5,
                          2.5,
                          -2.5,
                          1e30,
                          nan,
                          -1e30,
                          infinity,
                          -infinity,
                          127.0,
                          -126.0,
                          1e-38,
                          128.0,
                          0x1p-140,
                          0x1.fffffep127,
                          16777217.0,
                          1e9};
  std::vector<double> x, y;
  for (double base : edges)
    for (double exponent : edges) {
      x.push_back(static_cast<float>(base));
      y.push_back(static_cast<float>(exponent));
    }
  std::vector<double> found = power(x, y);
  for (auto [x, y, found] : llvm::zip_first(x, y, found)) {
    double exact = static_cast<float>(std::pow(x, y));
    // Below the least normal number a power is 0.
    if (std::abs(exact) < 0x1p-126)
      exact = std::copysign(0.0, exact);
    if (std::isnan(exact) || std::isinf(exact) || exact == 0.0) {
      EXPECT_EQ(std::isnan(found), std::isnan(exact)) << x << ", " << y;
      if (!std::isnan(exact)) {
        EXPECT_EQ(found, exact) << x << ", " << y;
        EXPECT_EQ(std::signbit(found), std::signbit(exact)) << x << ", " << y;
      }
    } else {
      EXPECT_NEAR(found, exact, std::abs(exact) * 0x1p-22) << x << ", " << y;
    }
  }
}

TEST_F(MathTest, LogAtTheEndsOfItsRange) {
  double infinity = std::numeric_limits<double>::infinity();
  double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> log = apply("log", {0, infinity, -1, nan, 1});
  expectNear(llvm::ArrayRef(log).take_front(5),
             {-infinity, infinity, nan, nan, 0}, 0);
  std::vector<double> tanh = apply("tanh", {infinity, -infinity, nan, 0});
  expectNear(llvm::ArrayRef(tanh).take_front(4), {1, -1, nan, 0}, 1e-6);
}

} // namespace
