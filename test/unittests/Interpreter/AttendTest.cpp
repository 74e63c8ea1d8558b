//===- AttendTest.cpp - nsa.attend ----------------------------------------===//

#include "InterpreterTestUtil.h"
#include <cmath>

using namespace nsacc;
using namespace nsacc::interpreter;

static const std::string dense = R"(
!q = !nsa.tensor<[B, T, HQ, D], f32>
!k = !nsa.tensor<[B, S, H, D], f32>
!v = !nsa.tensor<[B, S, H, DV], f32>
!o = !nsa.tensor<[B, T, HQ, DV], f32>
!l = !nsa.tensor<[B, T, HQ], f32>
!sink = !nsa.tensor<[HQ], f32>
)";

static const std::string causal = R"(
    mask (%b, %h, %t, %i, %j) {
      %c = arith.cmpi sle, %j, %i : index
      nsa.yield %c : i1
    })";

/// Scores are the products, without a factor.
static const std::string unscaled = R"(
    scale () {
      %one = arith.constant 1.0 : f32
      nsa.yield %one : f32
    })";

static std::string makeSoftmax(const std::string &clauses) {
  return dense + R"(
nsa.kernel @attend(%q: !q {nsa.name = "q"}, %k: !k {nsa.name = "k"}, %v: !v {nsa.name = "v"}) -> (!o, !l) {
  %o, %lse = nsa.attend(%q, %k, %v) )" +
         clauses + R"( : (!q, !k, !v) -> (!o, !l)
  nsa.return %o, %lse : !o, !l
})";
}

static std::string makeWeighted(const std::string &clauses) {
  return dense + R"(
nsa.kernel @attend(%q: !q, %k: !k, %v: !v) -> !o {
  %o = nsa.attend(%q, %k, %v) )" +
         clauses + R"( : (!q, !k, !v) -> !o
  nsa.return %o : !o
})";
}

//===----------------------------------------------------------------------===//
// Against the plain formula
//===----------------------------------------------------------------------===//

struct Shape {
  int64_t b, t, s, hq, h, d, dv;
};

/// Causal softmax attention of the last t of s positions, written out.
static std::vector<double> attendPlainly(const Shape &n, const Tensor &q,
                                         const Tensor &k, const Tensor &v,
                                         std::vector<double> &lse) {
  std::vector<double> qs = q.toReals(), ks = k.toReals(), vs = v.toReals(), out;
  for (int64_t b = 0; b < n.b; ++b)
    for (int64_t t = 0; t < n.t; ++t)
      for (int64_t h = 0; h < n.hq; ++h) {
        std::vector<long double> sums(n.dv, 0);
        long double total = 0;
        int64_t kv = h * n.h / n.hq;
        for (int64_t j = 0; j < n.s && j <= t + n.s - n.t; ++j) {
          long double s = 0;
          for (int64_t d = 0; d < n.d; ++d)
            s += (long double)qs[((b * n.t + t) * n.hq + h) * n.d + d] *
                 ks[((b * n.s + j) * n.h + kv) * n.d + d];
          long double p = expl(s / sqrtl(n.d));
          total += p;
          for (int64_t d = 0; d < n.dv; ++d)
            sums[d] += p * vs[((b * n.s + j) * n.h + kv) * n.dv + d];
        }
        lse.push_back(total == 0 ? -infinity : logl(total));
        for (long double sum : sums)
          out.push_back(total == 0 ? 0 : sum / total);
      }
  return out;
}

class AttendShapeTest : public testing::TestWithParam<Shape> {};

