//===- CUDAMemoryTest.cpp - Memory of plans for GPUs besides tensors ------===//

#include "CUDAProgramTest.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace nsacc;

namespace {

/// The most bytes of a plan's workspaces that live at the same time.
struct Memory {
  /// Bytes of lists, counts and offsets.
  int64_t lists = 0;
  /// Bytes of pooled keys, log-sum-exps, states and marks.
  int64_t values = 0;
};

class CUDAMemoryTest : public CUDAProgramTest {
protected:
  /// Measures an example with other values of parameters: "block = 64" ->
  /// "block = 512".
  Memory measure(const std::string &example, int64_t tokens, int64_t queryHeads,
                 int64_t keyHeads,
                 llvm::ArrayRef<std::pair<std::string, std::string>> edits);
  Memory measure(const rt::Plan &plan, const std::vector<int64_t> &numbers);
};

} // namespace

Memory CUDAMemoryTest::measure(const rt::Plan &plan,
                               const std::vector<int64_t> &numbers) {
  Memory most;
  for (size_t launch = 0; launch < plan.launches.size(); ++launch) {
    Memory live;
    for (const rt::Workspace &workspace : plan.workspaces) {
      if (workspace.first > launch || workspace.last < launch)
        continue;
      std::vector<int64_t> extents(workspace.sizes.size()), strides(extents);
      int64_t size = 0;
      EXPECT_FALSE(rt::computeExtent(workspace, numbers, extents.data(),
                                     strides.data(), size));
      (workspace.dtype == DType::I32 ? live.lists : live.values) += size;
    }
    most.lists = std::max(most.lists, live.lists);
    most.values = std::max(most.values, live.values);
  }
  return most;
}

Memory CUDAMemoryTest::measure(
    const std::string &example, int64_t tokens, int64_t queryHeads,
    int64_t keyHeads,
    llvm::ArrayRef<std::pair<std::string, std::string>> edits) {
  auto file =
      llvm::MemoryBuffer::getFile(NSACC_EXAMPLES "/" + example + ".nsa");
  EXPECT_TRUE(static_cast<bool>(file));
  std::string text = (*file)->getBuffer().str();
  for (const auto &[from, to] : edits) {
    size_t place = text.find(from);
    EXPECT_NE(place, std::string::npos) << from;
    text.replace(place, from.size(), to);
  }
  compile(text.c_str(), "sm_90a");
  DimSizes sizes;
  sizes.sizes = {{"B", 1},           {"T", tokens},   {"S", tokens},
                 {"HQ", queryHeads}, {"H", keyHeads}, {"D", 128},
                 {"DV", 128}};
  auto bytes = program->package(example, sizes);
  EXPECT_TRUE(static_cast<bool>(bytes)) << toString(bytes.takeError());
  rt::Package package = rt::readPackage(bytes->data(), bytes->size());
  const Signature &signature = program->getSignatures()[0];
  std::vector<std::vector<int64_t>> shapes;
  for (const auto *arguments : {&signature.inputs, &signature.results})
    for (const Argument &argument : *arguments)
      shapes.push_back(llvm::cantFail(getShape(argument, sizes)));
  std::vector<const int64_t *> given;
  for (const auto &shape : shapes)
    given.push_back(shape.data());
  for (const rt::Variant &variant : package.variants) {
    std::vector<int64_t> numbers;
    EXPECT_FALSE(rt::computeSteps(variant.steps, given, numbers));
    if (rt::findFailedGuard(variant, numbers))
      continue;
    const rt::Plan &plan = variant.targets.front().plan;
    EXPECT_FALSE(rt::computeNumbers(plan, given, numbers));
    return measure(plan, numbers);
  }
  ADD_FAILURE() << "no code for these sizes";
  return {};
}

/// 16 bytes for each of a row's `top` entries, and 4 for a tile of rows.
static int64_t getMostOfLists(int64_t tokens, int64_t heads, int64_t top) {
  constexpr int64_t leastTokens = 4;
  return 16 * top * tokens * heads + 4 * tokens / leastTokens * heads;
}

