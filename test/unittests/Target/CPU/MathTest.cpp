//===- MathTest.cpp - How exact mathematical functions are ----------------===//

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
    nsatile.program @apply(%x: memref<65536xf32>, %y: memref<65536xf32>) {
      %p = nsatile.program_id 0
      %c = arith.constant 256 : index
      %n = arith.constant 65536 : index
      %i = arith.muli %p, %c : index
      %t = nsatile.load %x[%i] dims [0] limits [%n] : memref<65536xf32> -> tensor<256xf32>
      %u = math.$F %t : tensor<256xf32>
      nsatile.store %u, %y[%i] dims [0] limits [%n] : tensor<256xf32>, memref<65536xf32>
      nsatile.return
    }
    nsatile.plan @plan(%x: memref<65536xf32>, %y: memref<65536xf32>) {
      %1 = arith.constant 1 : index
      %256 = arith.constant 256 : index
      nsatile.launch @apply grid(%256, %1, %1) (%x, %y) : memref<65536xf32>, memref<65536xf32>
      nsatile.return
    })";

  std::vector<double> apply(const std::string &function,
                            std::vector<double> inputs) {
    inputs.resize(kCount, 1.0);
    Tensor x = fromReals(DType::F32, {kCount}, inputs);
    Tensor y = Tensor::zeros(DType::F32, {kCount});
    run(substitute(module, {{"F", function}}), {x, y});
    return y.toReals();
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
  EXPECT_LE(getUlps("sin", std::sin, -3.0, 1000.0), 4);
  EXPECT_LE(getUlps("cos", std::cos, -3.0, 1000.0), 4);
  EXPECT_LE(getUlps("sqrt", std::sqrt, 0.0, 1000.0), 0.5);
  EXPECT_EQ(getUlps("floor", std::floor, -9.0, 9.0), 0);
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
