//===- ReplayTest.cpp - Compilations use tuned schedules ------------------===//

#include "TunedFixture.h"
#include "nsacc/Tuning/Tuner.h"

using namespace nsacc;
using namespace nsacc::tuning;
using ::testing::HasSubstr;
using ::testing::Not;

using ReplayTest = TunedFixture;

TEST_F(ReplayTest, TakesWhatWasTuned) {
  EXPECT_THAT(print(), Not(HasSubstr("tuned")));
  tune("a: keys=16");
  EXPECT_THAT(print(), HasSubstr("keys=16"));
  EXPECT_THAT(print(), HasSubstr("keys: tuned"));
  options.tuning.mode = TuneMode::Off;
  EXPECT_THAT(print(), Not(HasSubstr("keys=16")));
}

/// Each ingredient of the key.
TEST_F(ReplayTest, OtherCallsAreMisses) {
  options.threads = 3;
  tune("a: keys=16");
  const CompileOptions own = options;
  const DimSizes ownSizes = sizes;
  const std::string ownText = text;
  auto expectMiss = [&](llvm::StringRef what) {
    EXPECT_THAT(print(), Not(HasSubstr("keys=16"))) << what.str();
    options = own;
    sizes = ownSizes;
    text = ownText;
    EXPECT_THAT(print(), HasSubstr("keys=16"));
  };
  sizes.sizes["T"] = 4000;
  expectMiss("other lengths");
  sizes.sizes["HQ"] = 8;
  expectMiss("other heads");
  options.tuning.policy.isCold = true;
  expectMiss("another policy");
  options.schedule = "tokens=8";
  expectMiss("another schedule");
  options.threads = 8;
  expectMiss("more threads");
  options.features = "-avx512f";
  expectMiss("another processor");
  text.replace(text.find("cap = 4"), 7, "cap = 5");
  expectMiss("another parameter");
  text.replace(text.find("where j <= i + cap"), 18, "where j >= i + cap");
  expectMiss("another program");
  sizes.sizes["T"] = 1100;
  options.threads = 4;
  EXPECT_THAT(print(), HasSubstr("keys=16")) << "the same powers of two";
}

/// A program's place in a file doesn't change its speed.
TEST_F(ReplayTest, TheSameProgramElsewhere) {
  tune("a: keys=16");
  text = "// A comment.\n\n  " + text + "\n";
  EXPECT_THAT(print(), HasSubstr("keys=16"));
}

TEST_F(ReplayTest, WhatDoesNotFitIsLeftOut) {
  for (llvm::StringRef wrong :
       {"a: order=union", "b: keys=16", "a: tokens=4096, keys=16384"}) {
    tune(wrong);
    std::string told;
    options.warn = [&](llvm::StringRef text) { told += text; };
    EXPECT_THAT(print(), Not(HasSubstr("tuned")));
    EXPECT_THAT(told, HasSubstr("the tuned schedule '" + wrong.str() +
                                "' of kernel 'f' isn't used: "));
  }
}

/// The cost of programs with selections depends on it.
TEST_F(ReplayTest, HowMuchNeighboursAgreeTellsSelectionsApart) {
  tune("a: keys=16");
  options.tuning.policy.agreement = 0.9;
  EXPECT_THAT(print(), HasSubstr("keys=16"));
  text = "kernel f<cap = 4>(q: f32[B, T, HQ, D], k: f32[B, S, H, D], idx: "
         "i32[B, T, H, cap]) -> f32[B, T, HQ, D] { a = attend(q, k, k) in "
         "selection(idx, 32) where j <= i; return a; }";
  tune("a: keys=8");
  EXPECT_THAT(print(), HasSubstr("keys=8"));
  options.tuning.policy.agreement = 0.88;
  EXPECT_THAT(print(), HasSubstr("keys=8")) << "the same tenth";
  options.tuning.policy.agreement = 0.7;
  EXPECT_THAT(print(), Not(HasSubstr("keys=8")));
  options.tuning.policy.agreement = 0;
  EXPECT_THAT(print(), Not(HasSubstr("keys=8")));
}

TEST(TuneMode, IsReadAndSpelled) {
  auto read = readTuneMode("full,graph,agreement=0.88,cold");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->first, TuneMode::Full);
  EXPECT_TRUE(read->second.isGraph && read->second.isCold);
  EXPECT_EQ(read->second.agreement, 0.88);
  EXPECT_EQ(spellReplay(read->second), "replay,graph,cold,agreement=0.9");
  EXPECT_EQ(spellReplay({}), "replay");
  // Spelled modes can be read.
  EXPECT_EQ(spellReplay({false, false, 0.999}), "replay,agreement=0.9");
  for (llvm::StringRef wrong :
       {"", "graph", "replay,", "replay,agreement", "replay,agreement=1",
        "replay,agreement=-0.1", "replay,agreement=nan", "replay,agreement="})
    EXPECT_FALSE(readTuneMode(wrong)) << wrong.str();
}

TEST_F(ReplayTest, WhatDoesNotHoldIsTold) {
  tune("a: kys=16");
  std::string told;
  options.warn = [&](llvm::StringRef text) { told += text; };
  EXPECT_THAT(print(), Not(HasSubstr("tuned")));
  EXPECT_THAT(told, HasSubstr("isn't used"));
}

TEST_F(ReplayTest, TheModelDoesWithoutRuns) {
  options.tuning.mode = TuneMode::Model;
  compile(text);
  ASSERT_FALSE(bool(addTuner(*module, options, {})));
  auto program = llvm::cantFail(CompiledProgram::create(*module, options));
  EXPECT_THAT(llvm::cantFail(program->printSchedule("", sizes.sizes)),
              Not(HasSubstr("tuned")));
  // Without lengths, a call's key isn't known.
  sizes.sizes.erase("T");
  EXPECT_THAT(llvm::cantFail(program->printSchedule("", sizes.sizes)),
              Not(HasSubstr("tuned")));
}

TEST_F(ReplayTest, MeasuringThatFailsLeavesTheCompilersChoice) {
  options.tuning.mode = TuneMode::Quick;
  std::string told;
  options.warn = [&](llvm::StringRef text) { told += text; };
  compile(text);
  WorkerOptions worker;
  worker.command = {"/bin/false"};
  ASSERT_FALSE(bool(addTuner(*module, options, worker)));
  auto program = llvm::cantFail(CompiledProgram::create(*module, options));
  EXPECT_THAT(llvm::cantFail(program->printSchedule("", sizes.sizes)),
              Not(HasSubstr("tuned")));
  EXPECT_THAT(told, HasSubstr("kernel 'f' isn't tuned, and has the compiler's "
                              "schedule: nothing can be measured"));
}

TEST(ResultsTest, TimesThatVaryAreTold) {
  TunedSchedule tuned;
  EXPECT_FALSE(findNoise(tuned));
  tuned.low = 2;
  tuned.high = 2.5;
  EXPECT_FALSE(findNoise(tuned));
  tuned.high = 3;
  EXPECT_DOUBLE_EQ(findNoise(tuned).value_or(0), 0.5);
}
