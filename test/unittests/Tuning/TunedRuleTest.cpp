//===- TunedRuleTest.cpp - Stored rules and their use by calls ------------===//

#include "TunedFixture.h"
#include "nsacc/RT/Package.h"
#include "nsacc/Tuning/Shapes.h"

using namespace nsacc;
using namespace nsacc::tuning;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

static TunedRule makeRule() {
  TunedRule rule;
  rule.dims = {"T"};
  rule.cases = {{117, "a: keys=8"}, {0, "a: keys=16"}};
  rule.shapes = {"B=1, T=33", "B=1, T=130"};
  rule.policy = "quick, eager, warm cache";
  rule.date = "2026-11-27T15:00:00";
  return rule;
}

namespace {
class TunedRuleTest : public TunedFixture {
protected:
  TunedRuleTest() {
    options.warn = [this](llvm::StringRef text) { told += text; };
    sizes.sizes["T"] = sizes.sizes["S"] = 100;
  }
  TunedSchedules open() {
    return TunedSchedules(options.tuning.store, options.warn);
  }
  void keep(const TunedRule &rule) {
    EXPECT_TRUE(open().storeRule(getRuleKey(getKey()), rule));
  }

  std::string told;
};
} // namespace

/// T = 100 and 150 round to one power of two.
TEST_F(TunedRuleTest, DecidesByTheSizesOfACall) {
  keep(makeRule());
  auto program = create();
  EXPECT_THAT(llvm::cantFail(program->printSchedule("", sizes.sizes)),
              HasSubstr("keys=16"));
  sizes.sizes["T"] = 150;
  EXPECT_THAT(llvm::cantFail(program->printSchedule("", sizes.sizes)),
              HasSubstr("keys=8"));
  sizes.sizes["T"] = 5000;
  sizes.sizes["B"] = 3;
  EXPECT_THAT(llvm::cantFail(program->printSchedule("", sizes.sizes)),
              HasSubstr("keys=8"));
  options.tuning.mode = TuneMode::Off;
  EXPECT_THAT(print(), Not(HasSubstr("tuned")));
}

TEST_F(TunedRuleTest, TheEntryOfSuchSizesComesFirst) {
  keep(makeRule());
  tune("a: keys=24");
  EXPECT_THAT(print(), HasSubstr("keys=24"));
  sizes.sizes["T"] = 1000;
  EXPECT_THAT(print(), HasSubstr("keys=8"));
}

/// Each ingredient of the key.
TEST_F(TunedRuleTest, OtherCallsAreMisses) {
  keep(makeRule());
  const CompileOptions own = options;
  const DimSizes ownSizes = sizes;
  const std::string ownText = text;
  auto expectMiss = [&](llvm::StringRef what) {
    EXPECT_THAT(print(), Not(HasSubstr("tuned"))) << what.str();
    options = own;
    sizes = ownSizes;
    text = ownText;
    EXPECT_THAT(print(), HasSubstr("keys=16"));
  };
  sizes.sizes["HQ"] = 8;
  expectMiss("other heads");
  sizes.sizes["D"] = 32;
  expectMiss("other channels");
  options.tuning.policy.isCold = true;
  expectMiss("another policy");
  options.schedule = "tokens=8";
  expectMiss("another schedule");
  options.features = "-avx512f";
  expectMiss("another processor");
  text.replace(text.find("cap = 4"), 7, "cap = 5");
  expectMiss("another parameter");
  text.replace(text.find("where j <= i + cap"), 18, "where j >= i + cap");
  expectMiss("another program");
  text = "// Elsewhere.\n" + text;
  EXPECT_THAT(print(), HasSubstr("keys=16"));
}

TEST_F(TunedRuleTest, OtherTargetsAndAgreementsAreMisses) {
  text = "kernel f<cap = 4>(q: bf16[B, T, HQ, D], k: bf16[B, S, H, D], idx: "
         "i32[B, T, H, cap]) -> bf16[B, T, HQ, D] { a = attend(q, k, k) in "
         "selection(idx, 32) where j <= i; return a; }";
  options.target = Target::GPU;
  options.device = *gpu::findDevice("sm_90a");
  std::string key = getRuleKey(getKey());
  options.tuning.policy.agreement = 0.9;
  EXPECT_NE(getRuleKey(getKey()), key);
  options.tuning.policy.agreement = 0;
  EXPECT_EQ(getRuleKey(getKey()), key);
  options.device = *gpu::findDevice("sm_80");
  EXPECT_NE(getRuleKey(getKey()), key);
}

