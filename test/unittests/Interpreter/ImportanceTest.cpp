//===- ImportanceTest.cpp - nsa.importance and nsa.blocks -----------------===//

#include "InterpreterTestUtil.h"
#include "Values.h"
#include <cmath>

using namespace nsacc;
using namespace nsacc::interpreter;

//===----------------------------------------------------------------------===//
// nsa.importance: four query heads over two key heads, three keys
//===----------------------------------------------------------------------===//

/// The keys are single tokens. Head h of the query holds the number h + 1, so
/// that scores are multiples of the key.
static std::string makeImportance(const std::string &kind,
                                  const std::string &heads,
                                  const std::string &clauses) {
  bool prob = kind == "prob";
  std::string resultHeads = heads == "none" ? "HQ" : "H";
  return R"(
!q = !nsa.tensor<[B, T, HQ, D], f32>
!k = !nsa.tensor<[B, S, H, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>
!p = !nsa.tensor<[B, T, )" +
         resultHeads + R"(, S], f32>
nsa.kernel @importance(%q: !q, %k: !k, %l: !l) -> !p {
  %p = nsa.importance )" +
         kind + " heads " + heads + " (%q, %k) " + (prob ? "lse %l " : "") + R"(
    scale () {
      %one = arith.constant 1.0 : f32
      nsa.yield %one : f32
    })" + clauses +
         (prob ? " : (!q, !k, !l) -> !p" : " : (!q, !k) -> !p") + R"(
  nsa.return %p : !p
})";
}

static Tensor runImportance(const std::string &kind, const std::string &heads,
                            const std::string &clauses,
                            llvm::ArrayRef<double> lse = {0, 0, 0, 0},
                            llvm::ArrayRef<double> keys = {1, 10, 2, 20, 3,
                                                           30}) {
  return Kernel(makeImportance(kind, heads, clauses))
      .run({makeReals({1, 1, 4, 1}, {1, 2, 3, 4}),
            makeReals({1, 3, 2, 1}, keys), makeReals({1, 1, 4}, lse)})[0];
}

TEST(ImportanceTest, ScoresByHeadReduction) {
  expectReals(runImportance("score", "none", ""),
              {1, 2, 3, 2, 4, 6, 30, 60, 90, 40, 80, 120});
  expectReals(runImportance("score", "sum", ""), {3, 6, 9, 70, 140, 210});
  expectReals(runImportance("score", "mean", ""), {1.5, 3, 4.5, 35, 70, 105});
  expectReals(runImportance("score", "max", ""), {2, 4, 6, 40, 80, 120});
}

TEST(ImportanceTest, ProbabilitiesTakeTheLogSumExp) {
  Tensor p =
      runImportance("prob", "sum", "", {1, 2, 50, 60}, {1, 1, 2, 2, 3, 3});
  std::vector<double> expected;
  for (double key : {1, 2, 3})
    expected.push_back(std::exp(key - 1) + std::exp(2 * key - 2));
  for (double key : {1, 2, 3})
    expected.push_back(std::exp(3 * key - 50) + std::exp(4 * key - 60));
  expectReals(p, expected);
}

TEST(ImportanceTest, ActivationsAreWeights) {
  Tensor p = runImportance("activation", "sum", R"(
    weight (%s, %b, %h, %t, %i, %j) {
      %w = arith.mulf %s, %s : f32
      nsa.yield %w : f32
    })");
  expectReals(p, {5, 20, 45, 2500, 10000, 22500});
}

/// Heads 0 and 1 don't see key 0, head 1 doesn't see key 1.
static const std::string mask = R"(
    mask (%b, %h, %t, %i, %j) {
      %one = arith.constant 1 : index
      %group = arith.cmpi sgt, %h, %one : index
      %n = arith.addi %h, %one : index
      %sees = arith.cmpi sge, %j, %n : index
      %c = arith.ori %group, %sees : i1
      nsa.yield %c : i1
    })";

TEST(ImportanceTest, AbsentEntriesTakeNoPart) {
  expectReals(runImportance("score", "sum", mask),
              {absent, 2, 9, 70, 140, 210});
  expectReals(runImportance("score", "mean", mask),
              {absent, 2, 4.5, 35, 70, 105});
  expectReals(runImportance("score", "max", mask), {absent, 2, 6, 40, 80, 120});
}