static int64_t getPooled(int64_t tokens, int64_t keyHeads) {
  constexpr int64_t channels = 128, stride = 16;
  return 2 * tokens / stride * keyHeads * channels * 2;
}

/// Pooled keys and values, and the attentions' results for pooled keys and for
/// the window in halves, with two numbers for each row.
static int64_t getMostOfNSA(int64_t tokens, int64_t queryHeads,
                            int64_t keyHeads) {
  constexpr int64_t channels = 128, stride = 16, manyPooled = 1024;
  int64_t result = tokens * queryHeads * channels * 4;
  bool isOwn = tokens / stride >= manyPooled;
  return getPooled(tokens, keyHeads) +
         (isOwn ? result + tokens * queryHeads * 16 : 0);
}

TEST_F(CUDAMemoryTest, ResultsOfPooledKeys) {
  EXPECT_LE(measure("nsa", 16383, 64, 4, {}).values, getPooled(16383, 4));
  // Slices of at most 1 GiB of either result.
  for (int64_t tokens : {65537, 1 << 20})
    EXPECT_LE(measure("nsa", tokens, 64, 4, {}).values,
              getPooled(tokens, 4) + getMostOfNSA(65536, 64, 4))
        << tokens;
  for (int64_t tokens : {16384, 65536}) {
    Memory found = measure("nsa", tokens, 64, 4, {});
    EXPECT_GT(found.values, tokens * 64 * 128 * 4) << tokens;
    EXPECT_LE(found.values, getMostOfNSA(tokens, 64, 4)) << tokens;
  }
}

TEST_F(CUDAMemoryTest, ListsOfUnions) {
  constexpr int64_t tokens = 65536;
  for (auto [queryHeads, keyHeads] :
       {std::pair<int64_t, int64_t>(64, 4), {16, 4}, {16, 16}}) {
    for (const char *example : {"nsa", "block_sparse"}) {
      Memory found = measure(example, tokens, queryHeads, keyHeads, {});
      EXPECT_LE(found.lists, getMostOfLists(tokens, keyHeads, 16)) << example;
      EXPECT_LE(found.values, getMostOfNSA(tokens, queryHeads, keyHeads))
          << example;
    }
    Memory found = measure("moba", tokens, queryHeads, keyHeads, {});
    EXPECT_LE(found.lists, getMostOfLists(tokens, queryHeads, 3));
    EXPECT_LE(found.values, tokens / 64 * keyHeads * 128 * 2);
  }
}

/// The states of long blocks take at most the schedule's chunk at a time. If
/// there are more states, they use the whole chunk.
TEST_F(CUDAMemoryTest, StatesOfLongBlocks) {
  std::pair<std::string, std::string> edits[] = {{"block = 64", "block = 512"},
                                                 {"top = 3", "top = 8"}};
  constexpr int64_t chunk = int64_t(2) << 30;
  for (auto [queryHeads, keyHeads] :
       {std::pair<int64_t, int64_t>(32, 32), {64, 4}}) {
    for (int64_t tokens : {4096, 32768, 65536, 131072, 1 << 20}) {
      Memory found = measure("moba", tokens, queryHeads, keyHeads, edits);
      EXPECT_LE(found.lists, getMostOfLists(tokens, queryHeads, 8))
          << tokens << " " << queryHeads;
      int64_t states = tokens * queryHeads * 8 * (2 * 128 + 12);
      // Pooled keys are computed before the first lists. If tiles are full,
      // each row of a tile has a mark for an entry.
      int64_t pooled = tokens / 512 * keyHeads * 128 * 2;
      int64_t marks = std::min(states, chunk) / (2 * 128 + 12) * 4 +
                      tokens / 512 * 64 * queryHeads * 4;
      EXPECT_LE(found.values, chunk + marks + pooled)
          << tokens << " " << queryHeads;
      EXPECT_GE(found.values, std::min(states, chunk / 2))
          << tokens << " " << queryHeads;
    }
  }
}
