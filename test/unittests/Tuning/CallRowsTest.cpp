//===- CallRowsTest.cpp - Masks that depend on batch rows and heads -------===//

#include "nsacc/Tuning/CallRows.h"
#include "PairCount.h"
#include "TuningTest.h"
#include <random>

using namespace nsacc;
using namespace nsacc::tuning;

namespace {

/// A mask of one call, and its value computed independently.
struct CallShape {
  int64_t batch, keyHeads, group, queries, keys;
};
using SeesInCall =
    std::function<bool(int64_t b, int64_t h, int64_t i, int64_t j)>;

/// Pairs, and keys that some query of their key head sees, counted one by one.
struct CountedCall {
  int64_t pairs = 0, keys = 0;

  CountedCall(const CallShape &shape, const SeesInCall &sees) {
    for (int64_t b = 0; b < shape.batch; ++b)
      for (int64_t head = 0; head < shape.keyHeads; ++head)
        for (int64_t j = 0; j < shape.keys; ++j) {
          int64_t seen = 0;
          for (int64_t h = head * shape.group; h < (head + 1) * shape.group;
               ++h)
            for (int64_t t = 0; t < shape.queries; ++t)
              seen += sees(b, h, t + shape.keys - shape.queries, j);
          pairs += seen;
          keys += seen > 0;
        }
  }
};

class CallRowsTest : public TuningTest {
protected:
  PairCount count(nsa::KernelOp kernel, const DimSizes &sizes,
                  int64_t budget = 1 << 22) {
    nsa::AttendOp attend = *kernel.getOps<nsa::AttendOp>().begin();
    return countPairs(
        mlir::cast<nsa::ScoringOpInterface>(attend.getOperation()),
        CallSizes(kernel, sizes), budget);
  }
  PairCount count(const std::string &where, const CallShape &shape,
                  int64_t budget = 1 << 22) {
    return count(compile("kernel f(q: [B, T, HQ, 16], k: [B, S, H, 16]) -> [B, "
                         "T, HQ, 16] { return attend(q, k, k) where " +
                         where + "; }"),
                 makeSizes({{"B", shape.batch},
                            {"T", shape.queries},
                            {"S", shape.keys},
                            {"HQ", shape.keyHeads * shape.group},
                            {"H", shape.keyHeads}}),
                 budget);
  }
  /// Checks that counts are exact, or that estimates aren't far off.
  void check(const std::string &where, const CallShape &shape,
             const SeesInCall &sees, double tolerance = 0.03) {
    SCOPED_TRACE(where + ", B=" + std::to_string(shape.batch) +
                 ", H=" + std::to_string(shape.keyHeads) + " x " +
                 std::to_string(shape.group) +
                 ", T=" + std::to_string(shape.queries) +
                 ", S=" + std::to_string(shape.keys));
    CountedCall truth(shape, sees);
    PairCount found = count(where, shape);
    auto all = static_cast<double>(shape.batch * shape.keyHeads * shape.keys);
    if (found.certainty != Certainty::Exact) {
      EXPECT_EQ(found.certainty, Certainty::About);
      auto exact = static_cast<double>(truth.pairs);
      EXPECT_NEAR(found.pairs, exact, tolerance * exact);
      EXPECT_EQ(found.least, 0);
      return;
    }
    EXPECT_EQ(found.pairs, truth.pairs);
    EXPECT_EQ(found.least, truth.pairs);
    EXPECT_DOUBLE_EQ(found.seenKeys * all, static_cast<double>(truth.keys));
    EXPECT_LE(found.leastSeenKeys, found.seenKeys);
  }
};

} // namespace

TEST(SpreadTest, CountsAddUp) {
  for (int64_t all : {0, 1, 15, 16, 17, 23, 24, 25, 383, 384, 400, 100000})
    for (int64_t most : {1, 16, 256}) {
      int64_t sum = 0, before = -1;
      for (auto [number, count] : spread(all, most)) {
        EXPECT_GT(number, before);
        EXPECT_LT(number, all);
        before = number;
        sum += count;
      }
      EXPECT_EQ(sum, all);
    }
}

