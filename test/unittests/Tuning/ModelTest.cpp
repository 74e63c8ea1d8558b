//===- ModelTest.cpp - Predicted times of programs ------------------------===//

#include "TileSteps.h"
#include "TuningTest.h"
#include <cmath>

using namespace nsacc;
using namespace nsacc::tuning;
using namespace nsacc::schedule;

namespace {

class ModelTest : public TuningTest {
protected:
  TileSteps count(llvm::StringRef mask, int64_t queries, int64_t keys,
                  double tokens, double columns) {
    std::string text =
        ("kernel f(q: [B, T, H, 64], k: [B, S, H, 64]) -> [B, T, H, 64] { "
         "return attend(q, k, k)" +
         mask + "; }")
            .str();
    nsa::KernelOp kernel = compile(text);
    DimSizes sizes =
        makeSizes({{"B", 1}, {"T", queries}, {"S", keys}, {"H", 1}});
    auto attend = *kernel.getOps<nsa::AttendOp>().begin();
    return countSteps(
        mlir::cast<nsa::ScoringOpInterface>(attend.getOperation()),
        CallSizes(kernel, sizes), tokens, columns);
  }
  Prediction predictFor(llvm::StringRef text, const DimSizes &sizes,
                        llvm::StringRef schedule, llvm::StringRef device,
                        double agreement = 0) {
    nsa::KernelOp kernel = compile(text);
    Goal goal = getGoal(device);
    auto choice = llvm::cantFail(
        choose(kernel, goal, llvm::cantFail(Settings::parse(schedule))));
    return predict(kernel, goal, choice, sizes, {agreement});
  }
};

} // namespace

/// Steps of tiles, counted one by one.
static TileSteps
countOneByOne(int64_t queries, int64_t keys, int64_t tokens, int64_t columns,
              llvm::function_ref<bool(int64_t, int64_t)> sees) {
  TileSteps found;
  for (int64_t first = 0; first < queries; first += tokens) {
    int64_t low = keys, high = 0;
    for (int64_t t = first; t < std::min(first + tokens, queries); ++t)
      for (int64_t j = 0; j < keys; ++j)
        if (sees(t + keys - queries, j)) {
          low = std::min(low, j);
          high = std::max(high, j + 1);
        }
    double steps =
        std::ceil(static_cast<double>(std::max<int64_t>(high - low, 0)) /
                  static_cast<double>(columns));
    ++found.tiles;
    found.steps += steps;
    found.mostSteps = std::max(found.mostSteps, steps);
  }
  return found;
}

TEST_F(ModelTest, StepsAreThoseOfTheMask) {
  struct Case {
    llvm::StringLiteral mask;
    std::function<bool(int64_t, int64_t)> sees;
  };
  const Case cases[] = {
      {"", [](int64_t, int64_t) { return true; }},
      {" where j <= i", [](int64_t i, int64_t j) { return j <= i; }},
      {" where 0 <= i - j < 100",
       [](int64_t i, int64_t j) { return i - j >= 0 && i - j < 100; }},
      {" where j >= i", [](int64_t i, int64_t j) { return j >= i; }}};
  for (const Case &each : cases)
    for (auto [queries, keys] : {std::pair(640, 640), {130, 900}, {1, 77}}) {
      SCOPED_TRACE(each.mask.str() + " " + std::to_string(queries));
      TileSteps found = count(each.mask, queries, keys, 64, 32);
      TileSteps exact = countOneByOne(queries, keys, 64, 32, each.sees);
      EXPECT_EQ(found.tiles, exact.tiles);
      EXPECT_NEAR(found.steps, exact.steps, 1);
      EXPECT_EQ(found.mostSteps, exact.mostSteps);
    }
}

TEST_F(ModelTest, MoreTilesThanAreLookedAt) {
  TileSteps found = count(" where j <= i", 64 * 1000, 64 * 1000, 64, 64);
  EXPECT_EQ(found.mostSteps, 1000);
}

TEST_F(ModelTest, EmptyCallsTakeNoWork) {
  TileSteps found = count(" where j <= i", 0, 0, 64, 64);
  EXPECT_EQ(found.steps, 0);
}

static const char *const kFlash = R"(
kernel f(q: [B, T, 32, 128], k: [B, S, 8, 128], v: [B, S, 8, 128]) -> [B, T, 32, 128] {
  a = attend(q, k, v) where j <= i;
  return a;
})";

