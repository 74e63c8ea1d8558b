//===- TopKTest.cpp - nsa.topk and nsa.indices ----------------------------===//

#include "InterpreterTestUtil.h"
#include "Values.h"

using namespace nsacc;
using namespace nsacc::interpreter;

/// topk of scores from an input, over blocks of two tokens. `x` has the number
/// of tokens.
static std::string makeTopK(const std::string &clauses, int width,
                            bool count = false) {
  std::string top = std::to_string(width);
  std::string operands = count ? "(!p, !c)" : "(!p)";
  return R"(
!s = !nsa.tensor<[B, T, H, N], f32>
!p = !nsa.tensor<[B, T, H, blocks(S, 2)], f32>
!x = !nsa.tensor<[S], f32>
!c = !nsa.tensor<[B, T, H], i32>
!sel = !nsa.selection<[B, T, H], top = )" +
         top + R"(, block = 2, of = S>
!i = !nsa.tensor<[B, T, H, )" +
         top + R"(], i32>
nsa.kernel @topk(%s: !s {nsa.name = "scores"}, %x: !x, %c: !c {nsa.name = "counts"}) -> !i {
  %p = nsa.declare_blocks %s : !s -> !p
  %sel = nsa.topk %p )" +
         (count ? "count %c " : "") + clauses + " : " + operands + R"( -> !sel
  %i = nsa.indices %sel : !sel -> !i
  nsa.return %i : !i
})";
}

/// One query at the last position, one head.
static Tensor select(const std::string &clauses, int width,
                     llvm::ArrayRef<double> scores) {
  int64_t n = scores.size();
  return Kernel(makeTopK(clauses, width))
      .run({makeReals({1, 1, 1, n}, scores), Tensor::zeros(DType::F32, {2 * n}),
            Tensor::zeros(DType::I32, {1, 1, 1})})[0];
}

TEST(TopKTest, DescendingScoreAscendingIndices) {
  expectIntegers(select("top 3", 3, {1, 5, 2, 4, 3}), {1, 3, 4});
  expectIntegers(select("top 1", 1, {1, 5, 2, 4, 3}), {1});
}

TEST(TopKTest, TiesGoToTheLowerIndex) {
  expectIntegers(select("top 2", 2, {1, 1, 1, 1}), {0, 1});
  expectIntegers(select("top 2", 2, {0, 2, -1, 2, 2}), {1, 3});
  expectIntegers(select("top 1", 1, {-0., 0.}), {0});
}

TEST(TopKTest, NaNBehindEveryNumber) {
  expectIntegers(select("top 2", 2, {notANumber, -5, notANumber, -1000}),
                 {1, 3});
  expectIntegers(select("top 3", 3, {notANumber, -5, notANumber, -1000}),
                 {0, 1, 3});
  expectIntegers(select("top 2", 2, {notANumber, infinity, notANumber, absent}),
                 {0, 1});
}

TEST(TopKTest, AbsentBlocksAreNotChosen) {
  expectIntegers(select("top 3", 3, {absent, 1, absent, 2}), {1, 3, -1});
  expectIntegers(select("top 2", 2, {absent, absent}), {-1, -1});
}

TEST(TopKTest, MoreThanThereAre) {
  expectIntegers(select("top 4", 4, {2, 1}), {0, 1, -1, -1});
  expectIntegers(select("top 2", 2, {}), {-1, -1});
  // Blocks that don't exist take neither time nor memory.
  const char *source = R"(
!s = !nsa.tensor<[B, T, H, N], f32>
!p = !nsa.tensor<[B, T, H, blocks(S, 2)], f32>
!k = !nsa.tensor<[B, S, H, D], f32>
!q = !nsa.tensor<[B, T, H, D], f32>
!sel = !nsa.selection<[B, T, H], top = 2147483647, block = 2, of = S>
nsa.kernel @all(%s: !s, %q: !q, %k: !k) -> !q {
  %p = nsa.declare_blocks %s : !s -> !p
  %sel = nsa.topk %p top 147483647 plus first 1000000000 last 1000000000 : (!p) -> !sel
  %o = nsa.attend(%q, %k, %k) in %sel
    weight (%a, %b, %h, %t, %i, %j) {
      %one = arith.constant 1.0 : f32
      nsa.yield %one : f32
    } : (!q, !k, !k, !sel) -> !q
  nsa.return %o : !q
})";
  expectReals(Kernel(source).run({makeReals({1, 1, 1, 2}, {absent, absent}),
                                  makeReals({1, 1, 1, 1}, {1}),
                                  makeReals({1, 3, 1, 1}, {1, 10, 100})})[0],
              {111});
}