/// For 1.5 times 256 and its neighbours, estimates used to be wrong by a third.
TEST_F(CallRowsTest, EstimatesAreScaledByHowManyThereAre) {
  for (int64_t count :
       {255, 256, 257, 300, 383, 384, 385, 400, 511, 513, 700}) {
    check("j <= i + b", {count, 1, 1, 40, 300},
          [](int64_t b, int64_t, int64_t i, int64_t j) { return j <= i + b; });
    check("j <= i + h mod 3", {1, count, 1, 40, 40},
          [](int64_t, int64_t h, int64_t i, int64_t j) {
            return j <= i + h % 3;
          });
    check("j <= i + h mod 3", {1, 1, count, 40, 40},
          [](int64_t, int64_t h, int64_t i, int64_t j) {
            return j <= i + h % 3;
          });
    // Equal rows, whose equality the mask can't show.
    check(
        "j <= i + h floordiv 100000", {1, count, 1, 9, 9},
        [](int64_t, int64_t, int64_t i, int64_t j) { return j <= i; }, 0);
  }
}

TEST_F(CallRowsTest, RaggedRowsOfAnyLengths) {
  nsa::KernelOp kernel =
      compile("kernel f(q: [ragged T, 2, 16], k: [ragged S, 2, 16]) -> [ragged "
              "T, 2, 16] { return attend(q, k, k) where j <= i; }");
  std::mt19937 random(1);
  auto checkRows = [&](const std::vector<int64_t> &queries,
                       const std::vector<int64_t> &keys, bool isExact) {
    SCOPED_TRACE(queries.size());
    DimSizes sizes;
    sizes.batchRows = static_cast<int64_t>(queries.size());
    int64_t pairs = 0;
    for (auto [name, lengths] : {std::pair("T", &queries), {"S", &keys}}) {
      auto &offsets = sizes.offsets[name];
      offsets = {0};
      for (int64_t length : *lengths)
        offsets.push_back(offsets.back() + length);
      sizes.sizes[name] = offsets.back();
    }
    for (auto [count, all] : llvm::zip(queries, keys))
      for (int64_t t = 0; t < count; ++t)
        pairs += 2 * std::clamp<int64_t>(t + all - count + 1, 0, all);
    PairCount found = count(kernel, sizes);
    if (isExact) {
      EXPECT_EQ(found.certainty, Certainty::Exact);
      EXPECT_EQ(found.pairs, pairs);
    } else {
      EXPECT_NEAR(found.pairs, static_cast<double>(pairs), 0.03 * pairs);
    }
  };
  for (size_t rows : {1, 255, 256, 257, 300, 383, 384, 385, 400, 513, 1000}) {
    checkRows(std::vector<int64_t>(rows, 7), std::vector<int64_t>(rows, 9),
              true);
    // One row has most of the work.
    std::vector<int64_t> lengths(rows, 1);
    for (size_t longest : {size_t{0}, rows / 2, rows - 1}) {
      lengths.assign(rows, 1);
      lengths[longest] = 3000;
      checkRows(lengths, lengths, true);
    }
    std::vector<int64_t> queries, keys;
    for (size_t row = 0; row < rows; ++row) {
      queries.push_back(std::uniform_int_distribution<int64_t>(0, 90)(random));
      keys.push_back(std::uniform_int_distribution<int64_t>(0, 90)(random));
    }
    checkRows(queries, keys, rows <= 256);
  }
}

/// Without lengths, tokens are divided evenly among rows, and none is lost.
TEST_F(CallRowsTest, AverageRowsHaveAllTokens) {
  nsa::KernelOp kernel =
      compile("kernel f(q: [ragged T, 2, 16], k: [ragged S, 2, 16]) -> [ragged "
              "T, 2, 16] { return attend(q, k, k); }");
  DimSizes sizes = makeSizes({{"T", 100}, {"S", 950}});
  sizes.batchRows = 383;
  auto attend = *kernel.getOps<nsa::AttendOp>().begin();
  CallRows rows(mlir::cast<nsa::ScoringOpInterface>(attend.getOperation()),
                CallSizes(kernel, sizes), 256);
  int64_t queries = 0, keys = 0, all = 0;
  for (const BatchRows &row : rows.rows) {
    all += row.count;
    queries += row.count * row.sizes.sizes.lookup("T");
    keys += row.count * row.sizes.sizes.lookup("S");
  }
  EXPECT_EQ(all, 383);
  EXPECT_EQ(queries, 100);
  EXPECT_EQ(keys, 950);
  EXPECT_FALSE(rows.areAll);
}

