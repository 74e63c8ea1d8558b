//===- RaggedTest.cpp - Ragged batches are dense rows, one by one ---------===//

#include "InterpreterTestUtil.h"

using namespace nsacc;
using namespace nsacc::interpreter;

/// NSA without its gates: pooled keys, blocks selected by them, and a table
/// over the rows. `Q`, `K` and `X` are placeholders for the leading dimensions.
static std::string makeProgram(bool ragged) {
  std::string source = R"(
!q = !nsa.tensor<[QROWS, HQ, D], f32>
!k = !nsa.tensor<[KROWS, H, D], f32>
!kc = !nsa.tensor<[POOLROWS, H, D], f32>
!l = !nsa.tensor<[QROWS, HQ], f32>
!p = !nsa.tensor<[QROWS, H, pool(S, 4, 2, average)], f32>
!pb = !nsa.tensor<[QROWS, H, blocks(S, 4)], f32>
!sel = !nsa.selection<[QROWS, H], top = 2, block = 4, of = S>
!i = !nsa.tensor<[QROWS, H, 2], i32>
!x = !nsa.tensor<[XROWS], f32>
nsa.kernel @nsa(%q: !q, %k: !k, %x: !xOFFSETS) -> (!q, !l, !i) {
  %kc = nsa.pool mean %k len 4 stride 2 tail average : (!k) -> !kc
  %cmp, %lse = nsa.attend(%q, %kc, %kc)
    mask (%b, %h, %t, %i, %j) {
      %two = arith.constant 2 : index
      %start = arith.muli %j, %two : index
      %c = arith.cmpi sle, %start, %i : index
      nsa.yield %c : i1
    } : (!q, !kc, !kc) -> (!q, !l)
  %p = nsa.importance prob heads sum (%q, %kc) lse %lse
    mask (%b, %h, %t, %i, %j) {
      %two = arith.constant 2 : index
      %start = arith.muli %j, %two : index
      %c = arith.cmpi sle, %start, %i : index
      nsa.yield %c : i1
    } : (!q, !kc, !l) -> !p
  %pb = nsa.blocks overlap %p block 4 : !p -> !pb
  %sel = nsa.topk %pb top 2 last 1 share_tokens 3 by sum : (!pb) -> !sel
  %o, %l = nsa.attend(%q, %k, %k) in %sel
    mask (%b, %h, %t, %i, %j) {
      %c = arith.cmpi sle, %j, %i : index
      nsa.yield %c : i1
    }
    score (%s, %b, %h, %t, %i, %j) {
      %n = nsa.dim "S"
      %m = arith.index_cast %n : index to i64
      %length = arith.sitofp %m : i64 to f32
      %bias = nsa.table_read READ : !x
      %u = arith.addf %s, %bias : f32
      %r = arith.divf %u, %length : f32
      nsa.yield %r : f32
    } : (!q, !k, !k, !sel) -> (!q, !l)
  %i = nsa.indices %sel : !sel -> !i
  nsa.return %o, %l, %i : !q, !l, !i
})";
  auto replace = [&](llvm::StringRef what, llvm::StringRef with) {
    for (size_t at; (at = source.find(what)) != std::string::npos;)
      source.replace(at, what.size(), with);
  };
  replace("QROWS", ragged ? "ragged T" : "B, T");
  replace("KROWS", ragged ? "ragged S" : "B, S");
  replace("XROWS", ragged ? "ragged S" : "B, S");
  replace("POOLROWS", ragged ? "ragged pool(S, 4, 2, average)"
                             : "B, pool(S, 4, 2, average)");
  replace("OFFSETS", ragged ? ", %to: !nsa.tensor<[offsets(T)], i32>, "
                              "%so: !nsa.tensor<[offsets(S)], i32>"
                            : "");
  replace("READ", ragged ? "%x[%j] row %b" : "%x[%b, %j]");
  return source;
}

/// Packed rows [begin, end) of a tensor as a batch of one.
static Tensor takeRows(const Tensor &packed, int64_t begin, int64_t end) {
  llvm::SmallVector<int64_t> shape(packed.getShape());
  std::vector<double> values = packed.toReals();
  int64_t inner = values.size() / shape.front();
  shape.front() = end - begin;
  shape.insert(shape.begin(), 1);
  return makeReals(shape, llvm::ArrayRef(values).slice(begin * inner,
                                                       (end - begin) * inner));
}

