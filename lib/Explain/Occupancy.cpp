//===- Occupancy.cpp - Blocks that share a multiprocessor -----------------===//

#include "nsacc/Explain/Occupancy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <vector>

using namespace nsacc;
using namespace nsacc::explain;

namespace {
/// Limits of a multiprocessor, by compute capability (CUDA programming guide,
/// "Compute Capabilities": technical specifications).
struct Slots {
  int64_t warps, blocks;
};
} // namespace

static Slots getSlots(gpu::Capability capability) {
  if (capability == gpu::Capability{8, 6} ||
      capability == gpu::Capability{8, 7})
    return {48, 16};
  if (capability == gpu::Capability{8, 9} || capability.major >= 11)
    return {48, 24};
  return {64, 32};
}

// Equal for all of these capabilities. Registers are allocated to warps in
// units of 256, by four schedulers with a quarter each. Shared memory is
// allocated in units of 128 bytes, with 1 KiB of each block reserved.
static constexpr int64_t kWarp = 32, kRegisterUnit = 256, kSchedulers = 4,
                         kSharedUnit = 128, kReservedShared = 1024;

Occupancy explain::computeOccupancy(const gpu::Device &device,
                                    const BlockResources &block) {
  Slots slots = getSlots(device.capability);
  int64_t warps = std::max<int64_t>(llvm::divideCeil(block.threads, kWarp), 1);
  struct Limit {
    int64_t blocks;
    const char *name;
  };
  std::vector<Limit> limits;
  if (block.registers > 0) {
    int64_t ofWarp = llvm::alignTo(block.registers * kWarp, kRegisterUnit);
    int64_t most = device.limits.registersOfMultiprocessor / ofWarp;
    limits.push_back({most / kSchedulers * kSchedulers / warps, "registers"});
  }
  int64_t shared =
      llvm::alignTo(block.sharedBytes + kReservedShared, kSharedUnit);
  limits.push_back(
      {device.limits.sharedBytesOfMultiprocessor / shared, "shared memory"});
  limits.push_back({slots.warps / warps, "threads"});
  limits.push_back({slots.blocks, "blocks"});
  Occupancy found;
  found.mostWarps = slots.warps;
  found.blocks =
      llvm::min_element(limits, [](const Limit &lhs, const Limit &rhs) {
        return lhs.blocks < rhs.blocks;
      })->blocks;
  found.warps = found.blocks * warps;
  std::vector<std::string> names;
  for (const Limit &limit : limits)
    if (limit.blocks == found.blocks)
      names.push_back(limit.name);
  found.bound = llvm::join(names, " and ");
  return found;
}