/// Compares random masks of batch rows and query heads with all pairs.
TEST_F(CallRowsTest, RandomMasks) {
  std::mt19937 random(3);
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  auto floorDiv = [](int64_t value, int64_t by) {
    return value >= 0 ? value / by : -((by - 1 - value) / by);
  };
  for (int trial = 0; trial < 150; ++trial) {
    CallShape shape = {draw(1, 3), draw(1, 3), draw(1, 4), draw(1, 40),
                       draw(1, 60)};
    int64_t first = draw(-30, 30), ofRow = draw(-9, 9), ofHead = draw(-9, 9),
            period = draw(1, 4), stride = draw(1, 12), width = draw(1, 12);
    auto spell = [](int64_t number) {
      return "(" + std::to_string(number) + ")";
    };
    std::string move = spell(first) + " + b * " + spell(ofRow) + " + (h mod " +
                       spell(period) + ") * " + spell(ofHead);
    auto getMove = [=](int64_t b, int64_t h) {
      return first + b * ofRow + h % period * ofHead;
    };
    switch (trial % 4) {
    case 0:
      check("j < " + move, shape,
            [=](int64_t b, int64_t h, int64_t, int64_t j) {
              return j < getMove(b, h);
            });
      break;
    case 1:
      check("0 <= i - j + " + move + " < " + spell(width), shape,
            [=](int64_t b, int64_t h, int64_t i, int64_t j) {
              int64_t at = i - j + getMove(b, h);
              return at >= 0 && at < width;
            });
      break;
    case 2:
      // Keys with gaps between them.
      check("j >= i * " + spell(stride) + " + " + move + " and j < i * " +
                spell(stride) + " + " + spell(width) + " + " + move,
            shape, [=](int64_t b, int64_t h, int64_t i, int64_t j) {
              int64_t low = i * stride + getMove(b, h);
              return j >= low && j < low + width;
            });
      break;
    default:
      check("(i * j + " + move + ") floordiv " + spell(width) + " == 3", shape,
            [=](int64_t b, int64_t h, int64_t i, int64_t j) {
              return floorDiv(i * j + getMove(b, h), width) == 3;
            });
    }
  }
}

/// The query head of a group that sees the most keys counts, not an average.
TEST_F(CallRowsTest, KeysAreThoseThatAnyHeadOfAGroupSees) {
  PairCount half = count("j < 1000 * (h mod 2)", {1, 1, 2, 1, 1000});
  EXPECT_EQ(half.seenKeys, 1);
  EXPECT_EQ(half.pairs, 1000);
  PairCount wider = count("j < 20 * h", {3, 2, 3, 5, 100});
  EXPECT_DOUBLE_EQ(wider.seenKeys * 200, 40 + 100);
  PairCount none = count("i < 0", {1, 1, 1, 8, 8});
  EXPECT_EQ(none.pairs, 0);
  EXPECT_EQ(none.certainty, Certainty::Exact);
  EXPECT_EQ(none.seenKeys, 0);
}

/// A result from too few places isn't an estimate.
TEST_F(CallRowsTest, FewFindsAreNoEstimate) {
  for (const char *where :
       {"i * j == 3000", "i * j == 77", "(i * i + j) mod 1000003 == 5",
        "i mod 100003 == 77 and j * j < i"})
    for (int64_t tokens : {3000, 300000}) {
      SCOPED_TRACE(std::string(where) + ", " + std::to_string(tokens));
      PairCount found = count(where, {1, 1, 1, tokens, tokens});
      if (found.certainty == Certainty::Exact)
        continue;
      EXPECT_EQ(found.certainty, Certainty::AtMost);
      EXPECT_EQ(found.pairs,
                static_cast<double>(tokens) * static_cast<double>(tokens));
      EXPECT_EQ(found.least, 0);
    }
  int64_t most = int64_t{1} << 40;
  PairCount found = count("j <= i and i * j == 3000", {1, 1, 1, most, most});
  EXPECT_EQ(found.certainty, Certainty::AtMost);
  EXPECT_NEAR(found.pairs, 0x1p79, 0x1p60);
}
