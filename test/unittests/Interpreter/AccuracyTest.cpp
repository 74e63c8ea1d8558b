//===- AccuracyTest.cpp - What is exact enough, and what isn't ------------===//

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
