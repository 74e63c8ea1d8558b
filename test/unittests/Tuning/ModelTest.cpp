//===- ModelTest.cpp - Predicted times of programs ------------------------===//

#include "TuningTest.h"
#include <cmath>

using namespace nsacc;
using namespace nsacc::tuning;
using namespace nsacc::schedule;

namespace {

class ModelTest : public TuningTest {
protected:
  Prediction predictFor(llvm::StringRef text, const DimSizes &sizes,
                        llvm::StringRef schedule, llvm::StringRef device,
                        double agreement = 0) {
    nsa::KernelOp kernel = compile(text);
    Goal goal = getGoal(device);
    return llvm::cantFail(predict(kernel, goal,
                                  llvm::cantFail(Settings::parse(schedule)),
                                  sizes, {agreement}));
  }
};

} // namespace

/// Number of steps of tiles, counted one by one.
static double countOneByOne(int64_t queries, int64_t keys, int64_t tokens,
                            int64_t columns,
                            llvm::function_ref<bool(int64_t, int64_t)> sees) {
  double steps = 0;
  for (int64_t first = 0; first < queries; first += tokens) {
    int64_t low = keys, high = 0;
    for (int64_t t = first; t < std::min(first + tokens, queries); ++t)
      for (int64_t j = 0; j < keys; ++j)
        if (sees(t + keys - queries, j)) {
          low = std::min(low, j);
          high = std::max(high, j + 1);
        }
    steps += std::ceil(static_cast<double>(std::max<int64_t>(high - low, 0)) /
                       static_cast<double>(columns));
  }
  return steps;
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
    for (auto [queries, keys] : {std::pair(640, 640), {130, 900}, {1, 77}})
      for (llvm::StringRef device : {"", "sm_80", "sm_90a"}) {
        SCOPED_TRACE(each.mask.str() + " " + std::to_string(queries));
        std::string text = "kernel f(q: [B, T, 1, 64], k: [B, S, 1, 64]) -> "
                           "[B, T, 1, 64] { return attend(q, k, k)" +
                           each.mask.str() + "; }";
        Prediction found =
            predictFor(text, makeSizes({{"B", 1}, {"T", queries}, {"S", keys}}),
                       "tokens=64, keys=32", device);
        EXPECT_EQ(found.ops[0].tiles, (queries + 63) / 64);
        EXPECT_EQ(found.ops[0].steps,
                  countOneByOne(queries, keys, 64, 32, each.sees));
      }
}

static const char *const kFlash = R"(
kernel f(q: [B, T, 32, 128], k: [B, S, 8, 128], v: [B, S, 8, 128]) -> [B, T, 32, 128] {
  a = attend(q, k, v) where j <= i;
  return a;
})";

/// Many tiles are estimated from some of them.
TEST_F(ModelTest, StepsOfManyTiles) {
  DimSizes sizes = makeSizes({{"B", 1}, {"T", 100000}, {"S", 100000}});
  Prediction found = predictFor(kFlash, sizes, "", "sm_90a");
  double exact = 0;
  for (int64_t tile = 1; tile <= 3125; ++tile)
    exact += 8 * std::ceil(static_cast<double>(32 * tile) / 128);
  EXPECT_EQ(found.ops[0].tiles, 8 * 3125);
  EXPECT_NEAR(found.ops[0].steps, exact, 0.02 * exact);
}

/// A loop of the plan launches a program once for each slice of the results.
/// Some of the slices are counted.
TEST_F(ModelTest, StepsOfAllSlices) {
  llvm::StringRef text = R"(
kernel f(q: [B, T, 8, 64], k: [B, T, 4, 64], v: [B, T, 4, 64]) -> [B, T, 8, 64] {
  a = attend(q, k, v) where j <= i;
  other = attend(q, k, v) where 0 <= i - j < 64;
  return a + other;
})";
  DimSizes sizes = makeSizes({{"B", 2}, {"T", 8192}});
  for (llvm::StringRef device : {"", "sm_90a"}) {
    Prediction whole = predictFor(
        text, sizes, "a: program=own, tokens=32, keys=64, chunk=65536", device);
    Prediction cut = predictFor(
        text, sizes, "a: program=own, tokens=32, keys=64, chunk=1", device);
    EXPECT_EQ(whole.ops[0].tiles, 2 * 4 * 8192 / 32);
    EXPECT_NEAR(cut.ops[0].tiles, whole.ops[0].tiles,
                0.01 * whole.ops[0].tiles);
    EXPECT_NEAR(cut.ops[0].steps, whole.ops[0].steps,
                0.08 * whole.ops[0].steps);
  }
}

TEST_F(ModelTest, EmptyCallsTakeNoWork) {
  DimSizes sizes = makeSizes({{"B", 1}, {"T", 0}, {"S", 0}});
  for (llvm::StringRef device : {"", "sm_90a"}) {
    Prediction found = predictFor(kFlash, sizes, "", device);
    EXPECT_EQ(found.ops[0].steps, 0);
    EXPECT_GE(found.seconds, 0);
  }
}