TEST(TopKTest, ForcedBlocksCountWithinTop) {
  // The query is at the last position: its own block is 4.
  llvm::SmallVector<double> scores = {absent, 9, 8, 1, absent};
  expectIntegers(select("top 3 first 1 last 1", 3, scores), {0, 1, 4});
  expectIntegers(select("top 3 first 1 last 2", 3, scores), {0, 3, 4});
  expectIntegers(select("top 2 first 2", 2, scores), {0, 1});
  // Forced blocks past the end or named twice leave room.
  expectIntegers(select("top 4 first 3 last 1", 4, {1, 2}), {0, 1, -1, -1});
}

TEST(TopKTest, PlusAddsForcedBlocks) {
  llvm::SmallVector<double> scores = {absent, 9, 8, 1, absent};
  expectIntegers(select("top 1 plus first 1 last 1", 3, scores), {0, 1, 4});
  expectIntegers(select("top 2 plus first 2", 4, scores), {0, 1, 2, 3});
}

TEST(TopKTest, WhereTakesBlocksAway) {
  std::string odd = R"(
    mask (%b, %h, %t, %i, %j) {
      %two = arith.constant 2 : index
      %one = arith.constant 1 : index
      %r = arith.remsi %j, %two : index
      %odd = arith.cmpi eq, %r, %one : index
      nsa.yield %odd : i1
    })";
  expectIntegers(select("top 3 first 1" + odd, 3, {9, 1, 8, absent, 7, 2}),
                 {1, 5, -1});
}

TEST(TopKTest, OwnBlockOfEachQuery) {
  // Three queries, the last of five positions: 2, 3, 4 of blocks 1, 1, 2.
  std::string source = makeTopK("top 1 last 1", 1);
  Tensor scores = makeReals({1, 3, 1, 3}, std::vector<double>(9, absent));
  expectIntegers(Kernel(source).run({scores, Tensor::zeros(DType::F32, {5}),
                                     Tensor::zeros(DType::I32, {1, 3, 1})})[0],
                 {1, 1, 2});
  // More queries than tokens: the first two are before position 0.
  expectIntegers(
      Kernel(source).run({makeReals({1, 3, 1, 1}, {5, absent, absent}),
                          Tensor::zeros(DType::F32, {1}),
                          Tensor::zeros(DType::I32, {1, 3, 1})})[0],
      {0, -1, 0});
}

TEST(TopKTest, CountOfEachQuery) {
  Kernel kernel(makeTopK("top 3 first 1 last 1", 3, /*count=*/true));
  Tensor x = Tensor::zeros(DType::F32, {4});
  // Two queries at positions 2 and 3 of block 1, two heads.
  std::vector<double> scores(8, 1);
  auto run = [&](llvm::ArrayRef<int64_t> counts) {
    return kernel.run({makeReals({1, 2, 2, 2}, scores), x,
                       makeIntegers({1, 2, 2}, counts)})[0];
  };
  expectIntegers(run({0, 1, 2, 3}),
                 {-1, -1, -1, 0, -1, -1, 0, 1, -1, 0, 1, -1});
  EXPECT_EQ(kernel.fail({makeReals({1, 2, 2, 2}, scores), x,
                         makeIntegers({1, 2, 2}, {0, 1, 4, -1})}),
            "count 'counts' at [0, 1, 0] is 4, but must be 0 to 3 (top)");
}

TEST(TopKTest, PlusWithCount) {
  Kernel kernel(makeTopK("top 2 plus first 1", 3, /*count=*/true));
  std::vector<double> scores = {1, 2, 3};
  expectIntegers(kernel.run({makeReals({1, 1, 1, 3}, scores),
                             Tensor::zeros(DType::F32, {6}),
                             makeIntegers({1, 1, 1}, {1})})[0],
                 {0, 2, -1});
}

//===----------------------------------------------------------------------===//
// Sharing
//===----------------------------------------------------------------------===//

/// Three queries, at positions 1, 2 and 3 of four tokens in two blocks.
static Tensor shareTokens(const std::string &by) {
  Kernel kernel(makeTopK("top 1 share_tokens 2 by " + by, 1));
  return kernel.run({makeReals({1, 3, 1, 2}, {1, 2, 8, 1, 1, 5}),
                     Tensor::zeros(DType::F32, {4}),
                     Tensor::zeros(DType::I32, {1, 3, 1})})[0];
}

TEST(TopKTest, SharingBetweenTokens) {
  // Position 1 is alone; 2 and 3 share.
  expectIntegers(shareTokens("sum"), {1, 0, 0});
  expectIntegers(shareTokens("mean"), {1, 0, 0});
  expectIntegers(shareTokens("max"), {1, 0, 0});
  expectIntegers(shareTokens("first"), {1, 0, 0});
  expectIntegers(shareTokens("last"), {1, 1, 1});
}

