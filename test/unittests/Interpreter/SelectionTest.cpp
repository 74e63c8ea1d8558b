//===- SelectionTest.cpp - Selections from inputs, attention in them ------===//

#include "InterpreterTestUtil.h"

using namespace nsacc;
using namespace nsacc::interpreter;

/// Attention in blocks of two, whose weights are 1: it sums values.
static std::string makeSelected(const std::string &heads) {
  std::string source = R"(
!q = !nsa.tensor<[B, T, HQ, D], f32>
!k = !nsa.tensor<[B, S, H, D], f32>
!o = !nsa.tensor<[B, T, HQ, D], f32>
!idx = !nsa.tensor<[B, T, HEADS, 3], i64>
!sel = !nsa.selection<[B, T, HEADS], top = 3, block = 2, of = S>
!i = !nsa.tensor<[B, T, HEADS, 3], i32>
nsa.kernel @selected(%q: !q {nsa.name = "q"}, %k: !k {nsa.name = "k"}, %idx: !idx {nsa.name = "idx"}) -> (!o, !i) {
  %sel = nsa.declare_selection %idx : (!idx) -> !sel
  %o = nsa.attend(%q, %k, %k) in %sel
    weight (%s, %b, %h, %t, %i, %j) {
      %one = arith.constant 1.0 : f32
      nsa.yield %one : f32
    } : (!q, !k, !k, !sel) -> !o
  %i = nsa.indices %sel : !sel -> !i
  nsa.return %o, %i : !o, !i
})";
  for (size_t at; (at = source.find("HEADS")) != std::string::npos;)
    source.replace(at, 5, heads);
  return source;
}

TEST(SelectionTest, IndicesAreASet) {
  Kernel kernel(makeSelected("H"));
  // Five tokens: the last block has one.
  Tensor k = makeReals({1, 5, 1, 1}, {1, 10, 100, 1000, 10000});
  Tensor idx =
      makeIntegers({1, 3, 1, 3}, {2, 0, 2, -1, -1, -1, -1, 1, -1}, DType::I64);
  auto results = kernel.run({Tensor::zeros(DType::F32, {1, 3, 2, 1}), k, idx});
  expectReals(results[0], {10011, 10011, 0, 0, 1100, 1100});
  expectIntegers(results[1], {0, 2, -1, -1, -1, -1, 1, -1, -1});
}

TEST(SelectionTest, PerQueryHead) {
  Kernel kernel(makeSelected("HQ"));
  Tensor k = makeReals({1, 4, 1, 1}, {1, 10, 100, 1000});
  Tensor idx = makeIntegers({1, 1, 2, 3}, {0, 0, 0, 1, 1, -1}, DType::I64);
  expectReals(kernel.run({Tensor::zeros(DType::F32, {1, 1, 2, 1}), k, idx})[0],
              {11, 1100});
}

TEST(SelectionTest, IndexOutOfRangeIsNamed) {
  Kernel kernel(makeSelected("H"));
  Tensor q = Tensor::zeros(DType::F32, {1, 1, 1, 1});
  auto fail = [&](int64_t tokens, llvm::ArrayRef<int64_t> indices) {
    return kernel.fail({q, Tensor::zeros(DType::F32, {1, tokens, 1, 1}),
                        makeIntegers({1, 1, 1, 3}, indices, DType::I64)});
  };
  EXPECT_EQ(fail(5, {0, 3, 1}),
            "selection 'idx' at [0, 0, 0, 1] is 3; expected -1 or 0 to 2: S "
            "has 5 tokens in batch row 0, 3 blocks of 2");
  EXPECT_EQ(fail(5, {0, 1, -2}),
            "selection 'idx' at [0, 0, 0, 2] is -2; expected -1 or 0 to 2: S "
            "has 5 tokens in batch row 0, 3 blocks of 2");
  EXPECT_EQ(fail(0, {-1, -1, 0}),
            "selection 'idx' at [0, 0, 0, 2] is 0; expected -1: S has 0 tokens "
            "in batch row 0, 0 blocks of 2");
}

TEST(SelectionTest, WhereIsOnlyAskedForSelectedKeys) {
  // The table has no entry for tokens 2 and 3.
  const char *source = R"(
!q = !nsa.tensor<[B, T, H, D], f32>
!idx = !nsa.tensor<[B, T, H, 1], i32>
!sel = !nsa.selection<[B, T, H], top = 1, block = 2, of = S>
!k = !nsa.tensor<[B, S, H, D], f32>
!x = !nsa.tensor<[N], i1>
!l = !nsa.tensor<[B, T, H], f32>
nsa.kernel @selected(%q: !q, %k: !k, %idx: !idx, %x: !x {nsa.name = "allowed"}) -> !q {
  %sel = nsa.declare_selection %idx : (!idx) -> !sel
  %o, %l = nsa.attend(%q, %k, %k) in %sel
    mask (%b, %h, %t, %i, %j) {
      %c = nsa.table_read %x[%j] : !x
      nsa.yield %c : i1
    } : (!q, !k, !k, !sel) -> (!q, !l)
  nsa.return %o : !q
})";
  Kernel kernel(source);
  Tensor q = Tensor::zeros(DType::F32, {1, 1, 1, 1});
  Tensor k = makeReals({1, 4, 1, 1}, {1, 2, 3, 4});
  Tensor allowed = makeIntegers({2}, {0, 1}, DType::Bool);
  expectReals(kernel.run({q, k, makeIntegers({1, 1, 1, 1}, {0}), allowed})[0],
              {2});
  EXPECT_EQ(kernel.fail({q, k, makeIntegers({1, 1, 1, 1}, {1}), allowed}),
            "table 'allowed' is read at [2], but dimension N has size 2 in "
            "'where' at b = 0, h = 0, t = 0, i = 3, j = 2");
}