TEST_P(AttendShapeTest, EqualsThePlainFormula) {
  const Shape &n = GetParam();
  Tensor q = makeRandom({n.b, n.t, n.hq, n.d}, 1);
  Tensor k = makeRandom({n.b, n.s, n.h, n.d}, 2);
  Tensor v = makeRandom({n.b, n.s, n.h, n.dv}, 3);
  std::vector<double> lse;
  std::vector<double> expected = attendPlainly(n, q, k, v, lse);
  auto results = Kernel(makeSoftmax(causal)).run({q, k, v}, 2);
  EXPECT_EQ(results[0].getShape(),
            llvm::ArrayRef<int64_t>({n.b, n.t, n.hq, n.dv}));
  expectReals(results[0], expected);
  expectReals(results[1], lse);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AttendShapeTest,
    testing::Values(Shape{2, 9, 9, 3, 3, 16, 16}, // groups of one
                    Shape{1, 7, 7, 6, 2, 8, 24},  // of three
                    Shape{1, 5, 5, 10, 2, 5, 3},  // of five
                    Shape{1, 5, 5, 7, 1, 9, 1},   // of seven
                    Shape{2, 4, 4, 32, 2, 8, 8},  // of sixteen
                    Shape{1, 1, 700, 4, 2, 8, 8}, // decoding, many keys
                    Shape{1, 3, 11, 2, 1, 64, 64},
                    Shape{2, 8, 3, 2, 1, 4, 4}, // more queries than keys
                    Shape{2, 3, 0, 2, 1, 4, 4}, // no keys
                    Shape{2, 0, 5, 2, 1, 4, 4}, // no queries
                    Shape{0, 3, 5, 2, 1, 4, 4}, // no batch
                    Shape{1, 3, 5, 0, 1, 4, 4}, // no query heads
                    Shape{1, 600, 600, 1, 1, 4, 4}));

//===----------------------------------------------------------------------===//
// Clauses, by hand
//===----------------------------------------------------------------------===//

/// Three keys whose scores are 1, 2 and 3 and whose values are 1, 10, 100.

static std::vector<Tensor>
runByHand(const std::string &source, llvm::ArrayRef<double> keys = {1, 2, 3},
          llvm::ArrayRef<double> values = {1, 10, 100}) {
  int64_t s = keys.size();
  return Kernel(source).run({makeReals({1, 1, 1, 1}, {1}),
                             makeReals({1, s, 1, 1}, keys),
                             makeReals({1, s, 1, 1}, values)});
}

TEST(AttendTest, ScaleOfDepthByDefault) {
  Kernel kernel(makeSoftmax(""));
  Tensor q = makeReals({1, 1, 1, 4}, {1, 1, 1, 1});
  Tensor k = makeReals({1, 1, 1, 4}, {3, 0, 0, 0});
  Tensor v = makeReals({1, 1, 1, 1}, {7});
  auto results = kernel.run({q, k, v});
  expectReals(results[0], {7});
  expectReals(results[1], {1.5});
}

TEST(AttendTest, ScoreSeesScoreAndPosition) {
  // s' = 2 s - j: 2, 3, 4
  auto results = runByHand(makeSoftmax(unscaled + R"(
    score (%s, %b, %h, %t, %i, %j) {
      %two = arith.constant 2.0 : f32
      %n = arith.index_cast %j : index to i64
      %x = arith.sitofp %n : i64 to f32
      %d = arith.mulf %s, %two : f32
      %r = arith.subf %d, %x : f32
      nsa.yield %r : f32
    })"));
  double e2 = std::exp(2), e3 = std::exp(3), e4 = std::exp(4);
  expectReals(results[0], {(e2 + 10 * e3 + 100 * e4) / (e2 + e3 + e4)});
  expectReals(results[1], {std::log(e2 + e3 + e4)});
}

TEST(AttendTest, SinkJoinsTheSoftmax) {
  std::string sink = dense + R"(
nsa.kernel @attend(%q: !q, %k: !k, %v: !v, %sink: !sink) -> (!o, !l) {
  %o, %lse = nsa.attend(%q, %k, %v) )" +
                     unscaled + R"(
    mask (%b, %h, %t, %i, %j) {
      %zero = arith.constant 0 : index
      %c = arith.cmpi sgt, %h, %zero : index
      nsa.yield %c : i1
    }
    sink (%b, %h, %t, %i) {
      %x = nsa.table_read %sink[%h] : !sink
      nsa.yield %x : f32
    } : (!q, !k, !v) -> (!o, !l)
  nsa.return %o, %lse : !o, !l
})";
  // Head 0 sees nothing.
  auto results = Kernel(sink).run(
      {makeReals({1, 1, 2, 1}, {1, 1}), makeReals({1, 2, 1, 1}, {1, 2}),
       makeReals({1, 2, 1, 1}, {1, 10}), makeReals({2}, {0.5, 3})});
  double e1 = std::exp(1), e2 = std::exp(2), e3 = std::exp(3);
  expectReals(results[0], {0, (e1 + 10 * e2) / (e1 + e2 + e3)});
  expectReals(results[1], {0.5, std::log(e1 + e2 + e3)});
}

