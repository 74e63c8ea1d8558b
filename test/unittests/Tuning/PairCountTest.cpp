//===- PairCountTest.cpp - Numbers of visible pairs -----------------------===//

#include "PairCount.h"
#include "TuningTest.h"
#include <chrono>
#include <cmath>

using namespace nsacc;
using namespace nsacc::tuning;

namespace {

using Sees = std::function<bool(int64_t i, int64_t j, int64_t h)>;

class PairCountTest : public TuningTest {
protected:
  /// Counts pairs in one batch row of two heads.
  PairCount count(llvm::StringRef where, int64_t queries, int64_t keys,
                  llvm::StringRef in = "", int64_t budget = 1 << 16) {
    std::string text = "kernel f(q: [B, T, H, 16], k: [B, S, H, 16], "
                       "seg: i32[B, S]";
    if (!in.empty())
      text += ", idx: i32[B, T, H, 3]";
    text += ") -> [B, T, H, 16] { return attend(q, k, k) " + in.str() +
            (where.empty() ? "" : " where ") + where.str() + "; }";
    nsa::KernelOp kernel = compile(text);
    DimSizes sizes =
        makeSizes({{"B", 1}, {"T", queries}, {"S", keys}, {"H", 2}});
    return countFor(kernel, sizes, budget);
  }
  static PairCount countFor(nsa::KernelOp kernel, const DimSizes &sizes,
                            int64_t budget = 1 << 16) {
    nsa::AttendOp attend;
    kernel.walk([&](nsa::AttendOp op) { attend = op; });
    return countPairs(
        mlir::cast<nsa::ScoringOpInterface>(attend.getOperation()),
        CallSizes(kernel, sizes), budget);
  }
};

} // namespace

/// Counts pairs one by one, in two heads; `most` is the most of one query.
static uint64_t countOneByOne(int64_t queries, int64_t keys, const Sees &sees,
                              int64_t most = INT64_MAX) {
  int64_t found = 0;
  for (int64_t h = 0; h < 2; ++h)
    for (int64_t t = 0; t < queries; ++t) {
      int64_t row = 0;
      for (int64_t j = 0; j < keys; ++j)
        row += sees(t + keys - queries, j, h);
      found += std::min(row, most);
    }
  return found;
}

static int64_t floordiv(int64_t value, int64_t by) {
  return value >= 0 ? value / by : -((-value + by - 1) / by);
}

static const struct {
  const char *where;
  Sees sees;
} kMasks[] = {
    {"", [](int64_t, int64_t, int64_t) { return true; }},
    {"j <= i", [](int64_t i, int64_t j, int64_t) { return j <= i; }},
    {"j >= i", [](int64_t i, int64_t j, int64_t) { return j >= i; }},
    {"0 <= i - j < 100",
     [](int64_t i, int64_t j, int64_t) { return j <= i && i - j < 100; }},
    {"j < 4 or 0 <= i - j < 16",
     [](int64_t i, int64_t j, int64_t) {
       return j < 4 || (j <= i && i - j < 16);
     }},
    {"2 * j <= i + 3",
     [](int64_t i, int64_t j, int64_t) { return 2 * j <= i + 3; }},
    {"j <= 3 * i - 40",
     [](int64_t i, int64_t j, int64_t) { return j <= 3 * i - 40; }},
    {"j floordiv 64 <= i floordiv 64",
     [](int64_t i, int64_t j, int64_t) {
       return floordiv(j, 64) <= floordiv(i, 64);
     }},
    {"j floordiv 48 <= i floordiv 80 or (i floordiv 7) * 5 - 100 <= j <= i",
     [](int64_t i, int64_t j, int64_t) {
       return floordiv(j, 48) <= floordiv(i, 80) ||
              (floordiv(i, 7) * 5 - 100 <= j && j <= i);
     }},
    {"j <= i and h > 0",
     [](int64_t i, int64_t j, int64_t h) { return j <= i && h > 0; }},
    {"j <= i - 7 * h",
     [](int64_t i, int64_t j, int64_t h) { return j <= i - 7 * h; }},
    {"j < S floordiv 2 and j <= i", nullptr},
};