TEST(RaggedTest, EveryRowIsOnItsOwn) {
  // Empty rows, no queries, no keys, more queries than keys.
  std::vector<int64_t> queryOffsets = {0, 7, 7, 10, 10, 14, 19};
  std::vector<int64_t> keyOffsets = {0, 7, 7, 17, 22, 22, 25};
  Tensor q = makeRandom({19, 6, 5}, 1), k = makeRandom({25, 2, 5}, 2),
         x = makeRandom({25}, 3);
  auto packed = Kernel(makeProgram(true))
                    .run({q, k, x, makeIntegers({7}, queryOffsets),
                          makeIntegers({7}, keyOffsets)},
                         2);
  Kernel dense(makeProgram(false));
  std::vector<double> output, lse;
  std::vector<int64_t> indices;
  for (int64_t b = 0; b < 6; ++b) {
    auto row = dense.run({takeRows(q, queryOffsets[b], queryOffsets[b + 1]),
                          takeRows(k, keyOffsets[b], keyOffsets[b + 1]),
                          takeRows(x, keyOffsets[b], keyOffsets[b + 1])});
    llvm::append_range(output, row[0].toReals());
    llvm::append_range(lse, row[1].toReals());
    llvm::append_range(indices, row[2].toIntegers());
  }
  expectReals(packed[0], output, 0);
  expectReals(packed[1], lse, 0);
  expectIntegers(packed[2], indices);
}

TEST(RaggedTest, NoRowsAtAll) {
  auto results = Kernel(makeProgram(true))
                     .run({Tensor::zeros(DType::F32, {0, 6, 5}),
                           Tensor::zeros(DType::F32, {0, 2, 5}),
                           Tensor::zeros(DType::F32, {0}),
                           makeIntegers({1}, {0}), makeIntegers({1}, {0})});
  EXPECT_EQ(results[0].getShape(), llvm::ArrayRef<int64_t>({0, 6, 5}));
}

TEST(RaggedTest, TableIndicesStayInTheirRow) {
  const char *source = R"(
!q = !nsa.tensor<[ragged T, H, D], f32>
!l = !nsa.tensor<[ragged T, H], f32>
!x = !nsa.tensor<[ragged T], i32>
nsa.kernel @documents(%q: !q, %x: !x {nsa.name = "doc"}, %o: !nsa.tensor<[offsets(T)], i32>) -> !q {
  %r, %l = nsa.attend(%q, %q, %q)
    mask (%b, %h, %t, %i, %j) {
      %one = arith.constant 1 : index
      %n = arith.addi %j, %one : index
      %d = nsa.table_read %x[%n] row %b : !x
      %c = arith.cmpi eq, %d, %one : index
      nsa.yield %c : i1
    } : (!q, !q, !q) -> (!q, !l)
  nsa.return %r : !q
})";
  EXPECT_EQ(Kernel(source).fail({Tensor::zeros(DType::F32, {5, 1, 1}),
                                 makeIntegers({5}, {1, 1, 1, 1, 1}),
                                 makeIntegers({4}, {0, 0, 3, 5})}),
            "table 'doc' is read at [3], but dimension ragged T has size 3 in "
            "'where' at b = 1, h = 0, t = 0, i = 0, j = 2");
}

TEST(RaggedTest, DeclaredPooledKeysHaveTheirOwnOffsets) {
  const char *source = R"(
!q = !nsa.tensor<[ragged S, H, D], f32>
!x = !nsa.tensor<[ragged N, H, D], f32>
!kc = !nsa.tensor<[ragged pooled(N of S, 2, 2, 0, 1), H, D], f32>
!p = !nsa.tensor<[ragged S, H, pooled(N of S, 2, 2, 0, 1)], f32>
!pb = !nsa.tensor<[ragged S, H, blocks(S, 2)], f32>
nsa.kernel @pooled(%q: !q, %x: !x, %so: !nsa.tensor<[offsets(S)], i32>, %no: !nsa.tensor<[offsets(N)], i32>) -> (!p, !pb) {
  %kc = nsa.declare_pooled %x : !x -> !kc
  %p = nsa.importance score heads sum (%q, %kc) : (!q, !kc) -> !p
  %pb = nsa.blocks sum %p block 2 : !p -> !pb
  nsa.return %p, %pb : !p, !pb
})";
  // Two rows: one token with memory and one entry, three tokens with two.
  auto results = Kernel(source).run({makeReals({4, 1, 1}, {1, 1, 2, 3}),
                                     makeReals({5, 1, 1}, {9, 5, 8, 6, 7}),
                                     makeIntegers({3}, {0, 1, 4}),
                                     makeIntegers({3}, {0, 2, 5})});
  // The width is the longest row's; entries past a row's end are absent.
  EXPECT_EQ(results[0].getShape(), llvm::ArrayRef<int64_t>({4, 1, 3}));
  expectReals(results[0], {9, 5, -infinity, 8, 6, 7, 16, 12, 14, 24, 18, 21});
  EXPECT_EQ(results[1].getShape(), llvm::ArrayRef<int64_t>({4, 1, 2}));
  expectReals(results[1], {5, -infinity, 6, 7, 12, 14, 18, 21});
}
