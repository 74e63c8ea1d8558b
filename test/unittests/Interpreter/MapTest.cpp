//===- MapTest.cpp - nsa.map and nsa.merge --------------------------------===//

#include "InterpreterTestUtil.h"
#include <cmath>

using namespace nsacc;
using namespace nsacc::interpreter;

TEST(MapTest, MissingDimensionsBroadcast) {
  const char *source = R"(
!a = !nsa.tensor<[B, H], f32>
!b = !nsa.tensor<[T, D], f32>
!c = !nsa.tensor<[], f32>
!r = !nsa.tensor<[B, T, H, D], f32>
nsa.kernel @map(%a: !a, %b: !b, %c: !c) -> !r {
  %r = nsa.map(%a, %b, %c) : (!a, !b, !c) -> !r {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %m, %z : f32
    nsa.yield %s : f32
  }
  nsa.return %r : !r
})";
  Tensor a = makeRandom({3, 5}, 1), b = makeRandom({7, 40}, 2);
  Tensor r = Kernel(source).run({a, b, makeReals({}, {100})}, 3)[0];
  std::vector<double> as = a.toReals(), bs = b.toReals(), expected;
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t t = 0; t < 7; ++t)
      for (int64_t h = 0; h < 5; ++h)
        for (int64_t d = 0; d < 40; ++d)
          expected.push_back(as[i * 5 + h] * bs[t * 40 + d] + 100);
  EXPECT_EQ(r.getShape(), llvm::ArrayRef<int64_t>({3, 7, 5, 40}));
  expectReals(r, expected);
}

TEST(MapTest, ScalarsAndEmptyTensors) {
  const char *source = R"(
!a = !nsa.tensor<[], f32>
!x = !nsa.tensor<[N, M], f32>
nsa.kernel @map(%a: !a, %x: !x) -> (!a, !x) {
  %r = nsa.map(%a) : (!a) -> !a {
  ^bb0(%y: f32):
    %z = arith.negf %y : f32
    nsa.yield %z : f32
  }
  %s = nsa.map(%a, %x) : (!a, !x) -> !x {
  ^bb0(%y: f32, %w: f32):
    nsa.yield %y : f32
  }
  nsa.return %r, %s : !a, !x
})";
  auto results = Kernel(source).run(
      {makeReals({}, {3}), Tensor::zeros(DType::F32, {0, 4})});
  expectReals(results[0], {-3});
  expectReals(results[1], {});
  EXPECT_EQ(results[1].getShape(), llvm::ArrayRef<int64_t>({0, 4}));
}

TEST(MapTest, ResultsHaveTheirElementType) {
  const char *source = R"(
!x = !nsa.tensor<[N], f32>
!h = !nsa.tensor<[N], f16>
!p = !nsa.tensor<[N], i1>
nsa.kernel @map(%x: !x) -> (!h, !p) {
  %h = nsa.map(%x) : (!x) -> !h {
  ^bb0(%a: f32):
    nsa.yield %a : f32
  }
  %p = nsa.map(%x) : (!x) -> !p {
  ^bb0(%a: f32):
    %zero = arith.constant 0.0 : f32
    %c = arith.cmpf ogt, %a, %zero : f32
    nsa.yield %c : i1
  }
  nsa.return %h, %p : !h, !p
})";
  Tensor x = makeReals({3}, {1 + 1. / 4096, -2, 70000});
  auto results = Kernel(source).run({x}, Options{});
  EXPECT_EQ(results[0].getDType(), DType::F16);
  expectReals(results[0], {1, -2, infinity});
  EXPECT_EQ(results[1].getDType(), DType::Bool);
  expectIntegers(results[1], {1, 0, 1});
}

TEST(MapTest, LengthOfTheRaggedRow) {
  const char *source = R"(
!x = !nsa.tensor<[ragged T, H], f32>
nsa.kernel @map(%x: !x, %o: !nsa.tensor<[offsets(T)], i32>) -> !x {
  %r = nsa.map(%x) : (!x) -> !x {
  ^bb0(%a: f32):
    %n = nsa.dim "T"
    %k = arith.index_cast %n : index to i64
    %y = arith.sitofp %k : i64 to f32
    nsa.yield %y : f32
  }
  nsa.return %r : !x
})";
  expectReals(Kernel(source).run({Tensor::zeros(DType::F32, {4, 2}),
                                  makeIntegers({4}, {0, 3, 3, 4})})[0],
              {3, 3, 3, 3, 3, 3, 1, 1});
}