/// Bounds may depend on numbers that are handed in.
TEST_F(ModelTest, NumbersThatAreHandedIn) {
  DimSizes sizes = makeSizes({{"B", 1}, {"T", 256}, {"S", 256}});
  Prediction found = predictFor(
      "kernel f(q: [B, T, 1, 64], k: [B, S, 1, 64], n: i32) -> [B, T, 1, 64] "
      "{ return attend(q, k, k) where j <= i or j < n; }",
      sizes, "tokens=64, keys=64", "sm_90a");
  EXPECT_EQ(found.ops[0].tiles, 4);
  EXPECT_GE(found.ops[0].steps, 1 + 2 + 3 + 4);
  EXPECT_LE(found.ops[0].steps, 4 * 4);
}

/// The plan says how many parts there are, and a program merges them.
TEST_F(ModelTest, SplitsAreThoseOfThePlan) {
  DimSizes sizes = makeSizes({{"B", 8}, {"T", 1}, {"S", 20000}});
  Prediction whole = predictFor(kFlash, sizes, "splits=1", "sm_90a"),
             parts = predictFor(kFlash, sizes, "splits=8", "sm_90a");
  EXPECT_EQ(whole.ops[0].tiles, 64);
  EXPECT_EQ(parts.ops[0].tiles, 8 * 64);
  EXPECT_NEAR(parts.ops[0].steps, whole.ops[0].steps, 8 * 64);
  Prediction chosen = predictFor(kFlash, sizes, "splits=auto", "sm_90a");
  EXPECT_EQ(chosen.ops[0].tiles, 2 * 64);
}

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

/// A step has the products, exponentials and loads of the fold's body.
TEST_F(ModelTest, StepsHaveTheWorkOfTheirCode) {
  DimSizes sizes = makeSizes({{"B", 1}, {"T", 4096}, {"S", 4096}});
  Prediction found = predictFor(kFlash, sizes, "", "sm_90a");
  Rates rates = Rates::get(getGoal("sm_90a"));
  const StepCycles &step = found.ops[0].step;
  double rows = 128, keys = 128, channels = 128;
  EXPECT_NEAR(step.products, 4 * rows * keys * channels / rates.products, 1e-6);
  EXPECT_NEAR(step.loads, 2 * keys * channels * 2 / rates.cacheBytes, 1e-6);
  EXPECT_GT(step.scores, rows * keys / rates.exponentials);
  EXPECT_LT(step.scores, 2 * rows * keys / rates.exponentials);
  EXPECT_NEAR(found.ops[0].cacheBytes,
              found.ops[0].steps * 2 * keys * channels * 2, 1);
}

/// Times that were measured on an H200 (docs/Rationale/Tuning.md).
TEST_F(ModelTest, PredictedTimesAreNearMeasuredOnes) {
  auto select = [](const std::string &heads) {
    return "kernel f(q: [B, T, " + heads +
           ", 128], k: [B, S, 4, 128], v: [B, S, 4, 128], idx: i32[B, T, 4, "
           "16]) -> [B, T, " +
           heads +
           ", 128] { a = attend(q, k, v) in selection(idx, 64) where j <= i; "
           "return a; }";
  };
  struct Case {
    std::string text;
    int64_t tokens;
    const char *schedule;
    double milliseconds;
  };
  const Case cases[] = {
      {kFlash, 3000, "", 0.123},
      {kFlash, 3000, "a: tokens=48, keys=80, warps=12", 0.117},
      {select("64"), 8192, "", 1.238},
      {select("16"), 32768, "a: order=union", 3.966},
      {select("16"), 32768, "a: order=key_major", 3.675},
      {select("4"), 32768, "a: order=union", 1.805},
      {select("4"), 32768, "a: order=key_major", 1.157},
      {"kernel f(q: [B, T, 8, 128], k: [B, S, 8, 128], v: [B, S, 8, 128], idx: "
       "i32[B, M, 8, 24]) -> [B, T, 8, 128] { a = attend(q, k, v) in "
       "selection(idx, 64, tokens=64); return a; }",
       9000, "a: order=union, tokens=64, keys=64", 0.134}};
  for (const Case &each : cases) {
    SCOPED_TRACE(each.text + " " + each.schedule);
    DimSizes sizes = makeSizes(
        {{"B", 1}, {"T", each.tokens}, {"S", each.tokens}, {"M", 141}});
    double found =
        1e3 * predictFor(each.text, sizes, each.schedule, "sm_90a").seconds;
    EXPECT_NEAR(found / each.milliseconds, 1, 0.25);
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
kernel f(q: [B, T, 8, 128], k: [B, S, 4, 128], v: [B, S, 4, 128], idx: i32[B, T, 4, 16])
    -> [B, T, 8, 128] {
  a = attend(q, k, v) in selection(idx, 64) where j <= i;
  return a;
})";
  DimSizes sizes = makeSizes({{"B", 1}, {"T", 32768}, {"S", 32768}});
  auto get = [&](llvm::StringRef order, double agreement) {
    return predictFor(text, sizes, ("a: order=" + order).str(), "sm_90a",
                      agreement)
        .seconds;
  };
  EXPECT_LT(get("key_major", 0), get("union", 0));
  EXPECT_LT(get("union", 0.95), get("key_major", 0.95));
}