/// Whether queries are few follows from lengths.
TEST_F(TunedRuleTest, FewQueriesAndManyShareOne) {
  text = "kernel f(q: bf16[B, T, HQ, D], k: bf16[B, S, H, D]) -> bf16[B, T, "
         "HQ, D] { a = attend(q, k, k); return a; }";
  options.target = Target::GPU;
  options.device = *gpu::findDevice("sm_90a");
  sizes = makeSizes(
      {{"B", 1}, {"T", 1}, {"S", 8192}, {"HQ", 8}, {"H", 2}, {"D", 64}});
  std::string few = getKey();
  sizes.sizes["T"] = 8192;
  std::string many = getKey();
  EXPECT_NE(getLine(few, "queries"), getLine(many, "queries"));
  EXPECT_EQ(getRuleKey(few), getRuleKey(many));
  EXPECT_EQ(getLine(getRuleKey(few), "lengths"), "");
  EXPECT_EQ(getLine(getRuleKey(few), "kernel"), getLine(few, "kernel"));
}

static std::vector<std::string> listGuards(llvm::StringRef bytes) {
  std::vector<std::string> guards;
  for (const rt::Variant &variant :
       rt::readPackage(bytes.data(), bytes.size()).variants) {
    if (variant.targets.front().architecture != "x86-64-v3")
      continue;
    std::string all;
    for (const rt::Guard &guard : variant.guards)
      all += guard.what + ";";
    guards.push_back(all);
  }
  return guards;
}

TEST_F(TunedRuleTest, PackagesWithoutLengthsHaveItsGuards) {
  keep(makeRule());
  DimSizes heads = makeSizes({{"HQ", 4}, {"H", 2}, {"D", 64}});
  std::string package = llvm::cantFail(create()->package("", heads));
  EXPECT_THAT(listGuards(package), ElementsAre("T >= 117;", ""));
  // The package that -o writes is the same.
  EXPECT_EQ(llvm::cantFail(create()->packageByRule("", sizes, makeRule())),
            package);
  EXPECT_THAT(listGuards(llvm::cantFail(create()->package("", sizes))),
              ElementsAre(""));
  options.tuning.mode = TuneMode::Off;
  EXPECT_THAT(listGuards(llvm::cantFail(create()->package("", heads))),
              ElementsAre(""));
}

TEST_F(TunedRuleTest, PackagesOfGPUsHaveItWithinTheCompilersCases) {
  text = "kernel f(q: bf16[B, T, HQ, D], k: bf16[B, S, H, D]) -> bf16[B, T, "
         "HQ, D] { a = attend(q, k, k); return a; }";
  options.target = Target::GPU;
  options.device = *gpu::findDevice("sm_90a");
  DimSizes heads = makeSizes({{"HQ", 8}, {"H", 2}, {"D", 64}});
  auto count = [&] {
    std::string bytes = llvm::cantFail(create()->package("", heads));
    return rt::readPackage(bytes.data(), bytes.size()).variants.size();
  };
  sizes.sizes["HQ"] = 8;
  size_t without = count();
  keep(makeRule());
  EXPECT_EQ(count(), 2 * without);
}

TEST_F(TunedRuleTest, WhatCanNotBeUsedIsTold) {
  for (auto [dim, schedule, message] :
       {std::tuple("HQ", "a: keys=8", "'HQ' is no length of its inputs"),
        std::tuple("X", "a: keys=8", "'X' is no length of its inputs"),
        std::tuple("T", "a: kys=8", "isn't used")}) {
    TunedRule rule = makeRule();
    rule.dims = {dim};
    rule.cases.front().schedule = schedule;
    keep(rule);
    told.clear();
    EXPECT_THAT(print(), Not(HasSubstr("tuned")));
    EXPECT_THAT(told, HasSubstr(message));
    DimSizes heads = makeSizes({{"HQ", 4}, {"H", 2}, {"D", 64}});
    EXPECT_THAT(listGuards(llvm::cantFail(create()->package("", heads))),
                ElementsAre(""));
  }
}

TEST_F(TunedRuleTest, OneCaseHoldsWithoutLengths) {
  TunedRule rule = makeRule();
  rule.dims.clear();
  rule.cases.erase(rule.cases.begin());
  keep(rule);
  for (llvm::StringRef length : {"B", "T", "S"})
    sizes.sizes.erase(length);
  EXPECT_THAT(print(), HasSubstr("keys=16"));
}

//===-- Tuning ------------------------------------------------------------===//

