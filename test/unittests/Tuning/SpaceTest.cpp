//===- SpaceTest.cpp - Schedules that may be faster -----------------------===//

#include "TuningTest.h"
#include "llvm/ADT/StringSet.h"

using namespace nsacc;
using namespace nsacc::tuning;
using namespace nsacc::schedule;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

static const char *const kProgram = R"(
kernel f(q: [B, T, 16, 64], k: [B, S, 4, 64], v: [B, S, 4, 64], g: f32[B, T, 16])
    -> [B, T, 16, 64] {
  kc, vc = pool(k, 32, 16), pool(v, 32, 16);
  cmp = attend(q, kc, vc) where end(j) <= i;
  sel = topk(blocks(prob(cmp), 64), 8) keep last 1;
  slc = attend(q, k, v) in sel where j <= i;
  swa = attend(q, k, v) where 0 <= i - j < 64;
  return g * cmp + slc + swa;
})";

namespace {
class SpaceTest : public TuningTest {
protected:
  static Settings parse(llvm::StringRef text) {
    return llvm::cantFail(Settings::parse(text));
  }
  std::vector<Group> getGroups(llvm::StringRef device,
                               llvm::StringRef schedule = "") {
    return llvm::cantFail(listGroups(compile(kProgram), getGoal(device), {},
                                     parse(schedule), sizes));
  }
  std::vector<Candidate> list(llvm::StringRef device, Grid grid,
                              llvm::StringRef given = "",
                              llvm::StringRef schedule = "") {
    nsa::KernelOp kernel = compile(kProgram);
    Settings settings = parse(given), base = parse(schedule);
    std::vector<Candidate> all;
    for (const Group &group : llvm::cantFail(
             listGroups(kernel, getGoal(device), settings, base, sizes)))
      for (Candidate &each : listCandidates(kernel, getGoal(device), settings,
                                            base, group, grid, sizes))
        all.push_back(std::move(each));
    return all;
  }
  static std::vector<std::string> getSchedules(llvm::ArrayRef<Candidate> all) {
    std::vector<std::string> schedules;
    for (const Candidate &each : all)
      schedules.push_back(each.schedule.toString());
    return schedules;
  }

  DimSizes sizes = makeSizes({{"B", 1}, {"T", 2000}, {"S", 2000}});
};
} // namespace

TEST_F(SpaceTest, OpsOfOneProgramAreOneGroup) {
  for (const Group &group : getGroups("sm_90a"))
    if (llvm::is_contained(group.ops, "slc")) {
      EXPECT_THAT(group.ops, ElementsAre("cmp", "slc", "swa"));
      EXPECT_GT(group.predicted, 0);
    }
  for (const Group &group : getGroups(
           "sm_90a", "slc: program=own; cmp: program=own; swa: program=own"))
    if (llvm::is_contained(group.ops, "slc"))
      EXPECT_THAT(group.ops, ElementsAre("slc"));
}

TEST_F(SpaceTest, CandidatesHoldAndDiffer) {
  for (llvm::StringRef device : {"", "sm_80", "sm_90a"})
    for (Grid grid : {Grid::Programs, Grid::Tiles, Grid::Steps}) {
      SCOPED_TRACE(device.str());
      nsa::KernelOp kernel;
      llvm::StringSet<> known;
      for (const Group &group : getGroups(device)) {
        kernel = *module->getOps<nsa::KernelOp>().begin();
        known.clear();
        for (const Candidate &each : listCandidates(kernel, getGoal(device), {},
                                                    {}, group, grid, sizes)) {
          EXPECT_TRUE(known.insert(each.whole).second) << each.whole;
          EXPECT_GT(each.predicted, 0);
          if (known.size() % 8 > 0)
            continue;
          auto again =
              makeCandidate(kernel, getGoal(device), {}, each.schedule, sizes);
          ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
          EXPECT_EQ(again->whole, each.whole);
        }
      }
    }
}

TEST_F(SpaceTest, TheFastestByTheModelComeFirst) {
  nsa::KernelOp kernel = compile(kProgram);
  for (const Group &group :
       llvm::cantFail(listGroups(kernel, getGoal("sm_90a"), {}, {}, sizes))) {
    double before = 0;
    for (const Candidate &each : listCandidates(
             kernel, getGoal("sm_90a"), {}, {}, group, Grid::Tiles, sizes)) {
      EXPECT_LE(before, each.predicted);
      before = each.predicted;
    }
  }
}

TEST_F(SpaceTest, WhatIsGivenStays) {
  for (llvm::StringRef device : {"", "sm_90a"}) {
    // A value that isn't in the grid.
    std::vector<Candidate> all = list(device, Grid::Tiles, "keys=48");
    EXPECT_THAT(getSchedules(all), Each(Not(HasSubstr("keys="))));
    // All other fields of these ops are varied nevertheless.
    EXPECT_THAT(getSchedules(all), Contains(HasSubstr("cmp: tokens=")));
  }
}

TEST_F(SpaceTest, CPUsTrySingleTokens) {
  EXPECT_THAT(getSchedules(list("", Grid::Tiles)),
              Contains(HasSubstr("cmp: tokens=1, keys=64")));
}

TEST_F(SpaceTest, CandidatesBuildOnASchedule) {
  std::vector<Candidate> all =
      list("sm_90a", Grid::Steps, "", "slc: tokens=8; sel: tokens=4");
  EXPECT_FALSE(all.empty());
  EXPECT_THAT(getSchedules(all), Each(HasSubstr("sel: ")));
}

TEST_F(SpaceTest, SchedulesThatDoNotHoldAreErrors) {
  auto made = makeCandidate(compile(kProgram), getGoal("sm_90a"), {},
                            parse("cmp: order=union"), sizes);
  EXPECT_THAT(llvm::toString(made.takeError()), HasSubstr("no selection"));
}
