//===- StoreTest.cpp - Tuned schedules in files ---------------------------===//

#include "TunedFixture.h"
#include "nsacc/Driver/CompiledProgram.h"
#include "nsacc/Driver/TunedSchedules.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <gmock/gmock.h>
#include <limits>

using namespace nsacc;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = llvm::sys::fs;

namespace {
class StoreTest : public testing::Test {
protected:
  StoreTest() {
    EXPECT_FALSE(fs::createUniqueDirectory("nsacc-tuned", root));
    options.mode = CacheMode::ReadWrite;
    options.folder = std::string(root) + "/tuned";
  }
  ~StoreTest() override { fs::remove_directories(root); }

  TunedSchedules open() {
    return TunedSchedules(options, [this](llvm::StringRef text) {
      warnings.push_back(text.str());
    });
  }
  static TunedSchedule make(llvm::StringRef schedule) {
    TunedSchedule tuned = makeTuned(schedule);
    tuned.milliseconds = 1.5;
    tuned.low = 1.25;
    tuned.high = 2;
    tuned.chosenMilliseconds = 1.75;
    tuned.measured = 7;
    return tuned;
  }

  llvm::SmallString<128> root;
  CacheOptions options;
  std::vector<std::string> warnings;
};
} // namespace

static const char *const kKey =
    "tuned: 2\ncompiler: abc\nkernel: f(q: f32[B])\nprogram: 12\nschedule: \n"
    "sizes: D=64\nqueries: \ndevice: \ntarget: sm_90a\nlengths: B=1\n";

TEST_F(StoreTest, FindsWhatWasStored) {
  EXPECT_FALSE(open().find(kKey));
  open().store(kKey, make("keys=32"));
  auto found = open().find(kKey);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->schedule, "keys=32");
  EXPECT_EQ(found->milliseconds, 1.5);
  EXPECT_EQ(found->low, 1.25);
  EXPECT_EQ(found->measured, 7);
  EXPECT_FALSE(open().find(std::string(kKey) + "x"));
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(StoreTest, ReadOnlyWritesNothing) {
  options.mode = CacheMode::ReadOnly;
  open().store(kKey, make("keys=32"));
  EXPECT_FALSE(fs::exists(options.folder));
}

TEST_F(StoreTest, WhatIsNoTunedScheduleIsAMissWithAWarning) {
  DiskCache(options, nullptr).store(kKey, "{\"schedule\": 7}");
  EXPECT_FALSE(open().find(kKey));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("isn't used: ")));
}

/// The error message for an entry with another value in a field.
static std::string failWith(llvm::StringRef field, llvm::json::Value value) {
  llvm::json::Value json = toJSON(makeTuned("a: keys=16"));
  (*json.getAsObject())[field] = std::move(value);
  llvm::json::Path::Root root("tuned");
  TunedSchedule read;
  return fromJSON(json, read, root) ? "read" : llvm::toString(root.getError());
}

// Entries come from other people.
TEST_F(StoreTest, FieldsAreWhatTheyCanBe) {
  double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(failWith("ms", 0.5), "read");
  for (const char *time : {"ms", "chosen_ms"})
    for (double wrong : {-1.0, 0.0, 1e308, infinity})
      EXPECT_EQ(failWith(time, wrong),
                "expected milliseconds of a run, from 1e-6 to a day at tuned." +
                    std::string(time));
  for (auto [low, high] :
       {std::pair(-1.0, 1.0), std::pair(2.0, 1.0), std::pair(1.0, infinity)})
    EXPECT_THAT(failWith("spread_ms", llvm::json::Array{low, high}),
                HasSubstr("the lesser one first at tuned.spread_ms"));
  for (const char *field : {"schedule", "sizes", "policy"})
    for (const std::string &wrong :
         {std::string("B=1\n"), std::string("\x1b[2J"), std::string(4097, 'B')})
      EXPECT_EQ(failWith(field, wrong),
                "expected a line of at most 4096 bytes without control "
                "characters at tuned." +
                    std::string(field));
  EXPECT_EQ(failWith("whole", "a\nb"), "read");
  EXPECT_THAT(failWith("whole", "\x1b"), HasSubstr("at tuned.whole"));
  EXPECT_THAT(failWith("whole", ""), HasSubstr("at tuned.whole"));
  EXPECT_THAT(failWith("policy", ""), HasSubstr("at tuned.policy"));
  EXPECT_EQ(failWith("date", "2024-02-29T23:59:59"), "read");
  for (const std::string &wrong :
       {std::string(), std::string("2026-11-27"), std::string("yesterday"),
        std::string("2026-13-01T00:00:00"), std::string("2026-11-27T24:00:00"),
        std::string("2026-11-27T15:00:00Z"), std::string(1 << 20, '2')})
    EXPECT_EQ(failWith("date", wrong),
              "expected a date as 2026-11-27T15:00:00 at tuned.date");
  EXPECT_THAT(failWith("error", infinity), HasSubstr("at tuned.error"));
  EXPECT_THAT(failWith("error", -1), HasSubstr("at tuned.error"));
  EXPECT_THAT(failWith("measured", -1), HasSubstr("at tuned.measured"));
  EXPECT_THAT(failWith("failed", -1), HasSubstr("at tuned.failed"));
  EXPECT_THAT(failWith("clock_mhz", -1), HasSubstr("at tuned.clock_mhz"));
}