TEST_F(ModelTest, FloorsAreOfTheUsefulWork) {
  DimSizes sizes = makeSizes({{"B", 1}, {"T", 4096}, {"S", 4096}});
  Prediction found = predictFor(kFlash, sizes, "", "sm_90a");
  double pairs = 32.0 * 4096 * 4097 / 2;
  EXPECT_EQ(found.ops[0].work.pairs, pairs);
  EXPECT_EQ(found.ops[0].work.operations, 512 * pairs);
  EXPECT_EQ(found.ops[0].work.bytes, 2.0 * 4096 * 128 * (32 + 8 + 8 + 32));
  EXPECT_GT(found.seconds, found.leastSeconds);
  EXPECT_LT(found.seconds, 4 * found.leastSeconds);
}

/// A tuner ends when it reaches a floor: the floor excludes work that a run may
/// hide.
TEST_F(ModelTest, FloorsHoldWhateverARunHides) {
  DimSizes sizes = makeSizes({{"B", 1}, {"T", 4096}, {"S", 4096}});
  double causal = predictFor(kFlash, sizes, "", "sm_90a").leastSeconds;
  EXPECT_GT(causal, 0);
  auto getFloor = [&](const char *inputs, const char *clauses) {
    std::string text =
        std::string("kernel f(q: [B, T, 32, 128], k: [B, S, 8, 128], v: [B, S, "
                    "8, 128]") +
        inputs + ") -> [B, T, 32, 128] { return attend(q, k, v)" + clauses +
        "; }";
    return predictFor(text, sizes, "", "sm_90a").leastSeconds;
  };
  EXPECT_LT(getFloor(", seg: i32[B, S]", " where j <= i and seg[b, j] == 0"),
            causal / 2);
  EXPECT_LT(getFloor(", idx: i32[B, T, 8, 16]",
                     " in selection(idx, 64) where j <= i"),
            causal / 2);
  // An estimate from sampled pairs may be too high.
  EXPECT_LT(getFloor("", " where (i - j) mod 3 == 0"), causal / 10);
}

/// A window of one query reads a hundred of many keys.
TEST_F(ModelTest, KeysThatNobodySeesNeedNotBeRead) {
  const char *text = R"(
kernel f(q: [B, T, 1, 64], k: [B, S, 1, 64], v: [B, S, 1, 64]) -> [B, T, 1, 64] {
  return attend(q, k, v) where 0 <= i - j < 100;
})";
  DimSizes sizes = makeSizes({{"B", 1}, {"T", 1}, {"S", 1000000}});
  EXPECT_EQ(predictFor(text, sizes, "", "").work.bytes, 128.0 * (2 + 200));
  sizes.sizes["T"] = 1000000;
  EXPECT_EQ(predictFor(text, sizes, "", "").work.bytes, 128.0 * 4000000);
}

/// Scores of a selection count once, whichever program computes them, and
/// aren't exponentials if nothing normalizes them.
TEST_F(ModelTest, ScoresOfSelectionsCountOnce) {
  const char *text = R"(
kernel f(q: [B, T, 1, 64], k: [B, S, 1, 64], v: [B, S, 1, 64]) -> [B, T, 1, 64] {
  gist = attend(q, pool(k, 64)) where end(j) <= i;
  sel = topk(score(gist, heads=none), 3) keep last 1;
  return attend(q, k, v) in sel where j <= i;
})";
  DimSizes sizes = makeSizes({{"B", 1}, {"T", 640}, {"S", 640}});
  Prediction found = predictFor(text, sizes, "", "sm_90a");
  double pairs = 0, exponentials = 0;
  for (const auto &op : found.ops) {
    pairs += op.work.pairs;
    exponentials += op.work.exponentials;
  }
  // Windows that end before a query, and three blocks of each query.
  double windows = 0, selected = 0;
  for (int64_t i = 0; i < 640; ++i) {
    windows += static_cast<double>(i / 64);
    selected += static_cast<double>(std::min<int64_t>(i + 1, 192));
  }
  EXPECT_EQ(pairs, windows + selected);
  EXPECT_EQ(exponentials, selected);
  EXPECT_EQ(found.work.pairs, pairs);
  EXPECT_EQ(found.work.operations, 128 * windows + 256 * selected);
}

TEST_F(ModelTest, ThreadsAreThoseThatRunsHave) {
  EXPECT_EQ(Rates::get(getGoal(""), 3).units, 3);
  EXPECT_EQ(Rates::get(getGoal("sm_90a"), 3).units, 132);
}

TEST_F(ModelTest, LongerCallsTakeLonger) {
  double before = 0;
  for (int64_t tokens : {1000, 3000, 9000, 27000}) {
    DimSizes sizes = makeSizes({{"B", 1}, {"T", tokens}, {"S", tokens}});
    double seconds = predictFor(kFlash, sizes, "", "sm_90a").seconds;
    EXPECT_GT(seconds, 2 * before);
    before = seconds;
  }
}

