//===- EagerErrorsTest.cpp - Roundings of some rows or of all -------------===//

#include "EagerErrors.h"
#include "InterpreterTestUtil.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

using namespace nsacc;
using namespace nsacc::interpreter;

static const std::string types = R"(
!q = !nsa.tensor<[B, T, HQ, D], f32>
!k = !nsa.tensor<[B, S, H, D], f32>
!kt = !nsa.tensor<[B, T, H, D], f32>
!kc = !nsa.tensor<[B, pool(S, 8, 4, drop), H, D], f32>
!l = !nsa.tensor<[B, T, HQ], f32>
!p = !nsa.tensor<[B, T, H, pool(S, 8, 4, drop)], f32>
!pb = !nsa.tensor<[B, T, H, blocks(S, 8)], f32>
!sel = !nsa.selection<[B, T, H], top = 3, block = 8, of = S>
)";

/// A kernel with every op that processes query rows, with clauses of the topk.
static std::string makeSelecting(const std::string &topk) {
  return types + R"(
nsa.kernel @nsa(%q: !q, %k: !k, %v: !k, %g: !l) -> (!q, !pb) {
  %kc = nsa.pool mean %k len 8 stride 4 tail drop : (!k) -> !kc
  %cmp, %lse = nsa.attend(%q, %kc, %kc) : (!q, !kc, !kc) -> (!q, !l)
  %p = nsa.importance prob heads sum (%q, %kc) lse %lse : (!q, !kc, !l) -> !p
  %pb = nsa.blocks overlap %p block 8 : !p -> !pb
  %sel = nsa.topk %pb )" +
         topk + R"( : (!pb) -> !sel
  %slc, %slclse = nsa.attend(%q, %k, %v) in %sel
    : (!q, !k, !k, !sel) -> (!q, !l)
  %o = nsa.map(%cmp, %slc, %g) : (!q, !q, !l) -> !q {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %u = arith.mulf %x, %z : f32
    %w = arith.addf %u, %y : f32
    nsa.yield %w : f32
  }
  nsa.return %o, %pb : !q, !pb
})";
}

static const std::string separate = makeSelecting("top 3 first 1");

namespace {

/// A kernel with its exact run.
struct Traced {
  explicit Traced(const std::string &program)
      : kernel(program), exact(run({.threads = 1, .keepF64 = true})) {}

  TracedRun run(const Options &options,
                const std::vector<bool> *onlyRows = nullptr) {
    auto run = runTraced(kernel.get(), inputs, options, onlyRows);
    if (!run)
      throw std::runtime_error(llvm::toString(run.takeError()));
    return std::move(*run);
  }
  QueryRows getRows() {
    return QueryRows(kernel.get(), exact.context.environment);
  }

  static constexpr int64_t numRows = 2 * 35;
  Kernel kernel;
  std::vector<Tensor> inputs = {
      makeRandom({2, 35, 6, 11}, 1), makeRandom({2, 83, 2, 11}, 2),
      makeRandom({2, 83, 2, 11}, 3), makeRandom({2, 35, 6}, 4)};
  TracedRun exact;
};

} // namespace

TEST(QueryRowsTest, OfOneAttentionAfterTheOther) {
  EXPECT_EQ(Traced(separate).getRows().getNumRows(), Traced::numRows);
}

TEST(QueryRowsTest, RowsThatShareASelection) {
  Traced traced(makeSelecting("top 3 first 1 share_tokens 2 by mean"));
  EXPECT_EQ(traced.getRows().getNumRows(), 0);
}

TEST(QueryRowsTest, KeysThatAreAnAttention) {
  Traced traced(types + R"(
nsa.kernel @f(%q: !q, %k: !k, %v: !k, %g: !l) -> !q {
  %o, %lse = nsa.attend(%q, %k, %v) : (!q, !k, !k) -> (!q, !l)
  %u, %ulse = nsa.attend(%q, %o, %o) : (!q, !q, !q) -> (!q, !l)
  nsa.return %u : !q
})");
  EXPECT_EQ(traced.getRows().getNumRows(), 0);
}

TEST(QueryRowsTest, FindsRowsOfElements) {
  Traced traced(separate);
  QueryRows rows = traced.getRows();
  auto getType = [&](unsigned argument) {
    return llvm::cast<nsa::NamedTensorType>(
        traced.kernel.get().getBody().getArgument(argument).getType());
  };
  EXPECT_EQ(rows.find(getType(0), 66 * 12, Traced::numRows * 66), 12);
  EXPECT_EQ(rows.find(getType(0), 66 * 13 - 1, Traced::numRows * 66), 12);
  EXPECT_EQ(rows.find(getType(1), 0, 2 * 83 * 22), std::nullopt);
}

TEST(EagerErrorsTest, SomeRowsAreAsInAllRows) {
  Traced traced(separate);
  std::vector<bool> only(Traced::numRows);
  for (int64_t row : {0, 17, 34, 35, 69})
    only[row] = true;
  Options options{.roundStorage = true, .threads = 2, .eagerSeed = 3};
  TracedRun all = traced.run(options), some = traced.run(options, &only);
  for (auto [result, expected] : llvm::zip_equal(some.results, all.results)) {
    std::vector<double> found = result.toReals(), wanted = expected.toReals();
    int64_t inRow = found.size() / Traced::numRows;
    for (int64_t i = 0, e = found.size(); i < e; ++i)
      if (only[i / inRow])
        ASSERT_EQ(llvm::bit_cast<uint64_t>(found[i]),
                  llvm::bit_cast<uint64_t>(wanted[i]))
            << "element " << i;
  }
}

TEST(EagerErrorsTest, OtherRowsKeepTheirErrors) {
  Traced traced(separate);
  EagerErrors errors(traced.kernel.get(), traced.inputs, 2, traced.exact);
  errors.evaluate();
  auto getErrors = [&] {
    std::vector<double> all;
    for (int64_t line = 0; line < Traced::numRows * 6; ++line)
      all.push_back(errors.getError(0, line));
    return all;
  };
  std::vector<double> first = getErrors();
  EXPECT_GT(*llvm::min_element(first), 0);
  EXPECT_LT(*llvm::max_element(first), 1e-5);

  std::vector<bool> only(Traced::numRows);
  only[9] = true;
  for (int times = 0; times < 10; ++times)
    errors.evaluate(&only);
  std::vector<double> then = getErrors();
  int64_t grown = 0;
  for (int64_t line = 0; line < Traced::numRows * 6; ++line) {
    if (line / 6 != 9)
      EXPECT_EQ(then[line], first[line]);
    EXPECT_GE(then[line], first[line]);
    grown += then[line] > first[line];
  }
  EXPECT_GT(grown, 3);
}

TEST(EagerErrorsTest, FindsRowsThatRoundingDecides) {
  Traced traced(separate);
  // Nearly equal keys: rounding decides between blocks.
  std::vector<double> keys = traced.inputs[1].toReals();
  for (double &x : keys)
    x = 0.3 + 1e-7 * x;
  traced.inputs[1] = makeReals({2, 83, 2, 11}, keys);
  traced.exact = traced.run({.threads = 1, .keepF64 = true});
  EagerErrors errors(traced.kernel.get(), traced.inputs, 2, traced.exact);
  std::vector<bool> only(Traced::numRows);
  only[9] = true;
  for (int times = 0; times < 10; ++times)
    errors.evaluate(&only);
  EXPECT_TRUE(errors.getUndecidedRows()[9]);
  EXPECT_EQ(llvm::count(errors.getUndecidedRows(), true), 1);
}
