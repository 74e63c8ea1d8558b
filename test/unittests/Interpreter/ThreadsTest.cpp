//===- ThreadsTest.cpp - Results don't depend on the number of threads ----===//

#include "InterpreterTestUtil.h"
#include "llvm/ADT/bit.h"

using namespace nsacc;
using namespace nsacc::interpreter;

/// Every op that works on rows: pool, attend (both kinds), importance, blocks,
/// topk, map.
static const char *program = R"(
!q = !nsa.tensor<[B, T, HQ, D], f32>
!k = !nsa.tensor<[B, S, H, D], f32>
!kc = !nsa.tensor<[B, pool(S, 8, 4, drop), H, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>
!p = !nsa.tensor<[B, T, H, pool(S, 8, 4, drop)], f32>
!pb = !nsa.tensor<[B, T, H, blocks(S, 8)], f32>
!sel = !nsa.selection<[B, T, H], top = 3, block = 8, of = S>
!i = !nsa.tensor<[B, T, H, 3], i32>
nsa.kernel @nsa(%q: !q, %k: !k, %v: !k, %g: !l) -> (!q, !pb, !i) {
  %kc = nsa.pool mean %k len 8 stride 4 tail drop : (!k) -> !kc
  %cmp, %lse = nsa.attend(%q, %kc, %kc)
    mask (%b, %h, %t, %i, %j) {
      %four = arith.constant 4 : index
      %start = arith.muli %j, %four : index
      %c = arith.cmpi sle, %start, %i : index
      nsa.yield %c : i1
    } : (!q, !kc, !kc) -> (!q, !l)
  %p = nsa.importance prob heads sum (%q, %kc) lse %lse
    mask (%b, %h, %t, %i, %j) {
      %four = arith.constant 4 : index
      %start = arith.muli %j, %four : index
      %c = arith.cmpi sle, %start, %i : index
      nsa.yield %c : i1
    } : (!q, !kc, !l) -> !p
  %pb = nsa.blocks overlap %p block 8 : !p -> !pb
  %sel = nsa.topk %pb top 3 first 1 share_tokens 2 by mean : (!pb) -> !sel
  %slc = nsa.attend(%q, %k, %v) in %sel
    weight (%s, %b, %h, %t, %i, %j) {
      %w = math.tanh %s : f32
      nsa.yield %w : f32
    }
    normalize (%sum, %visible, %b, %h, %t, %i) {
      %m = arith.index_cast %visible : index to i64
      %n = arith.sitofp %m : i64 to f32
      nsa.yield %n : f32
    } : (!q, !k, !k, !sel) -> !q
  %o = nsa.map(%cmp, %slc, %g) : (!q, !q, !l) -> !q {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %u = arith.mulf %x, %z : f32
    %w = arith.addf %u, %y : f32
    nsa.yield %w : f32
  }
  %i = nsa.indices %sel : !sel -> !i
  nsa.return %o, %pb, %i : !q, !pb, !i
})";

static std::vector<uint64_t> getBits(const Tensor &tensor) {
  std::vector<uint64_t> bits;
  for (double value : tensor.toReals())
    bits.push_back(llvm::bit_cast<uint64_t>(value));
  return bits;
}

TEST(ThreadsTest, EqualToTheBit) {
  Kernel kernel(program);
  std::vector<Tensor> inputs = {
      makeRandom({2, 75, 6, 11}, 1), makeRandom({2, 83, 2, 11}, 2),
      makeRandom({2, 83, 2, 11}, 3), makeRandom({2, 75, 6}, 4)};
  auto expected = kernel.run(inputs, 1);
  for (unsigned threads : {2, 5, 0}) {
    auto found = kernel.run(inputs, threads);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t index = 0; index != found.size(); ++index)
      EXPECT_EQ(getBits(found[index]), getBits(expected[index]))
          << "result " << index << " with " << threads << " threads";
  }
}
