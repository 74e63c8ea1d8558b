//===- ChecksumTest.cpp - XXH64 -------------------------------------------===//

#include "Checksum.h"
#include <gtest/gtest.h>
#include <string>

using namespace nsacc::rt;

static std::string makeBytes(size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i)
    bytes += static_cast<char>(i * 7 + 1);
  return bytes;
}

// Compares with LLVM's xxHash64, which is another implementation.
TEST(ChecksumTest, ChecksumsAreThoseOfOthers) {
  EXPECT_EQ(computeChecksum(""), 0xef46db3751d8e999u);
  EXPECT_EQ(computeChecksum("abc"), 0x44bc2cf5ad770999u);
  EXPECT_EQ(computeChecksum("abc", 0x9e3779b1), 0x1318df30094a85fdu);
  EXPECT_EQ(computeChecksum("The quick brown fox jumps over the lazy dog"),
            0x0b242d361fda71bcu);
  EXPECT_EQ(computeChecksum(makeBytes(31)), 0x6ab1c40e29f50073u);
  EXPECT_EQ(computeChecksum(makeBytes(32)), 0x5a0756fbe9ecd3d1u);
  EXPECT_EQ(computeChecksum(makeBytes(33)), 0xdc50cdc37bb9c183u);
  // Every length around the ends of stripes, words and halves.
  uint64_t all = 0;
  for (size_t count = 0; count < 300; ++count)
    all = all * 31 + computeChecksum(makeBytes(count));
  EXPECT_EQ(all, 0xc0292a81d716673fu);
}

// Includes changes of a bit in each of two words of a lane, the highest one
// among them.
TEST(ChecksumTest, NoBitsMayDiffer) {
  std::string bytes = makeBytes(77);
  uint64_t right = computeChecksum(bytes);
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string other = bytes;
    other[bit / 8] ^= static_cast<char>(1 << bit % 8);
    EXPECT_NE(computeChecksum(other), right) << bit;
    size_t next = (bit / 8 + 32) % bytes.size();
    other[next] ^= static_cast<char>(1 << bit % 8);
    EXPECT_NE(computeChecksum(other), right) << bit;
  }
}