//===----------------------------------------------------------------------===//
// nsa.merge
//===----------------------------------------------------------------------===//

static const char *merge = R"(
!o = !nsa.tensor<[B, T, H, D], f32>
!l = !nsa.tensor<[B, T, H], f32>
nsa.kernel @merge(%a: !o, %b: !o, %c: !o, %la: !l, %lb: !l, %lc: !l) -> (!o, !l) {
  %r, %lr = nsa.merge(%a, %b, %c) lse (%la, %lb, %lc)
      : (!o, !o, !o, !l, !l, !l) -> (!o, !l)
  nsa.return %r, %lr : !o, !l
})";

static std::vector<Tensor> runMerge(llvm::ArrayRef<double> outputs,
                                    llvm::ArrayRef<double> lses) {
  std::vector<Tensor> inputs;
  for (double output : outputs)
    inputs.push_back(makeReals({1, 1, 1, 1}, {output}));
  for (double lse : lses)
    inputs.push_back(makeReals({1, 1, 1}, {lse}));
  return Kernel(merge).run(inputs);
}

TEST(MergeTest, WeighsBranchesByTheirSums) {
  double ln2 = std::log(2.);
  // Sums 1, 2 and 2, outside the range of exp. f32 inputs, hence 1e-4.
  auto results = runMerge({10, 20, 30}, {900, 900 + ln2, 900 + ln2});
  expectReals(results[0], {(10 + 40 + 60) / 5.}, 1e-3);
  expectReals(results[1], {900 + std::log(5.)}, 1e-4);
}

TEST(MergeTest, BranchesThatSeeNothing) {
  auto results = runMerge({10, 0, 0}, {3, -infinity, -infinity});
  expectReals(results[0], {10});
  expectReals(results[1], {3});
  results = runMerge({0, 0, 0}, {-infinity, -infinity, -infinity});
  expectReals(results[0], {0});
  expectReals(results[1], {-infinity});
}

TEST(MergeTest, NonFiniteSums) {
  auto results = runMerge({10, 20, 30}, {3, notANumber, 3});
  expectReals(results[0], {notANumber});
  expectReals(results[1], {notANumber});
  results = runMerge({10, 20, 30}, {3, infinity, 3});
  expectReals(results[0], {notANumber});
  expectReals(results[1], {infinity});
}

TEST(MergeTest, EqualsOneSoftmaxOverAllKeys) {
  // Merges even keys, odd keys, and all keys.
  const char *source = R"(
!q = !nsa.tensor<[B, T, H, D], f32>
!k = !nsa.tensor<[B, S, H, D], f32>
!l = !nsa.tensor<[B, T, H], f32>
nsa.kernel @merge(%q: !q, %k: !k, %v: !k) -> (!q, !l, !q, !l) {
  %e, %le = nsa.attend(%q, %k, %v)
    mask (%b, %h, %t, %i, %j) {
      %one = arith.constant 1 : index
      %zero = arith.constant 0 : index
      %bit = arith.andi %j, %one : index
      %c = arith.cmpi eq, %bit, %zero : index
      nsa.yield %c : i1
    } : (!q, !k, !k) -> (!q, !l)
  %o, %lo = nsa.attend(%q, %k, %v)
    mask (%b, %h, %t, %i, %j) {
      %one = arith.constant 1 : index
      %bit = arith.andi %j, %one : index
      %c = arith.cmpi eq, %bit, %one : index
      nsa.yield %c : i1
    } : (!q, !k, !k) -> (!q, !l)
  %m, %lm = nsa.merge(%e, %o) lse (%le, %lo) : (!q, !q, !l, !l) -> (!q, !l)
  %a, %la = nsa.attend(%q, %k, %v) : (!q, !k, !k) -> (!q, !l)
  nsa.return %m, %lm, %a, %la : !q, !l, !q, !l
})";
  auto results = Kernel(source).run({makeRandom({2, 3, 2, 4}, 1),
                                     makeRandom({2, 9, 2, 4}, 2),
                                     makeRandom({2, 9, 2, 4}, 3)});
  expectReals(results[0], results[2].toReals());
  expectReals(results[1], results[3].toReals());
}