/// w = s'^2
static const std::string square = R"(
    weight (%s, %b, %h, %t, %i, %j) {
      %w = arith.mulf %s, %s : f32
      nsa.yield %w : f32
    })";

TEST(AttendTest, WeightsAreNotNormalised) {
  expectReals(runByHand(makeWeighted(unscaled + square))[0], {1 + 40 + 900});
}

TEST(AttendTest, NormalizeDividesBySumAndVisible) {
  expectReals(runByHand(makeWeighted(unscaled + square + R"(
    normalize (%sum, %visible, %b, %h, %t, %i) {
      %n = arith.index_cast %visible : index to i64
      %x = arith.sitofp %n : i64 to f32
      %r = arith.addf %sum, %x : f32
      nsa.yield %r : f32
    })"))[0],
              {941. / (14 + 3)});
}

TEST(AttendTest, NormalizeIsNotEvaluatedWithoutKeys) {
  std::string divideByVisible = R"(
    normalize (%sum, %visible, %b, %h, %t, %i) {
      %one = arith.constant 1 : index
      %n = arith.floordivsi %one, %visible : index
      %m = arith.index_cast %n : index to i64
      %x = arith.sitofp %m : i64 to f32
      nsa.yield %x : f32
    })";
  std::string source =
      makeWeighted(unscaled + causal + square + divideByVisible);
  expectReals(runByHand(source, {}, {})[0], {0});
  // Keys of score -inf don't take part, either.
  expectReals(runByHand(source, {-infinity}, {5})[0], {0});
}

TEST(AttendTest, VisibleCountsKeysWithoutWeight) {
  expectReals(runByHand(makeWeighted(unscaled + square + R"(
    normalize (%sum, %visible, %b, %h, %t, %i) {
      %n = arith.index_cast %visible : index to i64
      %x = arith.sitofp %n : i64 to f32
      nsa.yield %x : f32
    })"),
                        {-infinity, 2, 3})[0],
              {940. / 3});
}

//===----------------------------------------------------------------------===//
// Non-finite numbers
//===----------------------------------------------------------------------===//

TEST(AttendTest, NaNScoreMakesTheRowNaN) {
  auto results = runByHand(makeSoftmax(unscaled), {1, notANumber, 2});
  expectReals(results[0], {notANumber});
  expectReals(results[1], {notANumber});
}

TEST(AttendTest, InfiniteScoreFollowsTheFormula) {
  auto results = runByHand(makeSoftmax(unscaled), {1, infinity, 2});
  expectReals(results[0], {notANumber});
  expectReals(results[1], {infinity});
}

TEST(AttendTest, MinusInfinityIsAsNotVisible) {
  double e1 = std::exp(1), e3 = std::exp(3);
  auto results =
      runByHand(makeSoftmax(unscaled), {1, -infinity, 3}, {1, notANumber, 100});
  expectReals(results[0], {(e1 + 100 * e3) / (e1 + e3)});
  expectReals(results[1], {std::log(e1 + e3)});

  results =
      runByHand(makeSoftmax(unscaled), {-infinity, -infinity}, {notANumber, 1});
  expectReals(results[0], {0});
  expectReals(results[1], {-infinity});
}