TEST_F(StoreTest, SeedsOutliveTheBuild) {
  open().store(kKey, make("keys=32"));
  std::string other = kKey;
  other.replace(other.find("abc"), 3, "def");
  other.replace(other.find("B=1"), 3, "B=8");
  EXPECT_THAT(open().findSeeds(other), ElementsAre("keys=32"));
  open().store(other, make("keys=64"));
  open().store(kKey, make(""));
  open().store(kKey, make("keys=32"));
  EXPECT_THAT(open().findSeeds(kKey), ElementsAre("keys=32", "keys=64"));
  other.replace(other.find("D=64"), 4, "D=32");
  EXPECT_THAT(open().findSeeds(other), IsEmpty());
}

TEST_F(StoreTest, ShippedSeedsAreOfTheirKernel) {
  std::string key = kKey;
  auto set = [&](llvm::StringRef line, llvm::StringRef with) {
    key.replace(key.find(line.str()), line.size(), with.str());
  };
  set("kernel: f(q: f32[B])",
      "kernel: flash(q: bf16[B, T, HQ, D], k: bf16[B, S, H, D], v: bf16[B, S, "
      "H, DV])");
  EXPECT_EQ(open().findSeeds(key).size(), 2u);
  set("queries: ", "queries: few");
  EXPECT_THAT(open().findSeeds(key), ElementsAre(HasSubstr("splits=8")));
  set("target: sm_90a", "target: sm_80");
  EXPECT_THAT(open().findSeeds(key), IsEmpty());
}

TEST_F(StoreTest, ExportsAllAndNoSeeds) {
  open().store(kKey, make("keys=32"));
  auto all = open().exportAll();
  ASSERT_TRUE(bool(all));
  ASSERT_EQ(all->getAsArray()->size(), 1u);
  const llvm::json::Object &entry = *(*all->getAsArray())[0].getAsObject();
  EXPECT_EQ(entry.getString("key"), kKey);
  EXPECT_EQ(entry.getObject("tuned")->getString("schedule"), "keys=32");
}

TEST(TuneMode, Spellings) {
  EXPECT_EQ(readTuneMode("off")->first, TuneMode::Off);
  auto full = readTuneMode("full,graph,cold");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->first, TuneMode::Full);
  EXPECT_TRUE(full->second.isGraph && full->second.isCold);
  for (llvm::StringRef wrong : {"", "on", "replay,warm", ",graph", "replay,"})
    EXPECT_FALSE(readTuneMode(wrong)) << wrong.str();
}

TEST(SpellLengths, RoundsToPowersOfTwo) {
  Signature signature;
  Argument input;
  for (llvm::StringRef name : {"B", "T", "D"}) {
    Dim &dim = input.dims.emplace_back();
    dim.name = name.str();
  }
  signature.inputs.push_back(input);
  DimSizes sizes;
  sizes.sizes["B"] = 1;
  sizes.sizes["T"] = 3000;
  sizes.sizes["D"] = 64;
  EXPECT_EQ(spellLengths(signature, sizes, {"D"}), "B=1,T=4096");
  sizes.sizes["T"] = 2800;
  EXPECT_EQ(spellLengths(signature, sizes, {"D"}), "B=1,T=2048");
  sizes.sizes["T"] = 0;
  sizes.batchRows = 6;
  EXPECT_EQ(spellLengths(signature, sizes, {"D"}), "B=1,T=0,rows=8");
}
