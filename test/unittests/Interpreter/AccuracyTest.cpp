//===- AccuracyTest.cpp - Results that are exact enough, and others -------===//

#include "nsacc/Interpreter/Accuracy.h"
#include "InterpreterTestUtil.h"
#include <cmath>

using namespace nsacc;
using namespace nsacc::interpreter;

static const char *softmax = R"(
!q = !nsa.tensor<[B, T, H, D], f32>
!k = !nsa.tensor<[B, S, H, D], f32>
!v = !nsa.tensor<[B, S, H, DV], f32>
!o = !nsa.tensor<[B, T, H, DV], f32>
!l = !nsa.tensor<[B, T, H], f32>
nsa.kernel @f(%q: !q, %k: !k, %v: !v) -> (!o {nsa.name = "out"}) {
  %o, %lse = nsa.attend(%q, %k, %v) : (!q, !k, !v) -> (!o, !l)
  nsa.return %o : !o
})";

namespace {

class AccuracyTest : public testing::Test {
protected:
  AccuracyTest()
      : kernel(softmax),
        inputs({makeRandom({1, 4, 2, 8}, 1), makeRandom({1, 9, 2, 8}, 2),
                makeRandom({1, 9, 2, 8}, 3)}),
        result(kernel.run(inputs, Options{}).front()) {}

  Accuracy check() {
    auto checker = AccuracyChecker::create(kernel.get(), inputs);
    if (!checker)
      throw std::runtime_error(llvm::toString(checker.takeError()));
    return checker->check({result}).front();
  }
  void change(double (*to)(double)) {
    std::vector<double> values = result.toReals();
    values[37] = to(values[37]);
    result = makeReals(result.getShape(), values, DType::F32);
  }

  Kernel kernel;
  std::vector<Tensor> inputs;
  Tensor result;
};

} // namespace

TEST_F(AccuracyTest, ARoundedResultIsWithin) {
  Accuracy accuracy = check();
  EXPECT_TRUE(accuracy.isWithin) << accuracy.message;
  EXPECT_EQ(accuracy.name, "out");
  EXPECT_GT(accuracy.eagerError, 0);
  EXPECT_LT(accuracy.eagerError, 1e-5);
}

TEST_F(AccuracyTest, AnErrorIsSeen) {
  change([](double x) { return x + 1e-5; });
  Accuracy accuracy = check();
  EXPECT_FALSE(accuracy.isWithin);
  EXPECT_NE(accuracy.message.find("'out' at [0, 2, 0, 5]"), std::string::npos)
      << accuracy.message;
}

TEST_F(AccuracyTest, NaNIsSeen) {
  change([](double) -> double { return NAN; });
  EXPECT_FALSE(check().isWithin);
}

TEST_F(AccuracyTest, InfinityIsSeen) {
  change([](double) -> double { return HUGE_VAL; });
  EXPECT_FALSE(check().isWithin);
}

TEST_F(AccuracyTest, ANumberInPlaceOfNaNIsSeen) {
  std::vector<double> values = inputs[2].toReals();
  values[0] = NAN;
  inputs[2] = makeReals(inputs[2].getShape(), values, DType::F32);
  EXPECT_FALSE(check().isWithin);
}

//===----------------------------------------------------------------------===//
// Overflow, NaN and bounds that say nothing
//===----------------------------------------------------------------------===//

static Accuracy checkMap(const std::string &code, double input, double found,
                         DType dtype = DType::F32) {
  std::string type = dtype == DType::F16 ? "f16" : "f32";
  Kernel kernel("!x = !nsa.tensor<[N], f32>\n!r = !nsa.tensor<[N], " + type +
                R"(>
nsa.kernel @f(%x: !x) -> !r {
  %r = nsa.map(%x) : (!x) -> !r {
  ^bb0(%e: f32):
    )" + code + R"(
    nsa.yield %y : f32
  }
  nsa.return %r : !r
})");
  auto checker =
      AccuracyChecker::create(kernel.get(), {makeReals({1}, {input})});
  if (!checker)
    throw std::runtime_error(llvm::toString(checker.takeError()));
  return checker->check({makeReals({1}, {found}, dtype)}).front();
}

TEST(AccuracyBoundTest, WhatTheTypeCantHoldIsInfinite) {
  // 6.4e40 exactly, in a type that ends at 3.4e38; 8e4 in one that ends at
  // 65504.
  const char *square = "%y = arith.mulf %e, %e : f32";
  double root = std::sqrt(6.4e40);
  EXPECT_TRUE(checkMap(square, root, HUGE_VAL).isWithin);
  EXPECT_FALSE(checkMap(square, root, -HUGE_VAL).isWithin);
  EXPECT_FALSE(checkMap(square, root, NAN).isWithin);
  EXPECT_TRUE(checkMap(square, 283, HUGE_VAL, DType::F16).isWithin);
  EXPECT_FALSE(checkMap(square, 200, HUGE_VAL, DType::F16).isWithin);
}

TEST(AccuracyBoundTest, NaNOfTheFormulaIsRight) {
  const char *logarithm = "%y = math.log %e : f32";
  EXPECT_TRUE(checkMap(logarithm, -1, NAN).isWithin);
  EXPECT_FALSE(checkMap(logarithm, -1, 0).isWithin);
}