/// Sizes that used to be counted wrong, and others.
TEST_F(PairCountTest, BoundsAreCountedExactly) {
  for (const auto &mask : kMasks)
    for (auto [queries, keys] : {std::pair(1, 1),
                                 {9, 3},
                                 {1000, 10},
                                 {50, 50},
                                 {500, 500},
                                 {1, 777},
                                 {130, 900},
                                 {700, 300}}) {
      SCOPED_TRACE(std::string(mask.where) + ", " + std::to_string(queries) +
                   " x " + std::to_string(keys));
      int64_t half = keys / 2;
      Sees sees =
          mask.sees ? mask.sees : [half](int64_t i, int64_t j, int64_t) {
            return j < half && j <= i;
          };
      PairCount found = count(mask.where, queries, keys);
      EXPECT_EQ(found.certainty, Certainty::Exact);
      EXPECT_EQ(found.pairs.getWhole(), countOneByOne(queries, keys, sees));
      EXPECT_EQ(found.least, found.pairs);
    }
}

TEST_F(PairCountTest, LongCallsAreCountedExactly) {
  auto get = [&](llvm::StringRef where, int64_t tokens) {
    return count(where, tokens, tokens).pairs.getWhole();
  };
  EXPECT_EQ(get("j <= i", 10000), 10000u * 10001);
  EXPECT_EQ(get("j <= i", int64_t{1} << 31),
            (uint64_t{1} << 31) * ((uint64_t{1} << 31) + 1));
  EXPECT_EQ(get("0 <= i - j < 100", 40000), 2 * (5050u + 39900u * 100));
  EXPECT_EQ(get("0 <= i - j < 100", int64_t{1} << 40),
            2 * (5050 + ((uint64_t{1} << 40) - 100) * 100));
  EXPECT_EQ(get("j floordiv 64 <= i floordiv 64", 64000),
            2 * 64 * 64 * (uint64_t{1000} * 1001 / 2));
  // More pairs than 64 bits can count.
  PairCount found = count("j <= i", int64_t{1} << 40, int64_t{1} << 40);
  EXPECT_FALSE(found.pairs.getWhole());
  EXPECT_NEAR(found.pairs, 0x1p80, 0x1p41);
}

/// Bounds with long periods are evaluated query by query; with more queries,
/// they are sampled.
TEST_F(PairCountTest, LongPeriodsAreEstimatedInTheEnd) {
  const char *where = "j <= (i floordiv 77777) * 77777";
  auto sees = [](int64_t i, int64_t j, int64_t) {
    return j <= floordiv(i, 77777) * 77777;
  };
  PairCount few = count(where, 3000, 3000);
  EXPECT_EQ(few.certainty, Certainty::Exact);
  EXPECT_EQ(few.pairs.getWhole(), countOneByOne(3000, 3000, sees));
  PairCount many = count(where, 77777000, 77777000);
  EXPECT_EQ(many.certainty, Certainty::About);
  double exact = 2.0 * 77777 * (77777.0 * (1000 * 999 / 2) + 1000);
  EXPECT_NEAR(many.pairs, exact, 0.01 * exact);
  EXPECT_EQ(many.least, 0);
}

TEST_F(PairCountTest, MasksWithoutBoundsAreAsked) {
  struct Case {
    const char *where;
    Sees sees;
    double exact;
  };
  const Case cases[] = {
      {"(i - j) mod 3 == 0",
       [](int64_t i, int64_t j, int64_t) { return (i - j) % 3 == 0; },
       2 * 1e6 * 1e6 / 3},
      {"j * j <= i", [](int64_t i, int64_t j, int64_t) { return j * j <= i; },
       2 * 667166500.0},
      {"j <= i and (i - j) mod (1 + h) == 0",
       [](int64_t i, int64_t j, int64_t h) {
         return j <= i && (i - j) % (1 + h) == 0;
       },
       1e6 * 1e6 * 3 / 4}};
  for (const Case &each : cases) {
    SCOPED_TRACE(each.where);
    PairCount few = count(each.where, 150, 170);
    EXPECT_EQ(few.certainty, Certainty::Exact);
    EXPECT_EQ(few.pairs.getWhole(), countOneByOne(150, 170, each.sees));
    PairCount many = count(each.where, 1000000, 1000000, "", 1 << 18);
    EXPECT_EQ(many.certainty, Certainty::About);
    EXPECT_NEAR(many.pairs, each.exact, 0.05 * each.exact);
    // A tuner ends at a certain bound only.
    EXPECT_EQ(many.least, 0);
  }
}

