//===- PoolTest.cpp - nsa.pool --------------------------------------------===//

#include "InterpreterTestUtil.h"

using namespace nsacc;
using namespace nsacc::interpreter;

/// Pools [1, S, 1, 1].
static std::string makePool(const std::string &kind, int len, int stride,
                            const std::string &tail) {
  std::string dims =
      std::to_string(len) + ", " + std::to_string(stride) + ", " + tail;
  std::string type = "!nsa.tensor<[B, pool(S, " + dims + "), H, D], f32>";
  return "nsa.kernel @pool(%x: !nsa.tensor<[B, S, H, D], f32> {nsa.name = "
         "\"x\"}) -> " +
         type + " {\n  %p = nsa.pool " + kind + " %x len " +
         std::to_string(len) + " stride " + std::to_string(stride) + " tail " +
         tail + " : (!nsa.tensor<[B, S, H, D], f32>) -> " + type +
         "\n  nsa.return %p : " + type + "\n}";
}

static std::string makeWeightedPool(const std::string &tail,
                                    const std::string &weights) {
  std::string type = "!nsa.tensor<[B, pool(S, 4, 2, " + tail + "), H, D], f32>";
  std::string weightType = "!nsa.tensor<" + weights + ", f32>";
  return "nsa.kernel @pool(%x: !nsa.tensor<[B, S, H, D], f32>, %w: " +
         weightType + ") -> " + type +
         " {\n  %p = nsa.pool weighted %x by %w len 4 stride 2 tail " + tail +
         " : (!nsa.tensor<[B, S, H, D], f32>, " + weightType + ") -> " + type +
         "\n  nsa.return %p : " + type + "\n}";
}

static Tensor pool(const std::string &kind, int len, int stride,
                   const std::string &tail, llvm::ArrayRef<double> tokens) {
  Kernel kernel(makePool(kind, len, stride, tail));
  int64_t size = tokens.size();
  return kernel.run({makeReals({1, size, 1, 1}, tokens)})[0];
}

TEST(PoolTest, MeanOfCompleteWindows) {
  for (const char *tail : {"drop", "average", "zeros_right"}) {
    Tensor pooled = pool("mean", 4, 2, tail, {1, 2, 3, 4, 5, 6});
    EXPECT_EQ(pooled.getShape(), llvm::ArrayRef<int64_t>({1, 2, 1, 1}));
    expectReals(pooled, {2.5, 4.5});
  }
}

TEST(PoolTest, TailsOfMean) {
  // Seven tokens, windows of four every two: [0,4) [2,6) [4,8).
  llvm::SmallVector<double> tokens = {1, 2, 3, 4, 5, 6, 7};
  expectReals(pool("mean", 4, 2, "drop", tokens), {2.5, 4.5});
  expectReals(pool("mean", 4, 2, "average", tokens), {2.5, 4.5, 6});
  expectReals(pool("mean", 4, 2, "zeros_right", tokens), {2.5, 4.5, 18 / 4.});
  // Windows [-2,2) [0,4) [2,6); token 6 is in none.
  expectReals(pool("mean", 4, 2, "zeros_left", tokens), {3 / 4., 2.5, 4.5});
}

TEST(PoolTest, MaximumTakesZerosButNotMissingTokens) {
  llvm::SmallVector<double> tokens = {-1, -2, -3, -4, -5, -6, -7};
  expectReals(pool("max", 4, 2, "drop", tokens), {-1, -3});
  expectReals(pool("max", 4, 2, "average", tokens), {-1, -3, -5});
  expectReals(pool("max", 4, 2, "zeros_right", tokens), {-1, -3, 0});
  expectReals(pool("max", 4, 2, "zeros_left", tokens), {0, -1, -3});
}

TEST(PoolTest, MaximumKeepsNaN) {
  expectReals(pool("max", 2, 2, "drop", {notANumber, 1, 1, notANumber, 1, 2}),
              {notANumber, notANumber, 2});
}