TEST(AccuracyBoundTest, AWideBoundIsToldFromAGoodResult) {
  // sin(1e7 x) in f32 may be anything.
  const char *steep = R"(%c = arith.constant 1.0e+07 : f32
    %z = arith.mulf %e, %c : f32
    %y = math.sin %z : f32)";
  double x = 1.2345678f, exact = std::sin(1e7 * x);
  Accuracy good = checkMap(steep, x, exact);
  EXPECT_TRUE(good.isWithin && !good.isIllConditioned());
  Accuracy off = checkMap(steep, x, exact * 1.05);
  EXPECT_TRUE(off.isWithin) << off.message;
  EXPECT_TRUE(off.isIllConditioned());
}

TEST(AccuracyBoundTest, WhatOverflowsThoughTheFormulaDoesNotIsTold) {
  // 1e60 / 1e40, both beyond f32.
  const char *quotient = R"(%a = arith.mulf %e, %e : f32
    %b = arith.mulf %a, %e : f32
    %y = arith.divf %b, %a : f32)";
  Accuracy overflow = checkMap(quotient, 1e20f, NAN);
  EXPECT_TRUE(overflow.isWithin) << overflow.message;
  EXPECT_EQ(overflow.overflows, 1);
  EXPECT_TRUE(overflow.isIllConditioned());
}

TEST(AccuracyBoundTest, IntegersOfNoDimensionAreCompared) {
  Kernel kernel(R"(
!n = !nsa.tensor<[], i64>
nsa.kernel @f(%n: !n {nsa.name = "n"}) -> (!n {nsa.name = "out"}) {
  nsa.return %n : !n
})");
  auto makeInteger = [](int64_t value) {
    Tensor tensor = Tensor::zeros(DType::I64, {});
    tensor.setIntegers({value});
    return tensor;
  };
  auto checker = AccuracyChecker::create(kernel.get(), {makeInteger(7)});
  ASSERT_TRUE(bool(checker)) << llvm::toString(checker.takeError());
  EXPECT_TRUE(checker->check({makeInteger(7)}).front().isWithin);
  EXPECT_FALSE(checker->check({makeInteger(8)}).front().isWithin);
}

//===----------------------------------------------------------------------===//
// Rows that share a selection
//===----------------------------------------------------------------------===//

/// Two groups of two rows that select one of three blocks by their largest
/// scores. Two blocks of the first group have equal scores, one from each row.
static bool isSharedWithin(std::vector<int64_t> blocks, bool isComputed) {
  Kernel kernel(R"(
!x = !nsa.tensor<[B, T, H, N], f32>
!k = !nsa.tensor<[B, S, H, D], f32>
!b = !nsa.tensor<[B, T, H, blocks(S, 4)], f32>
!s = !nsa.selection<[B, T, H], top = 1, block = 4, of = S>
!i = !nsa.tensor<[B, T, H, 1], i32>
nsa.kernel @f(%x: !x {nsa.name = "x"}, %k: !k {nsa.name = "k"})
    -> (!i {nsa.name = "out"}) {
  %y = nsa.map(%x) : (!x) -> !x {
  ^bb0(%e: f32):
    %z = math.exp %e : f32
    nsa.yield %z : f32
  }
  %b = nsa.declare_blocks %y : !x -> !b
  %s = nsa.topk %b top 1 share_tokens 2 by max : (!b) -> !s
  %i = nsa.indices %s : !s -> !i
  %j = nsa.map(%i) : (!i) -> !i {
  ^bb0(%n: index):
    %c = arith.constant 2 : index
    %m = arith.muli %n, %c : index
    nsa.yield %m : index
  }
  nsa.return %)" +
                std::string(isComputed ? "j" : "i") +
                R"( : !i
})");
  std::vector<double> scores = {1.1, 0.2, 0.5, 0.3, 1.1, 0.4,
                                1.1, 0.2, 0.5, 0.3, 0.4, 0.6};
  auto checker =
      AccuracyChecker::create(kernel.get(), {makeReals({1, 4, 1, 3}, scores),
                                             makeRandom({1, 12, 1, 2}, 1)});
  if (!checker)
    throw std::runtime_error(llvm::toString(checker.takeError()));
  for (int64_t &block : blocks)
    block *= isComputed ? 2 : 1;
  Tensor found = Tensor::zeros(DType::I32, {1, 4, 1, 1});
  found.setIntegers(blocks);
  return checker->check({found}).front().isWithin;
}

TEST(AccuracySharedTest, TiesOfAGroupAreLeftOut) {
  for (bool isComputed : {false, true}) {
    EXPECT_TRUE(isSharedWithin({0, 0, 0, 0}, isComputed));
    EXPECT_TRUE(isSharedWithin({1, 1, 0, 0}, isComputed));
    EXPECT_FALSE(isSharedWithin({0, 0, 1, 1}, isComputed));
    EXPECT_FALSE(isSharedWithin({1, 1, 0, 1}, isComputed));
  }
}