namespace {
/// The worker is a script with known times: each package takes 1 ms.
class ManyShapesTest : public TunedRuleTest {
protected:
  ManyShapesTest() {
    shapes.assign(2, sizes);
    shapes[0].sizes["T"] = 33;
    shapes[1].sizes["T"] = 400;
    asked.heldOut = {sizes};
    asked.tuning.effort = Effort::Seeds;
    asked.tuning.store = options.tuning.store;
    asked.tuning.warn = options.warn;
    asked.tuning.worker.command = {"/bin/sh", "-c", R"(
      for i in $(seq $(grep -o nsapkg $1 | wc -l)); do
        echo '{"package":'$((i - 1))',"ms":1}' >> $2
      done
      echo '{"done":true}' >> $2)",
                                   "worker"};
    asked.tuning.report = [this](const Progress &progress) {
      steps.push_back(progress.what);
    };
  }
  ShapesResult run() {
    compile(text);
    CompileOptions untuned = options;
    untuned.tuning.mode = TuneMode::Off;
    auto program = llvm::cantFail(CompiledProgram::create(*module, untuned));
    return llvm::cantFail(tuneShapes(*program, "", shapes, asked));
  }
  size_t countKept() {
    return llvm::cantFail(open().exportAll()).getAsArray()->size();
  }

  std::vector<DimSizes> shapes;
  ShapesOptions asked;
  std::vector<std::string> steps;
};
} // namespace

TEST_F(ManyShapesTest, TheRuleIsKeptAndShapesCanBeRead) {
  ShapesResult result = run();
  EXPECT_TRUE(result.isKept);
  EXPECT_EQ(countKept(), 3u);
  auto rule = open().findRule(getRuleKey(getKey()));
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->describe(), "always: ''");
  EXPECT_EQ(rule->shapes.size(), 2u);
  EXPECT_EQ(rule->heldOut.size(), 1u);
  EXPECT_EQ(rule->policy, "seeds, eager, warm cache");
  sizes.sizes["T"] = 33;
  auto entry = open().find(getKey());
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->milliseconds, 1);
  EXPECT_GT(entry->measured, 0);
  EXPECT_THAT(told, IsEmpty());
  for (llvm::StringRef shape :
       {"shape 1 of 2: ", "shape 2 of 2: ", "held out 1 of 1: "})
    EXPECT_THAT(steps, testing::Contains(testing::StartsWith(shape.str())));
}

TEST_F(ManyShapesTest, OneThatFailedIsNotKept) {
  asked.mostSlowdown = 0.5;
  EXPECT_FALSE(run().isKept);
  EXPECT_EQ(countKept(), 0u);
}

TEST_F(ManyShapesTest, NothingIsKeptWhereNothingWasCompared) {
  asked.tuning.effort = Effort::Quick;
  asked.tuning.budgetSeconds = 0;
  ShapesResult result = run();
  EXPECT_FALSE(result.isKept);
  EXPECT_FALSE(result.hasPassed(asked));
  EXPECT_THAT(result.notCompared, ElementsAre(1, 2));
  EXPECT_THAT(result.shapes, IsEmpty());
  EXPECT_EQ(countKept(), 0u);
}

//===-- The store ---------------------------------------------------------===//

TEST_F(TunedRuleTest, IsExportedBesideEntries) {
  keep(makeRule());
  auto all = open().exportAll();
  ASSERT_TRUE(bool(all));
  ASSERT_EQ(all->getAsArray()->size(), 1u);
  const llvm::json::Object &entry = *all->getAsArray()->front().getAsObject();
  EXPECT_TRUE(isRuleKey(*entry.getString("key")));
  TunedRule read;
  llvm::json::Path::Root path("rule");
  ASSERT_TRUE(fromJSON(*entry.get("rule"), read, path));
  EXPECT_EQ(toJSON(read), toJSON(makeRule()));
  EXPECT_THAT(open().findSeeds(getKey()),
              ElementsAre("a: keys=16", "a: keys=8"));
  EXPECT_THAT(told, IsEmpty());
}

TEST_F(TunedRuleTest, ADamagedOneIsAMissWithAWarning) {
  DiskCache(options.tuning.store, nullptr)
      .store(getRuleKey(getKey()), "{\"dims\": 7}");
  EXPECT_THAT(print(), Not(HasSubstr("tuned")));
  EXPECT_THAT(told, HasSubstr("the tuned rule in '"));
}