TEST(AttendTest, HiddenKeysAndValuesDontMatter) {
  // Two queries; the first sees key 0 only.
  Kernel kernel(makeSoftmax(unscaled + causal));
  auto results = kernel.run({makeReals({1, 2, 1, 1}, {1, 1}),
                             makeReals({1, 2, 1, 1}, {1, notANumber}),
                             makeReals({1, 2, 1, 1}, {5, infinity})});
  expectReals(results[0], {5, notANumber});
  expectReals(results[1], {1, notANumber});
}

TEST(AttendTest, InfiniteValueUnderVanishingWeight) {
  // exp(-2000) is 0 in fp64: 0 · inf
  expectReals(runByHand(makeSoftmax(unscaled), {0, -2000}, {1, infinity})[0],
              {notANumber});
}

TEST(AttendTest, LargeScoresDontOverflow) {
  auto results = runByHand(makeSoftmax(unscaled), {5000, 5000}, {1, 3});
  expectReals(results[0], {2});
  expectReals(results[1], {5000 + std::log(2.)});
}

TEST(AttendTest, WeightsAddUpToOneAtAnyScore) {
  // A log-sum-exp of 1e17 has too few digits for log 5.
  for (double s : {1e3, 1e9, 1e15, 1e17, 1e30, -1e17, -1e30}) {
    auto results =
        runByHand(makeSoftmax(unscaled), {s, s, s, s, s}, {1, 1, 1, 1, 1});
    expectReals(results[0], {1});
    expectReals(runByHand(makeSoftmax(unscaled), {s, s, s, s}, {1, 2, 4, 5})[0],
                {3});
  }
}

TEST(AttendTest, ASinkAsLargeAsTheScores) {
  const std::string large = R"(
    sink (%b, %h, %t, %i) {
      %x = arith.constant 1.0e+20 : f32
      nsa.yield %x : f32
    })";
  // The sink's constant is rounded to f32, and so are the scores.
  double s = 1e20f;
  expectReals(runByHand(makeSoftmax(unscaled + large), {s, s, s}, {4, 4, 4})[0],
              {3});
}

TEST(AttendTest, LargeScoresReachProbabilitiesAndMerges) {
  Kernel kernel(dense + R"(
!p = !nsa.tensor<[B, T, HQ, S], f32>
nsa.kernel @large(%q: !q, %k: !k, %v: !v) -> (!p, !o) {
  %a, %la = nsa.attend(%q, %k, %v) )" +
                unscaled + R"( : (!q, !k, !v) -> (!o, !l)
  %c, %lc = nsa.attend(%q, %k, %v) )" +
                unscaled + R"(
    mask (%b, %h, %t, %i, %j) {
      %zero = arith.constant 0 : index
      %first = arith.cmpi eq, %j, %zero : index
      nsa.yield %first : i1
    } : (!q, !k, !v) -> (!o, !l)
  %p = nsa.importance prob heads none (%q, %k) lse %la )" +
                unscaled + R"( : (!q, !k, !l) -> !p
  %m, %lm = nsa.merge(%a, %c) lse (%la, %lc) : (!o, !o, !l, !l) -> (!o, !l)
  nsa.return %p, %m : !p, !o
})");
  for (double s : {1e3, 1e9, 1e17, 1e30}) {
    auto results = kernel.run({makeReals({1, 1, 1, 1}, {1}),
                               makeReals({1, 4, 1, 1}, {s, s, s, s}),
                               makeReals({1, 4, 1, 1}, {6, 1, 1, 2})});
    expectReals(results[0], {0.25, 0.25, 0.25, 0.25});
    expectReals(results[1], {(6 + 1 + 1 + 2 + 6) / 5.});
  }
}