TEST_F(PairCountTest, TablesAndSelectionsAreBoundedByTheMask) {
  auto causal = [](int64_t i, int64_t j, int64_t) { return j <= i; };
  PairCount table = count("j <= i and seg[b, j] == 1", 300, 300);
  EXPECT_EQ(table.certainty, Certainty::AtMost);
  EXPECT_EQ(table.pairs.getWhole(), countOneByOne(300, 300, causal));
  EXPECT_EQ(table.least, 0);
  // Keys whose condition needs no table are visible for any table.
  PairCount sink = count("j < 4 or seg[b, j] == 1", 300, 300);
  EXPECT_EQ(sink.least, 2 * 300 * 4);
  for (int64_t keys : {5, 24, 25, 129, 1000}) {
    SCOPED_TRACE(keys);
    // Three blocks of eight.
    PairCount found = count("j <= i", keys, keys, "in selection(idx, 8)");
    EXPECT_EQ(found.certainty, Certainty::AtMost);
    EXPECT_EQ(found.pairs.getWhole(), countOneByOne(keys, keys, causal, 24));
    EXPECT_EQ(found.least, 0);
  }
}

TEST_F(PairCountTest, RaggedRowsHaveTheirOwnLengths) {
  nsa::KernelOp kernel =
      compile("kernel f(q, k: [ragged T, 2, 16]) -> [ragged T, 2, 16] { return "
              "attend(q, k, k) where j <= i; }");
  DimSizes sizes = makeSizes({{"T", 132}});
  sizes.batchRows = 3;
  EXPECT_EQ(countFor(kernel, sizes).certainty, Certainty::About);
  sizes.offsets["T"] = {0, 5, 5, 132};
  PairCount found = countFor(kernel, sizes);
  EXPECT_EQ(found.certainty, Certainty::Exact);
  EXPECT_EQ(found.pairs.getWhole(), 2u * (15 + 127 * 128 / 2));
}

TEST_F(PairCountTest, EmptyCallsHaveNone) {
  for (auto [queries, keys] : {std::pair(0, 0), {0, 5}, {5, 0}})
    for (const char *where : {"j <= i", "(i - j) mod 3 == 0"})
      EXPECT_EQ(count(where, queries, keys).pairs.getWhole(), 0u);
}

/// The largest sizes take no longer than others.
TEST_F(PairCountTest, TimeDoesNotDependOnSizes) {
  auto begin = std::chrono::steady_clock::now();
  int64_t most = int64_t{1} << 40;
  for (const auto &mask : kMasks)
    EXPECT_GT(count(mask.where, most, most).pairs, 0x1p40);
  EXPECT_GT(count("(i - j) mod 3 == 0", most, most).pairs, 0x1p78);
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - begin;
  EXPECT_LT(seconds.count(), 10);
}

TEST(QuantityTest, StaysAnIntegerWhile64BitsHoldIt) {
  auto of = [](uint64_t value) { return Quantity::ofWhole(value); };
  uint64_t odd = (uint64_t{1} << 60) + 1;
  EXPECT_EQ((of(odd) + of(1)).getWhole(), odd + 1);
  EXPECT_EQ((of(odd) * of(3)).getWhole(), odd * 3);
  EXPECT_FALSE((of(odd) * of(16)).getWhole());
  EXPECT_EQ(of(odd) * of(16), 0x1p64);
  EXPECT_EQ(Quantity::ofReal(2.6).getWhole(), 3u);
  EXPECT_FALSE(Quantity::ofReal(0x1p70).getWhole());
}