static std::string failWith(llvm::StringRef field, llvm::json::Value value) {
  llvm::json::Value json = toJSON(makeRule());
  (*json.getAsObject())[field] = std::move(value);
  llvm::json::Path::Root root("rule");
  TunedRule read;
  return fromJSON(json, read, root) ? "read" : llvm::toString(root.getError());
}

static llvm::json::Value makeCases(std::initializer_list<int64_t> leasts) {
  llvm::json::Array cases;
  for (int64_t least : leasts)
    cases.push_back(llvm::json::Object{{"least", least}, {"schedule", ""}});
  return llvm::json::Value(std::move(cases));
}

// Rules come from other people.
TEST(TunedRule, FieldsAreWhatTheyCanBe) {
  EXPECT_EQ(failWith("cases", makeCases({9, 5, 0})), "read");
  for (auto wrong :
       {makeCases({}), makeCases({5}), makeCases({0, 5}), makeCases({5, 5, 0}),
        makeCases({-1, 0}), makeCases({INT64_MAX, 0}), makeCases({0, 0})})
    EXPECT_THAT(failWith("cases", wrong),
                HasSubstr("expected 1 to 16 cases, whose 'least' are at most "
                          "2^40, each below the one before, and 0 in the last "
                          "one at rule.cases"));
  EXPECT_THAT(failWith("cases", 7), HasSubstr("at rule.cases"));
  EXPECT_THAT(failWith("cases", llvm::json::Array{7}),
              HasSubstr("at rule.cases[0]"));
  EXPECT_THAT(failWith("cases", makeCases({0})), HasSubstr("at rule.dims"));
  for (llvm::json::Array wrong :
       {llvm::json::Array{}, llvm::json::Array{"T", "T"}, llvm::json::Array{""},
        llvm::json::Array{"\x1b[2J"}})
    EXPECT_THAT(failWith("dims", std::move(wrong)),
                HasSubstr("expected up to 8 names of dimensions"));
  EXPECT_THAT(failWith("shapes", llvm::json::Array{}),
              HasSubstr("at rule.shapes"));
  EXPECT_THAT(failWith("held_out", llvm::json::Array{"a\nb"}),
              HasSubstr("at rule.held_out"));
  for (double wrong : {0.5, -1.0, 1e308}) {
    EXPECT_THAT(failWith("slowdown", wrong), HasSubstr("at rule.slowdown"));
    EXPECT_THAT(failWith("held_out_slowdown", wrong),
                HasSubstr("at rule.held_out_slowdown"));
  }
  EXPECT_THAT(failWith("policy", ""), HasSubstr("at rule.policy"));
  EXPECT_THAT(failWith("date", "today"), HasSubstr("at rule.date"));
}

TEST(TunedRule, NeedsTheSizesThatItCompares) {
  TunedRule rule = makeRule();
  llvm::StringMap<int64_t> sizes;
  EXPECT_EQ(rule.find(sizes), nullptr);
  sizes["T"] = 116;
  EXPECT_EQ(rule.find(sizes)->schedule, "a: keys=16");
  sizes["T"] = 117;
  EXPECT_EQ(rule.find(sizes)->schedule, "a: keys=8");
  EXPECT_EQ(rule.describe(), "T >= 117: 'a: keys=8'; else: 'a: keys=16'");
}

/// Entries apply to all lengths that round to the same powers of two.
TEST(TunedRule, IsSettledWhereNoThresholdLiesBetween) {
  Rule rule;
  rule.dims = {"T"};
  rule.cases = {{117, 0}, {0, 1}};
  auto isSettled = [&](int64_t tokens) {
    DimSizes sizes;
    sizes.sizes["T"] = tokens;
    return rule.isSettled(sizes);
  };
  for (int64_t tokens : {91, 100, 117, 181})
    EXPECT_FALSE(isSettled(tokens)) << tokens;
  for (int64_t tokens : {0, 1, 33, 90, 182, 4096})
    EXPECT_TRUE(isSettled(tokens)) << tokens;
}

TEST(SpellSizes, RowsStay) {
  DimSizes sizes;
  sizes.sizes = {{"T", 73}, {"S", 179}, {"D", 8}};
  sizes.offsets["T"] = {0, 50, 50, 73};
  sizes.offsets["S"] = {0, 100, 150, 179};
  EXPECT_EQ(spellSizes(sizes), "D=8, S=[100, 50, 29], T=[50, 0, 23]");
  sizes.offsets["S"] = std::vector<int64_t>(301, 179);
  EXPECT_EQ(spellSizes(sizes), "D=8, S=179 in 300 rows, T=[50, 0, 23]");
}
