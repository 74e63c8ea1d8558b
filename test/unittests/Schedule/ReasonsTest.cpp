//===- ReasonsTest.cpp - Reasons that choices give ------------------------===//

#include "mlir/IR/MLIRContext.h"
#include "nsacc/Frontend/Frontend.h"
#include "nsacc/Pipelines/Phases.h"
#include "nsacc/Schedule/Choose.h"
#include <gmock/gmock.h>

using namespace nsacc;
using namespace nsacc::schedule;
using testing::HasSubstr;

namespace {

/// A program, and the reason of one field.
struct Case {
  std::string program;
  const char *device;
  Queries queries;
  const char *settings, *op;
  Field field;
  const char *reason;
};

std::string replace(std::string text, const std::string &from,
                    const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// Native sparse attention of 16 query heads and 64 channels.
std::string sparse(const char *heads = "16", const char *block = "64",
                   const char *top = "8", const char *window = "64") {
  std::string text = R"(
kernel f(q: [B, T, HEADS, 64], k: [B, S, 4, 64], v: [B, S, 4, 64],
    g: f32[B, T, HEADS]) -> [B, T, HEADS, 64] {
  kc, vc = pool(k, 8, 4), pool(v, 8, 4);
  cmp = attend(q, kc, vc) where end(j) <= i;
  sel = topk(blocks(prob(cmp), BLOCK), TOP) keep last 1;
  slc = attend(q, k, v) in sel where j <= i;
  swa = attend(q, k, v) where 0 <= i - j < WINDOW;
  return g * cmp + slc + swa;
})";
  return replace(replace(replace(replace(text, "HEADS", heads), "BLOCK", block),
                         "TOP", top),
                 "WINDOW", window);
}

/// One attention of 16 query heads on 4, with a mask.
std::string dense(const std::string &channels,
                  const std::string &mask = "where j <= i") {
  return replace(
      "kernel f(q: [B, T, 16, C], k: [B, S, 4, C], v: [B, S, 4, C],\n"
      "    doc: i32[B, S], ends: i32[B, S]) -> [B, T, 16, C] {\n"
      "  a = attend(q, k, v) " +
          mask + ";\n  return a;\n}",
      "C]", channels + "]");
}

/// An attention to selected blocks alone.
std::string selected(const std::string &channels) {
  return replace(
      "kernel f(q: [B, T, 16, C], k: [B, S, 4, C], v: [B, S, 4, C])\n"
      "    -> [B, T, 16, C] {\n"
      "  sel = topk(blocks(prob(attend(q, pool(k, 512))), 512), 8);\n"
      "  a = attend(q, k, v) in sel where j <= i;\n"
      "  return a;\n}",
      "C]", channels + "]");
}

/// A sum of attentions over the same query tiles.
std::string several(int count, const std::string &channels) {
  std::string sum;
  for (int i = 0; i < count; ++i)
    sum += (i ? " + " : "") + std::string("(attend(q, k, v) where j <= i - ") +
           std::to_string(i) + ")";
  return replace(
      "kernel f(q: [B, T, 16, C], k: [B, S, 4, C], v: [B, S, 4, C])\n"
      "    -> [B, T, 16, C] { return " +
          sum + "; }",
      "C]", channels + "]");
}

class Reasons : public testing::TestWithParam<Case> {};

} // namespace

TEST_P(Reasons, AreGiven) {
  const Case &given = GetParam();
  SCOPED_TRACE(given.program + "\n" + given.device + " " + given.settings +
               " " + given.op + "." + getFullName(given.field));
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = frontend::compile(llvm::MemoryBufferRef(given.program, "f.nsa"),
                                  frontend::Options(), context);
  ASSERT_TRUE(module && mlir::succeeded(runPhases(*module, Phase::NSA)));
  Goal goal;
  if (*given.device)
    goal.device = *gpu::findDevice(given.device);
  goal.queries = given.queries;
  auto choice = choose(*module->getOps<nsa::KernelOp>().begin(), goal,
                       llvm::cantFail(Settings::parse(given.settings)));
  ASSERT_TRUE(bool(choice)) << llvm::toString(choice.takeError());
  for (const OpChoice &op : choice->ops)
    if (op.name == given.op) {
      ASSERT_TRUE(op.has(given.field));
      EXPECT_THAT(op.fields[static_cast<size_t>(given.field)]->reason,
                  HasSubstr(given.reason));
      return;
    }
  FAIL() << "no such op";
}