TEST(PoolTest, FewerTokensThanAWindow) {
  for (const char *kind : {"mean", "max"}) {
    expectReals(pool(kind, 4, 4, "drop", {5, 5, 5}), {});
    expectReals(pool(kind, 4, 4, "average", {5, 5, 5}), {5});
    expectReals(pool(kind, 4, 4, "zeros_left", {5, 5, 5}), {});
    for (const char *tail : {"drop", "average", "zeros_left", "zeros_right"})
      expectReals(pool(kind, 4, 4, tail, {}), {});
  }
  expectReals(pool("mean", 4, 4, "zeros_right", {5, 5, 5}), {15 / 4.});
  expectReals(pool("mean", 4, 2, "zeros_left", {5, 5, 5}), {10 / 4.});
}

TEST(PoolTest, WeightsAreNotNormalised) {
  llvm::SmallVector<double> tokens = {1, 2, 3, 4, 5};
  Tensor x = makeReals({1, 5, 1, 1}, tokens);
  Tensor weights = makeReals({4}, {1, 10, 100, 1000});
  auto run = [&](const char *tail) {
    return Kernel(makeWeightedPool(tail, "[4]")).run({x, weights})[0];
  };
  expectReals(run("drop"), {4321});
  expectReals(run("average"), {4321, 543});
  expectReals(run("zeros_right"), {4321, 543});
  expectReals(run("zeros_left"), {2100, 4321});
}

TEST(PoolTest, WeightsByHead) {
  // Two heads of depth two.
  Tensor x =
      makeReals({1, 4, 2, 2}, {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4});
  Tensor weights = makeReals({2, 4}, {1, 1, 1, 1, 1, 10, 100, 1000});
  Kernel kernel(makeWeightedPool("drop", "[H, 4]"));
  expectReals(kernel.run({x, weights})[0], {4, 8, 3333, 4444});
}

TEST(PoolTest, BatchesAndHeadsAreApart) {
  Kernel kernel(makePool("mean", 2, 2, "drop"));
  Tensor x = makeReals({2, 2, 2, 1}, {1, 10, 3, 30, 5, 50, 7, 70});
  expectReals(kernel.run({x})[0], {2, 20, 6, 60});
}

TEST(PoolTest, RaggedRowsAreApart) {
  const char *source = R"(
!t = !nsa.tensor<[ragged S, H, D], f32>
!p = !nsa.tensor<[ragged pool(S, 2, 2, average), H, D], f32>
nsa.kernel @pool(%x: !t, %o: !nsa.tensor<[offsets(S)], i32>) -> !p {
  %p = nsa.pool mean %x len 2 stride 2 tail average : (!t) -> !p
  nsa.return %p : !p
})";
  Tensor x = makeReals({6, 1, 1}, {1, 3, 5, 7, 9, 11});
  Tensor pooled =
      Kernel(source).run({x, makeIntegers({5}, {0, 3, 3, 4, 6})})[0];
  EXPECT_EQ(pooled.getShape(), llvm::ArrayRef<int64_t>({4, 1, 1}));
  expectReals(pooled, {2, 5, 7, 10});
}

TEST(PoolTest, StorageIsRoundedOnRequest) {
  const char *source = R"(
!t = !nsa.tensor<[B, S, H, D], bf16>
!p = !nsa.tensor<[B, pool(S, 2, 2, drop), H, D], bf16>
nsa.kernel @pool(%x: !t) -> !p {
  %p = nsa.pool mean %x len 2 stride 2 tail drop : (!t) -> !p
  nsa.return %p : !p
})";
  Kernel kernel(source);
  Tensor x = makeReals({1, 2, 1, 1}, {1, 1 + 1 / 128.}, DType::BF16);
  expectReals(kernel.run({x}, Options{.keepF64 = true})[0], {1 + 1 / 256.});
  // A tie between 1 and 1 + 2^-7: to even.
  expectReals(
      kernel.run({x}, Options{.roundStorage = true, .keepF64 = true})[0], {1});
  Tensor stored = kernel.run({x}, Options{})[0];
  EXPECT_EQ(stored.getDType(), DType::BF16);
  expectReals(stored, {1});
}