TEST(ImportanceTest, MinusInfinityIsAbsentAndNaNIsNot) {
  llvm::SmallVector<double> keys = {-infinity, 1, 1, 1, notANumber, 1};
  expectReals(runImportance("score", "mean", "", {0, 0, 0, 0}, keys),
              {absent, 1.5, notANumber, 3.5, 3.5, 3.5});
  expectReals(runImportance("score", "max", "", {0, 0, 0, 0}, keys),
              {absent, 2, notANumber, 4, 4, 4});
}

//===----------------------------------------------------------------------===//
// nsa.blocks
//===----------------------------------------------------------------------===//

/// Maps importances `entries` of pooled keys to blocks; `x` has the number of
/// tokens.
static Tensor runBlocks(const std::string &map, const std::string &dim,
                        int block, int64_t tokens,
                        llvm::ArrayRef<double> entries) {
  std::string source = R"(
!q = !nsa.tensor<[B, T, H, D], f32>
!k = !nsa.tensor<[B, N, H, D], f32>
!kp = !nsa.tensor<[B, DIM, H, D], f32>
!x = !nsa.tensor<[S], f32>
!p = !nsa.tensor<[B, T, H, DIM], f32>
!r = !nsa.tensor<[B, T, H, blocks(S, BLOCK)], f32>
nsa.kernel @blocks(%q: !q, %k: !k, %x: !x) -> !r {
  %kp = nsa.declare_pooled %k : !k -> !kp
  %p = nsa.importance score heads sum (%q, %kp)
    scale () {
      %one = arith.constant 1.0 : f32
      nsa.yield %one : f32
    } : (!q, !kp) -> !p
  %r = nsa.blocks MAP %p block BLOCK : !p -> !r
  nsa.return %r : !r
})";
  auto replace = [&](llvm::StringRef what, llvm::StringRef with) {
    for (size_t at; (at = source.find(what)) != std::string::npos;)
      source.replace(at, what.size(), with);
  };
  replace("DIM", dim);
  replace("BLOCK", std::to_string(block));
  replace("MAP", map);
  int64_t n = entries.size();
  return Kernel(source).run({makeReals({1, 1, 1, 1}, {1}),
                             makeReals({1, n, 1, 1}, entries),
                             Tensor::zeros(DType::F32, {tokens})})[0];
}

TEST(BlocksTest, OverlapWeighsSharedTokens) {
  // Windows [0,4) [2,6) [4,8) [6,10) and blocks [0,4) [4,8) [8,12) of 10
  // tokens.
  std::string dim = "pooled(N of S, 4, 2, 0, 0)";
  llvm::SmallVector<double> p = {1, 10, 100, 1000};
  expectReals(runBlocks("overlap", dim, 4, 10, p),
              {2 * 1 + 10, 10 + 2 * 100 + 1000, 1000});
  expectReals(runBlocks("sum", dim, 4, 10, p), {11, 1110, 1000});
  expectReals(runBlocks("mean", dim, 4, 10, p), {5.5, 370, 1000});
  expectReals(runBlocks("max", dim, 4, 10, p), {10, 1000, 1000});
}

TEST(BlocksTest, AbsentEntriesAndBlocks) {
  std::string dim = "pooled(N of S, 2, 2, 0, 0)";
  llvm::SmallVector<double> p = {1, absent, absent, absent, notANumber, 2};
  expectReals(runBlocks("sum", dim, 4, 12, p), {1, absent, notANumber});
  expectReals(runBlocks("mean", dim, 4, 12, p), {1, absent, notANumber});
  expectReals(runBlocks("max", dim, 4, 12, p), {1, absent, notANumber});
  expectReals(runBlocks("overlap", dim, 4, 12, p), {1, absent, notANumber});
}

TEST(BlocksTest, MemoryTokensBelongToNoBlock) {
  // Entry 0 is memory; then [1,3) [3,5), after offset 1.
  std::string dim = "pooled(N of S, 2, 2, 1, 1)";
  expectReals(runBlocks("overlap", dim, 2, 6, {7, 1, 10}), {0.5, 5.5, 5});
}

TEST(BlocksTest, WindowsThatStartBeforeTheTokens) {
  // Windows [-2,2) [0,4); blocks of two.
  std::string dim = "pooled(N of S, 4, 2, -2, 0)";
  expectReals(runBlocks("overlap", dim, 2, 4, {1, 10}), {11, 10});
}

TEST(BlocksTest, BlocksOfTokensBehindTheLastWindow) {
  std::string dim = "pooled(N of S, 4, 4, 0, 0)";
  expectReals(runBlocks("overlap", dim, 4, 9, {3, 5}), {3, 5, absent});
  expectReals(runBlocks("overlap", dim, 4, 0, {}), {});
}