static const Case kCases[] = {
    // Tiles of ops beside a selection.
    {sparse(), "", Queries::Any, "", "cmp", Field::Tokens,
     "the tile of 'slc': many rows share the blocks that they selected"},
    {sparse(), "sm_90a", Queries::Any, "", "cmp", Field::Tokens,
     "the tile of 'slc': rows walk the union of their blocks"},
    {sparse(), "sm_90a", Queries::Any, "", "swa", Field::Warps,
     "the tile of 'slc': "},
    {sparse(), "sm_90a", Queries::Any, "", "slc", Field::Tokens,
     "rows walk the union of their blocks"},
    {sparse(), "", Queries::Any, "", "slc", Field::Part,
     "parts of 64 rows have tighter bounds"},
    {dense("64"), "", Queries::Any, "", "a", Field::Part, "the tile in one"},
    {sparse("16", "512"), "sm_90a", Queries::Any, "", "slc", Field::Tokens,
     "which they share, and fill the products of two warpgroups"},
    {sparse("16", "16"), "sm_90a", Queries::Few, "", "slc", Field::Stages,
     "tiles of few keys, so that memory has enough to do"},
    {selected("64"), "sm_90a", Queries::Any, "order=key_major", "a",
     Field::Tokens, "a block's queries fill the products of a warpgroup"},
    {selected("256"), "sm_90a", Queries::Any, "order=key_major", "a",
     Field::Keys, "64 rows, and few keys, as heads are wide"},
    // Tiles of dense attentions.
    {dense("128"), "sm_90a", Queries::Few, "", "a", Field::Tokens,
     "few queries, whose rows fill one product, over many keys"},
    {dense("96"), "sm_90a", Queries::Any, "", "a", Field::Tokens,
     "a dense attention of up to 96 channels"},
    {dense("128", "where 0 <= i - j < 512"), "sm_90a", Queries::Any, "", "a",
     Field::Tokens, "a band of keys: three warpgroups with narrow key tiles"},
    {dense("128"), "sm_90a", Queries::Many, "", "a", Field::Tokens,
     "many queries: three warpgroups with narrow key tiles"},
    {dense("256"), "sm_90a", Queries::Any, "", "a", Field::Tokens,
     "a dense attention of up to 256 channels: two warpgroups"},
    {dense("256", "where doc[b, i] == doc[b, j]"), "sm_90a", Queries::Any, "",
     "a", Field::Tokens,
     "up to 256 channels and a mask that isn't ranges of keys"},
    {dense("128", "where doc[b, i] == doc[b, j] and j <= ends[b, i]"), "sm_90a",
     Queries::Any, "", "a", Field::Tokens,
     "a mask that reads several tables for each query"},
    {several(3, "128"), "sm_90a", Queries::Any, "", "attend.1", Field::Tokens,
     "several attentions of wide heads in one program"},
    // Orders, splits and merges.
    {sparse(), "", Queries::Any, "", "slc", Field::Order,
     "tokens share the keys of blocks that they selected"},
    {sparse(), "", Queries::Any, "", "slc", Field::Splits,
     "the blocks of a selection aren't split"},
    {dense("64"), "", Queries::Any, "splits=auto", "a", Field::Splits,
     "a CPU's threads take query tiles"},
    {dense("64"), "sm_90a", Queries::Few, "", "a", Field::Splits,
     "few query tiles leave multiprocessors idle"},
    {dense("64"), "sm_90a", Queries::Few, "", "a", Field::MergeTokens,
     "few rows, whose states are loaded at once"},
    {dense("64"), "sm_90a", Queries::Few, "", "a", Field::MergeHeads,
     "few queries leave multiprocessors idle, which merge side by side"},
    {dense("64"), "sm_90a", Queries::Any, "order=key_major, splits=auto", "a",
     Field::Splits, "key_major isn't split by sizes"},
    {dense("64"), "sm_90a", Queries::Any, "order=key_major", "a",
     Field::MergeTokens, "as many as the tile of its readers has"},
    {dense("64"), "sm_90a", Queries::Any, "order=key_major", "a",
     Field::MergeHeads, "a block's registers hold the sums of no more"},
    // Channels, blocks that share a multiprocessor, and exact programs.
    {dense("320"), "sm_90a", Queries::Any, "", "a", Field::Channels,
     "a thread's registers hold the sums of no more"},
    {several(2, "256"), "sm_90a", Queries::Any, "", "attend.1", Field::Channels,
     "the sums of several attentions of no more"},
    {sparse(), "sm_90a", Queries::Any, "swa: channels=16", "cmp",
     Field::Channels, "given for 'swa', in the same program"},
    {dense("128"), "sm_90a", Queries::Any, "", "a", Field::BlocksPerSM,
     "a block has all registers"},
    {dense("128"), "sm_90a", Queries::Any, "", "a", Field::ExactKeys,
     "fits the registers with what looks at each pair"},
    {sparse(), "sm_90a", Queries::Any, "slc: splits=2", "slc",
     Field::ExactTokens, "parts of a list are of one tile"},
    {sparse("16", "64", "3000"), "sm_90a", Queries::Any, "", "slc",
     Field::ExactTokens, "a list that is so wide is united for one tile"},
    {dense("128"), "sm_80", Queries::Any, "tokens=8", "a", Field::Warps,
     "by the rows of the program's products"},
    // Selections.
    {sparse(), "", Queries::Any, "", "sel", Field::Method,
     "sorted lists of few blocks stay near"},
    {sparse(), "sm_90a", Queries::Few, "", "sel", Field::Method,
     "few query tiles leave multiprocessors idle, which can go over parts"},
    {sparse(), "sm_90a", Queries::Any, "", "sel", Field::Splits,
     "sorted lists aren't split"},
    {sparse("16", "64", "1024"), "", Queries::Any, "", "sel", Field::Splits,
     "the blocks in one"},
    {sparse("16", "64", "1024"), "", Queries::Any, "splits=auto", "sel",
     Field::Splits, "a CPU's threads take query tiles"},
    {sparse("16", "64", "1024"), "", Queries::Any, "", "sel", Field::Tokens,
     "as many as lists of candidates have room"},
    {sparse(), "", Queries::Any, "", "sel", Field::Tokens,
     "at most 64 rows: selecting gains nothing from more"},
    {sparse(), "", Queries::Any, "", "sel", Field::Blocks,
     "as many as an attend has keys"},
    {sparse("16", "64", "40"), "sm_90a", Queries::Any, "", "sel", Field::Blocks,
     "scores and lists of more need too many registers"},
    {sparse("128", "256"), "sm_90a", Queries::Any, "", "sel", Field::Blocks,
     "each lane has two candidates for a sorted list"},
    {replace(sparse("8"), "keep last 1", "share heads 4 by max"), "",
     Queries::Any, "", "sel", Field::Halo,
     "tiles of several key heads are gone over side by side"},
    {sparse(), "sm_90a", Queries::Any, "", "sel", Field::Warps,
     "rows fill the products of a warpgroup"},
    {sparse(), "sm_90a", Queries::Any, "", "sel", Field::BlocksPerSM,
     "steps of one block run during others' exponentials and lists"},
    {sparse("4", "64", "1024"), "sm_90a", Queries::Any, "", "sel", Field::Warps,
     "a warp has a list of candidates"},
    {sparse("32", "64", "200"), "sm_90a", Queries::Any, "", "sel",
     Field::BlocksPerSM, "lists of two blocks have room"},
    // Programs, poolings and elementwise code.
    {sparse("16", "64", "8", "512"), "sm_90a", Queries::Many, "", "cmp",
     Field::Program, "many pooled keys take tiles of their own"},
    {sparse("16", "64", "8", "512"), "sm_90a", Queries::Many, "", "swa",
     Field::Program, "a wide band of keys, which takes tiles of its own"},
    {R"(
kernel f(q: [B, T, 16, 64], k: [B, S, 4, 64], v: [B, S, 4, 64],
    k2: [B, S, 8, 64], v2: [B, S, 8, 64]) -> [B, T, 16, 64] {
  a = attend(q, k, v);
  other = attend(q, k2, v2);
  return a + other;
})",
     "", Queries::Any, "", "other", Field::Program,
     "it's computed over other query tiles than its readers are"},
    {several(17, "64"), "", Queries::Any, "", "attend.1", Field::Program,
     "more than 16 attentions in one program take long to compile"},
    {replace(sparse(), "8, 4", "128, 64"), "sm_90a", Queries::Any, "", "kc",
     Field::Windows, "more programs share long windows' tokens"},
    {"kernel f(x: [B, T, 16, 64]) -> [B, T, 16, 64] { y = 2 * x; return y; }",
     "", Queries::Any, "", "y", Field::Rows, "vectors of a few rows"},
};

INSTANTIATE_TEST_SUITE_P(Schedules, Reasons, testing::ValuesIn(kCases));