/// Narrow key tiles of one warpgroup are slower, as measured on an H200.
TEST_F(ModelTest, RanksTilesAsTheyWereMeasured) {
  DimSizes sizes = makeSizes({{"B", 1}, {"T", 3000}, {"S", 3000}});
  auto get = [&](llvm::StringRef schedule) {
    return predictFor(kFlash, sizes, schedule, "sm_90a").seconds;
  };
  double wide = get("tokens=48, keys=80, warps=12"),
         usual = get("tokens=32, keys=128, warps=8"),
         narrow = get("tokens=16, keys=32, warps=4");
  EXPECT_LT(wide, usual);
  EXPECT_LT(1.2 * usual, narrow);
}

/// Lists that neighbours don't share are faster block by block, and shared
/// lists are faster together, as measured on an H200.
TEST_F(ModelTest, OrdersDependOnHowMuchNeighboursAgree) {
  const char *text = R"(
kernel f(q: [B, T, 16, 64], k: [B, S, 4, 64], v: [B, S, 4, 64], idx: i32[B, T, 4, 12])
    -> [B, T, 16, 64] {
  a = attend(q, k, v) in selection(idx, 64) where j <= i;
  return a;
})";
  DimSizes sizes = makeSizes({{"B", 1}, {"T", 9000}, {"S", 9000}});
  auto get = [&](llvm::StringRef order, double agreement) {
    return predictFor(text, sizes, ("a: order=" + order).str(), "sm_90a",
                      agreement)
        .seconds;
  };
  EXPECT_LT(get("key_major", 0), get("union", 0));
  EXPECT_LT(get("union", 0.95), get("key_major", 0.95));
}

/// Steps count all batch rows and heads, not only the first and the middle one.
TEST_F(ModelTest, StepsAreThoseOfAllRowsAndHeads) {
  DimSizes sizes = makeSizes({{"B", 2}, {"T", 256}, {"S", 256}, {"H", 2}});
  auto predictWith = [&](const std::string &where) {
    return predictFor("kernel f(q: [B, T, H, 64], k: [B, S, H, 64]) -> [B, T, "
                      "H, 64] { return attend(q, k, k) where " +
                          where + "; }",
                      sizes, "tokens=64, keys=16", "sm_90a");
  };
  for (const char *where :
       {"j < 40 * b", "j < 40 * (1 - b)", "j < 40 * h", "j < 40 * (1 - h)"}) {
    SCOPED_TRACE(where);
    Prediction found = predictWith(where);
    // Four tiles of each row and head; half of them have three steps.
    EXPECT_EQ(found.ops[0].tiles, 16);
    EXPECT_EQ(found.ops[0].steps, 8 * 3);
    // A tile has one batch row, but several heads: its mask is evaluated for
    // each pair.
    double seconds = predictWith("j < 40 * b").seconds;
    EXPECT_NEAR(found.seconds, seconds, 0.01 * seconds);
  }
}

/// Each ragged row has separate tiles, also within a selection.
TEST_F(ModelTest, TilesAreThoseOfRaggedRows) {
  DimSizes sizes = makeSizes({{"T", 132}});
  sizes.batchRows = 3;
  sizes.offsets["T"] = {0, 5, 5, 132};
  for (llvm::StringRef in : {"", " in selection(idx, 16)"}) {
    std::string text =
        "kernel f(q, k: [ragged T, 2, 64], idx: i32[ragged T, 2, 3]) -> "
        "[ragged T, 2, 64] { return attend(q, k, k)" +
        in.str() + " where j <= i; }";
    Prediction found = predictFor(
        text, sizes, in.empty() ? "tokens=16" : "tokens=16, order=union",
        "sm_80");
    EXPECT_EQ(found.ops[0].tiles, 2 * (1 + 8)) << in.str();
  }
}

// CPUs don't compute rows past the end of a tensor.
TEST_F(ModelTest, AFewQueriesCostAsMuchInAnyTile) {
  auto predict = [&](int64_t queries, llvm::StringRef tokens) {
    return predictFor("kernel f(q: f32[B, T, 8, 64], k: f32[B, S, 2, 64]) -> "
                      "f32[B, T, "
                      "8, 64] { a = attend(q, k, k); return a; }",
                      makeSizes({{"B", 1}, {"T", queries}, {"S", 8192}}),
                      ("a: keys=64, tokens=" + tokens).str(), "")
        .seconds;
  };
  EXPECT_DOUBLE_EQ(predict(1, "16"), predict(1, "1"));
  EXPECT_DOUBLE_EQ(predict(16, "64"), predict(16, "16"));
  EXPECT_LT(predict(16, "16"), predict(16, "1"));
}
