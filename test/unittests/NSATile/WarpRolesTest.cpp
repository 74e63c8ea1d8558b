#include "NSATile/IR/WarpRoles.h"
#include "gtest/gtest.h"

using namespace nsacc::nsatile;

namespace {

constexpr int64_t kRegisters = 64 << 10;

TEST(WarpRolesTest, OneConsumerGroupHasAllThatInstructionsCanName) {
  RoleRegisters counts = RoleRegisters::get(1, kRegisters);
  EXPECT_FALSE(counts.areMoved());
  EXPECT_EQ(counts.consumer, 255);
}

TEST(WarpRolesTest, ConsumersGetWhatTheProducerLeaves) {
  RoleRegisters two = RoleRegisters::get(2, kRegisters);
  EXPECT_EQ(two.producer, 24);
  EXPECT_EQ(two.consumer, 240);
  RoleRegisters three = RoleRegisters::get(3, kRegisters);
  EXPECT_EQ(three.producer, 32);
  EXPECT_EQ(three.consumer, 160);
}

TEST(WarpRolesTest, AProducerThatReadsListsHasMore) {
  RoleRegisters two = RoleRegisters::get(2, kRegisters, RoleRegisters::kLists);
  EXPECT_EQ(two.producer, 40);
  EXPECT_EQ(two.consumer, 232);
}

TEST(WarpRolesTest, CountsAreOnesThatCanBeSetAndThatABlockHas) {
  for (int64_t registers : {kRegisters / 2, kRegisters})
    for (int64_t groups = 1; groups <= 7; ++groups) {
      RoleRegisters counts = RoleRegisters::get(groups, registers);
      if (!counts.areMoved())
        continue;
      int64_t atStart = registers / ((groups + 1) * kGroupThreads) / 8 * 8;
      EXPECT_EQ(counts.consumer % 8, 0) << groups;
      EXPECT_EQ(counts.producer % 8, 0) << groups;
      EXPECT_GE(counts.producer, 24) << groups;
      EXPECT_LE(counts.producer, atStart) << groups;
      EXPECT_GE(counts.consumer, atStart) << groups;
      EXPECT_LE(counts.consumer, 255) << groups;
      EXPECT_LE(groups * counts.consumer + counts.producer,
                (groups + 1) * atStart)
          << groups;
    }
}

} // namespace
