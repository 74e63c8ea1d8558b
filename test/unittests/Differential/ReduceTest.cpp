//===- ReduceTest.cpp - Replayed choices, and cases as text ---------------===//

#include "Generator.h"
#include "gtest/gtest.h"

using namespace nsacc::differential;

TEST(ChoicesTest, AReplayDrawsTheSame) {
  Choices first(/*seed=*/5);
  Case made = generate(first);
  Choices second(first.getDrawn());
  EXPECT_EQ(print(generate(second)), print(made));
}

TEST(ChoicesTest, EveryListMakesAProgram) {
  Choices nothing(std::vector<uint32_t>{});
  Case simplest = generate(nothing);
  EXPECT_NE(simplest.program.find("attend(q, k, v);"), std::string::npos);
  EXPECT_EQ(simplest.runs.size(), 1u);
}

TEST(ChoicesTest, RangesNest) {
  Choices choices(/*seed=*/6);
  generate(choices);
  ASSERT_FALSE(choices.getRanges().empty());
  for (Choices::Range range : choices.getRanges()) {
    EXPECT_LE(range.begin, range.end);
    EXPECT_LE(range.end, choices.getDrawn().size());
  }
}

TEST(CaseTest, WhatIsPrintedIsRead) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Choices choices(seed);
    Case made = generate(choices);
    std::string text = print(made);
    auto read = parseCase(text);
    ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
    read->program = made.program;
    EXPECT_EQ(print(*read), text);
  }
}