TEST(TopKTest, SharingLooksAtPresentEntriesOnly) {
  auto run = [&](const std::string &by) {
    Kernel kernel(makeTopK("top 1 share_tokens 2 by " + by, 1));
    return kernel.run({makeReals({1, 2, 1, 2}, {4, 5, 4, absent}),
                       Tensor::zeros(DType::F32, {4}),
                       Tensor::zeros(DType::I32, {1, 2, 1})})[0];
  };
  expectIntegers(run("sum"), {0, 0});  // 8 against 5
  expectIntegers(run("mean"), {1, 1}); // 4 against 5
  expectIntegers(run("max"), {1, 1});
  expectIntegers(run("last"), {0, 0});
}

TEST(TopKTest, PositionOfTheRowThatSpeaks) {
  // Positions 0 … 3 share; their own blocks are 0, 0, 1, 1.
  auto run = [&](const std::string &by) {
    Kernel kernel(makeTopK("top 1 last 1 share_tokens 4 by " + by, 1));
    return kernel.run({makeReals({1, 4, 1, 2}, std::vector<double>(8, 1)),
                       Tensor::zeros(DType::F32, {4}),
                       Tensor::zeros(DType::I32, {1, 4, 1})})[0];
  };
  expectIntegers(run("first"), {0, 0, 0, 0});
  for (const char *by : {"sum", "mean", "max", "last"})
    expectIntegers(run(by), {1, 1, 1, 1});
}

TEST(TopKTest, SharingBetweenHeads) {
  auto run = [&](const std::string &by) {
    Kernel kernel(makeTopK("top 1 share_heads 2 by " + by, 1));
    return kernel.run({makeReals({1, 1, 4, 2}, {1, 2, 4, 2, 0, 1, 0, 1}),
                       Tensor::zeros(DType::F32, {4}),
                       Tensor::zeros(DType::I32, {1, 1, 4})})[0];
  };
  expectIntegers(run("sum"), {0, 0, 1, 1});
  expectIntegers(run("max"), {0, 0, 1, 1});
  expectIntegers(run("first"), {1, 1, 1, 1});
  expectIntegers(run("last"), {0, 0, 1, 1});
}

TEST(TopKTest, SharedHeadsMustDivide) {
  Kernel kernel(makeTopK("top 1 share_heads 2 by sum", 1));
  std::string message = kernel.fail({makeReals({1, 1, 3, 1}, {1, 1, 1}),
                                     Tensor::zeros(DType::F32, {2}),
                                     Tensor::zeros(DType::I32, {1, 1, 3})});
  EXPECT_NE(message.find("not a multiple of 2"), std::string::npos) << message;
}

TEST(TopKTest, DeclaredBlocksHaveTheNumberOfBlocks) {
  Kernel kernel(makeTopK("top 1", 1));
  EXPECT_EQ(
      kernel.fail({makeReals({1, 1, 1, 3}, {1, 1, 1}),
                   Tensor::zeros(DType::F32, {4}),
                   Tensor::zeros(DType::I32, {1, 1, 1})}),
      "the last dimension of scores 'scores' has size 3, but S has 2 blocks of "
      "2 tokens");
}

//===----------------------------------------------------------------------===//
// Pooled keys as blocks
//===----------------------------------------------------------------------===//

TEST(TopKTest, WindowsThatAreBlocks) {
  // Five tokens in windows of two: the last block has no window, but counts as
  // the query's own.
  const char *source = R"(
!q = !nsa.tensor<[B, T, H, D], f32>
!k = !nsa.tensor<[B, S, H, D], f32>
!kp = !nsa.tensor<[B, pool(S, 2, 2, drop), H, D], f32>
!p = !nsa.tensor<[B, T, H, pool(S, 2, 2, drop)], f32>
!sel = !nsa.selection<[B, T, H], top = 2, block = 2, of = S>
!i = !nsa.tensor<[B, T, H, 2], i32>
nsa.kernel @moba(%q: !q, %k: !k) -> !i {
  %kp = nsa.pool mean %k len 2 stride 2 tail drop : (!k) -> !kp
  %p = nsa.importance score heads sum (%q, %kp) : (!q, !kp) -> !p
  %sel = nsa.topk %p top 2 last 1 : (!p) -> !sel
  %i = nsa.indices %sel : !sel -> !i
  nsa.return %i : !i
})";
  expectIntegers(
      Kernel(source).run({makeReals({1, 1, 1, 1}, {1}),
                          makeReals({1, 5, 1, 1}, {1, 1, 5, 5, 1})})[0],
      {1, 2});
}
