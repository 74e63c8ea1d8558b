//===- PartCountsTest.cpp - Tests of counts of parts ----------------------===//

#include "nsacc/Schedule/PartCounts.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace nsacc::schedule;

namespace {

/// Arithmetic on numbers, under the names of arithmetic on values of a plan.
/// Numbers aren't negative.
struct NumberMath {
  int64_t constant(int64_t value) const { return value; }
  int64_t mul(int64_t lhs, int64_t rhs) const { return lhs * rhs; }
  int64_t floorDiv(int64_t lhs, int64_t rhs) const { return lhs / rhs; }
  int64_t ceilDiv(int64_t lhs, int64_t rhs) const {
    return llvm::divideCeil(lhs, rhs);
  }
  int64_t min(int64_t lhs, int64_t rhs) const { return std::min(lhs, rhs); }
  int64_t max(int64_t lhs, int64_t rhs) const { return std::max(lhs, rhs); }
  int64_t clamp(int64_t value, int64_t low, int64_t high) const {
    return max(min(value, high), low);
  }
  bool less(int64_t lhs, int64_t rhs) const { return lhs < rhs; }
  int64_t select(bool condition, int64_t yes, int64_t no) const {
    return condition ? yes : no;
  }
};

int64_t split(int64_t tiles, int64_t walked, int64_t tileKeys, int64_t blocks) {
  return countSplits(NumberMath(), tiles, walked, tileKeys, blocks);
}

TEST(PartCounts, SplitsFillADevice) {
  // One round of 132 blocks has room for 16 parts of each of 8 tiles.
  EXPECT_EQ(split(8, 1 << 17, 128, 132), 16);
  // 70 tiles leave 62 of 132 blocks idle; two rounds have room for 3 parts.
  EXPECT_EQ(split(70, 1 << 17, 128, 132), 3);
  // Two parts take no less time than one.
  EXPECT_EQ(split(100, 1 << 17, 128, 132), 1);
  EXPECT_EQ(split(132, 1 << 17, 128, 132), 1);
  EXPECT_EQ(split(1000, 1 << 17, 128, 132), 1);
}

TEST(PartCounts, PartsAreWorthTheirCost) {
  // At least two tiles of keys in each part.
  EXPECT_EQ(split(1, 1024, 128, 132), 4);
  EXPECT_EQ(split(1, 255, 128, 132), 1);
  // The merge of n parts takes as long as 8 n keys.
  EXPECT_EQ(split(1, 8 * 16 * 16 - 1, 16, 132), 8);
  EXPECT_EQ(split(1, 8 * 16 * 16, 16, 132), 16);
  EXPECT_EQ(split(1, 1 << 28, 128, 1000), 64);
}

TEST(PartCounts, NothingIsSplitWithoutADevice) {
  for (int64_t tiles : {0, 1, 7, 64})
    for (int64_t walked : {0, 1, 100000})
      EXPECT_EQ(split(tiles, walked, 64, 0), 1) << tiles << " " << walked;
}

TEST(PartCounts, RankingPartsHaveBlocksToDropOut) {
  auto count = [](int64_t tiles, int64_t blocks, int64_t top) {
    return countRankingParts(NumberMath(), tiles, blocks, top, 132);
  };
  EXPECT_EQ(count(1, 1 << 20, 16), 64);
  EXPECT_EQ(count(264, 1 << 20, 16), 1);
  // 4 parts' lists of 16 have 64 entries; each part has 32 blocks at least.
  EXPECT_EQ(count(1, 127, 16), 1);
  EXPECT_EQ(count(1, 128, 16), 4);
  EXPECT_EQ(count(0, 128, 16), 4);
}

} // namespace