/// A tile of queries that share a list visits the list's blocks, and a few
/// queries visit no more than theirs.
TEST_F(ModelTest, UnionsAreOfListsThatDiffer) {
  const char *text = R"(
kernel f(q: [B, T, 8, 128], k: [B, S, 8, 128], v: [B, S, 8, 128], idx: i32[B, M, 8, 24])
    -> [B, T, 8, 128] {
  a = attend(q, k, v) in selection(idx, 64, tokens=64);
  return a;
})";
  DimSizes sizes = makeSizes({{"B", 1}, {"T", 9000}, {"S", 9000}, {"M", 141}});
  Prediction found =
      predictFor(text, sizes, "a: order=union, tokens=64, keys=64", "sm_90a");
  EXPECT_EQ(found.ops[0].tiles, 8 * 141);
  EXPECT_EQ(found.ops[0].steps, 8 * 141 * 24);
  const char *paged = R"(
kernel f(q: [B, T, 64, 128], k: [B, S, 4, 128], v: [B, S, 4, 128], idx: i32[B, T, 4, 512])
    -> [B, T, 64, 128] {
  a = attend(q, k, v) in selection(idx, 64);
  return a;
})";
  sizes = makeSizes({{"B", 8}, {"T", 1}, {"S", 65536}});
  found = predictFor(
      paged, sizes, "a: order=union, tokens=4, keys=64, splits=auto", "sm_90a");
  EXPECT_EQ(found.ops[0].steps, 8 * 4 * 512);
  EXPECT_LT(
      found.seconds,
      1.5 * found.work.getFloors(Rates::get(getGoal("sm_90a"))).getHighest());
}

/// Each row's blocks are walked, row by row or block by block.
TEST_F(ModelTest, ListsOfRowsAreWalkedInAnyOrder) {
  const char *text = R"(
kernel f(q: [B, T, 8, 64], k: [B, S, 2, 64], v: [B, S, 2, 64], idx: i32[B, T, 2, 12])
    -> [B, T, 8, 64] {
  a = attend(q, k, v) in selection(idx, 64);
  return a;
})";
  DimSizes sizes = makeSizes({{"B", 1}, {"T", 1000}, {"S", 4000}});
  for (llvm::StringRef device : {"", "sm_90a"}) {
    Prediction found = predictFor(
        text, sizes, "a: order=query_major, tokens=16, keys=32", device);
    EXPECT_EQ(found.ops[0].steps, 2 * 1000 * 12 * 2);
  }
  // On a CPU, a walk over all blocks does the same work.
  Prediction found =
      predictFor(text, sizes, "a: order=block_major, tokens=16, keys=64", "");
  EXPECT_NEAR(found.ops[0].steps, 2 * 1000 * 12, 0.01 * 2 * 1000 * 12);
  // Block by block, the queries of each of 63 blocks fill 12 tiles.
  found = predictFor(text, sizes, "a: order=key_major, tokens=16, keys=32",
                     "sm_90a");
  EXPECT_NEAR(found.ops[0].tiles, 2 * 63 * 12, 2);
  EXPECT_NEAR(found.ops[0].steps, 2 * 63 * 12 * 2, 4);
}

/// Programs compare pairs where a bound depends on the batch row or the head,
/// and leave no tile out: steps are the program's, whatever the mask says.
TEST_F(ModelTest, StepsAreThoseOfThePrograms) {
  DimSizes sizes = makeSizes({{"B", 2}, {"T", 256}, {"S", 256}});
  for (const char *where : {"j < 40 * b", "j < 40 * (1 - h)"}) {
    std::string text = "kernel f(q: [B, T, 2, 64], k: [B, S, 2, 64]) -> [B, T, "
                       "2, 64] { return attend(q, k, k) where " +
                       std::string(where) + "; }";
    Prediction found = predictFor(text, sizes, "tokens=64, keys=16", "sm_90a");
    EXPECT_EQ(found.ops[0].tiles, 16) << where;
    EXPECT_EQ(found.ops[0].steps, 16 * 16) << where;
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
  EXPECT_NEAR(predict(1, "16") / predict(1, "1"), 1, 0.01);
  EXPECT_NEAR(predict(16, "64") / predict(16, "16"), 1, 0.01);
  EXPECT_LT(predict(16, "16"), predict(16, "1"));
}
