//===- ExamplesTest.cpp - Every example at odd sizes, in every order ------===//

#include "RunCase.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

using namespace nsacc;
using namespace nsacc::differential;

namespace {

/// Sizes and parameters of an example's tests: blocks are small, so that few
/// tokens have several.
struct Example {
  std::string name;
  std::map<std::string, std::string> params;
  std::map<std::string, int64_t> sizes;
  /// Odd lengths are chosen around it.
  int64_t block;
  std::string dtype = "f32";
  bool ragged = false;
};

std::vector<Example> getExamples() {
  return {
      {"flash", {}, {{"HQ", 3}, {"H", 1}, {"D", 40}, {"DV", 24}}, 64},
      {"window_sink",
       {{"window", "33"}, {"anchors", "3"}},
       {{"HQ", 14}, {"H", 2}, {"D", 64}, {"DV", 64}},
       33},
      {"softcap_alibi",
       {},
       {{"HQ", 2}, {"H", 2}, {"D", 96}, {"DV", 128}},
       64,
       "bf16"},
      {"document_mask", {}, {{"HQ", 5}, {"H", 1}, {"D", 8}, {"DV", 8}}, 64},
      {"mla", {}, {{"H", 2}}, 64, "bf16"},
      {"block_sparse",
       {{"block", "16"}, {"top", "5"}},
       {{"HQ", 16}, {"H", 1}, {"D", 64}, {"DV", 40}},
       16},
      {"moba",
       {{"block", "16"}, {"top", "3"}},
       {{"HQ", 6}, {"H", 2}, {"D", 40}, {"DV", 64}},
       16},
      {"hstu_bsa",
       {{"block", "16"}, {"top", "3"}},
       {{"H", 2}, {"D", 24}, {"DV", 40}},
       16,
       "f32",
       true},
      {"nsa",
       {{"block", "16"},
        {"top", "4"},
        {"len", "8"},
        {"stride", "4"},
        {"window", "9"}},
       {{"HQ", 6}, {"H", 2}, {"D", 64}, {"DV", 64}},
       16},
      {"nsa_pooled_weights",
       {{"block", "16"},
        {"top", "99"},
        {"len", "8"},
        {"stride", "4"},
        {"window", "1"}},
       {{"HQ", 5}, {"H", 1}, {"D", 192}, {"DV", 256}},
       16,
       "f16"},
  };
}

struct Setting {
  Example example;
  /// Empty: the compiler's choice, query_major.
  std::string order;
};

void PrintTo(const Setting &setting, std::ostream *os) {
  *os << setting.example.name;
}

class ExampleTest : public testing::TestWithParam<Setting> {
protected:
  Case makeCase();
};

} // namespace

/// Adds runs with every odd length as T and as S, and every kind of values and
/// layout.
static void addDenseRuns(Case &result, int64_t b) {
  struct Lengths {
    int64_t queries, keys;
    Values values;
  };
  Lengths all[] = {{0, 0, Values::Normal},    {1, 1, Values::Equal},
                   {2, 2, Values::Few},       {b - 1, b - 1, Values::Large},
                   {b, b, Values::NaN},       {b + 1, b + 1, Values::Infinite},
                   {127, 127, Values::Mixed}, {1, b, Values::Normal},
                   {1, 127, Values::Equal},   {2, b + 1, Values::Few},
                   {3, 0, Values::Large},     {b + 1, b - 1, Values::Normal}};
  int number = 0;
  for (const Lengths &lengths : all) {
    Run run;
    run.sizes = {
        {"B", 1 + number % 2}, {"T", lengths.queries}, {"S", lengths.keys}};
    run.seed = number;
    run.values = lengths.values;
    run.layout = Layout(number % 6);
    result.runs.push_back(run);
    ++number;
  }
}

static void addRaggedRuns(Case &result, int64_t b) {
  std::vector<std::vector<int64_t>> batches = {{},         {0},
                                               {1},        {0, b, 0, 2 * b + 1},
                                               {b - 1, 1}, {127, 0, 0, 2},
                                               {b + 1, b}, {3, 5, 0}};
  int number = 0;
  for (const std::vector<int64_t> &lengths : batches) {
    Run run;
    run.rows["T"] = lengths;
    run.seed = number;
    run.values = Values(number % 7);
    run.layout = Layout(number % 6);
    result.runs.push_back(run);
    ++number;
  }
}

Case ExampleTest::makeCase() {
  const auto &[example, order] = GetParam();
  auto text =
      llvm::MemoryBuffer::getFile(NSACC_EXAMPLES "/" + example.name + ".nsa");
  Case result;
  result.program = text.get()->getBuffer().str();
  result.dtype = example.dtype;
  result.params = example.params;
  result.sizes = example.sizes;
  result.ranges["doc"] = {0, 2};
  if (!order.empty()) {
    result.schedule = Schedule{.order = order, .tokens = 4, .keys = 32};
    if (order == "key_major")
      result.schedule->splits = 2;
  }
  if (example.ragged)
    addRaggedRuns(result, example.block);
  else
    addDenseRuns(result, example.block);
  return result;
}

TEST_P(ExampleTest, EqualsTheOracle) {
  Case testCase = makeCase();
  Verdict verdict = runCase(testCase);
  EXPECT_EQ(verdict.kind, Verdict::Kind::Passed)
      << verdict.message << " in run " << verdict.runs << " of\n"
      << print(testCase);
}

static std::vector<Setting> getSettings() {
  std::vector<Setting> settings;
  for (const Example &example : getExamples())
    for (const char *order : {"", "union", "key_major"})
      settings.push_back({example, order});
  return settings;
}

INSTANTIATE_TEST_SUITE_P(Examples, ExampleTest,
                         testing::ValuesIn(getSettings()),
                         [](const testing::TestParamInfo<Setting> &info) {
                           std::string order = info.param.order;
                           return info.param.example.name + "_" +
                                  (order.empty() ? "own" : order);
                         });
