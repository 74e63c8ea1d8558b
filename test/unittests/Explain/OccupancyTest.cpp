//===- OccupancyTest.cpp - Blocks that share a multiprocessor -------------===//

#include "nsacc/Explain/Occupancy.h"
#include "llvm/Support/MathExtras.h"
#include <gmock/gmock.h>

using namespace nsacc;
using namespace nsacc::explain;

namespace {

const gpu::Device &getDevice(llvm::StringRef name) {
  return *gpu::findDevice(name);
}

// Compares with NVIDIA's calculator for some blocks.
TEST(Occupancy, CountsAsTheCalculatorDoes) {
  struct Case {
    const char *device;
    BlockResources block;
    int64_t blocks, warps;
    const char *bound;
  };
  const Case cases[] = {
      {"sm_90a", {384, 168, 225 << 10}, 1, 12, "registers and shared memory"},
      {"sm_90a", {128, 32, 0}, 16, 64, "registers and threads"},
      {"sm_80", {128, 255, 0}, 2, 8, "registers"},
      {"sm_80", {1024, 32, 0}, 2, 64, "registers and threads"},
      {"sm_80", {256, 32, 100 << 10}, 1, 8, "shared memory"},
      {"sm_80", {32, 16, 0}, 32, 32, "blocks"},
      {"sm_86", {1024, 32, 0}, 1, 32, "threads"},
      {"sm_86", {32, 16, 0}, 16, 16, "blocks"},
      {"sm_89", {32, 16, 0}, 24, 24, "blocks"},
      {"sm_120", {128, 40, 0}, 12, 48, "registers and threads"},
  };
  for (const Case &each : cases) {
    Occupancy found = computeOccupancy(getDevice(each.device), each.block);
    EXPECT_EQ(found.blocks, each.blocks) << each.device;
    EXPECT_EQ(found.warps, each.warps) << each.device;
    EXPECT_EQ(found.bound, each.bound)
        << each.device << ", " << each.block.threads << " threads";
  }
}

TEST(Occupancy, HasNoRoomForBlocksThatAreTooLarge) {
  Occupancy found = computeOccupancy(getDevice("sm_80"), {1024, 128, 0});
  EXPECT_EQ(found.blocks, 0);
  EXPECT_EQ(found.bound, "registers");
}

TEST(Occupancy, IsBoundByNoUnknownRegisters) {
  Occupancy found = computeOccupancy(getDevice("sm_90a"), {128, 0, 0});
  EXPECT_EQ(found.blocks, 16);
  EXPECT_EQ(found.bound, "threads");
}

/// Adds blocks, warp by warp to the four schedulers, while there is room.
int64_t fill(const gpu::Device &device, const BlockResources &block,
             int64_t mostWarps, int64_t mostBlocks) {
  int64_t warps = llvm::divideCeil(block.threads, 32);
  int64_t ofWarp = llvm::alignTo(block.registers * 32, 256);
  int64_t shared = llvm::alignTo(block.sharedBytes + 1024, 128);
  int64_t registers[4], placed = 0, blocks = 0, used = 0;
  for (int64_t &each : registers)
    each = device.limits.registersOfMultiprocessor / 4;
  while (blocks < mostBlocks) {
    used += shared;
    if (used > device.limits.sharedBytesOfMultiprocessor)
      break;
    int64_t left = warps;
    for (; left > 0 && placed < mostWarps; --left, ++placed) {
      int64_t *scheduler = std::max_element(registers, registers + 4);
      if (*scheduler < ofWarp)
        break;
      *scheduler -= ofWarp;
    }
    if (left > 0)
      break;
    ++blocks;
  }
  return blocks;
}

TEST(Occupancy, IsWhatFillingAMultiprocessorGives) {
  const struct {
    const char *name;
    int64_t warps, blocks;
  } devices[] = {{"sm_80", 64, 32},  {"sm_86", 48, 16},  {"sm_89", 48, 24},
                 {"sm_90a", 64, 32}, {"sm_100", 64, 32}, {"sm_120", 48, 24}};
  for (const auto &each : devices)
    for (int64_t threads : {32, 96, 128, 160, 256, 384, 512, 1000})
      for (int64_t registers : {16, 33, 64, 90, 128, 168, 255})
        for (int64_t shared : {0, 1000, 24 << 10, 48 << 10, 99 << 10}) {
          const gpu::Device &device = getDevice(each.name);
          BlockResources block = {threads, registers, shared};
          EXPECT_EQ(computeOccupancy(device, block).blocks,
                    fill(device, block, each.warps, each.blocks))
              << each.name << ": " << threads << " threads, " << registers
              << " registers, " << shared << " bytes";
        }
}

} // namespace
