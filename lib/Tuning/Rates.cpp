//===- Rates.cpp - Rates of devices ---------------------------------------===//

#include "nsacc/Tuning/Model.h"
#include "llvm/Support/Threading.h"
#include "llvm/TargetParser/Host.h"

using namespace nsacc;
using namespace nsacc::tuning;

/// Speed of reads relative to the memory's speed on the data sheet: 4.6 of 4.8
/// TB/s on an H200.
static constexpr double kReached = 0.96;

/// Rates of code for sm_90a except memory: measured on an H200
/// (docs/Rationale/Tuning.md).
static constexpr Rates kWarpgroups = {1, 1.85e9, 3700, 16, 128, 40, 0, 2.5e-6};

/// Rates of products of warps, by the device's compute capability.
static Rates getWarps(gpu::Capability capability) {
  if (capability.major == 9)
    return {1, 1.85e9, 2300, 16, 128, 40, 0, 4e-6};
  if (capability == gpu::Capability{8, 0})
    return {1, 1.4e9, 1900, 16, 48, 40, 0, 4e-6};
  if (capability.major == 8)
    return {1, 1.7e9, 900, 16, 96, 24, 0, 4e-6};
  return {1, 2e9, 1800, 16, 96, 40, 0, 4e-6};
}

/// Rates of a core with vectors of 512 or 256 bits, in f32.
static Rates getProcessor(unsigned threads) {
  bool isWide = llvm::sys::getHostCPUFeatures().lookup("avx512f");
  double lanes = isWide ? 16 : 8;
  Rates rates = {1, 3e9, 2.4 * lanes, lanes / 8, lanes, 32, 0, 5e-6};
  rates.units = threads > 0
                    ? threads
                    : llvm::hardware_concurrency().compute_thread_count();
  rates.memoryBytes = 20e9 * rates.units;
  return rates;
}

Rates Rates::get(const schedule::Goal &goal, unsigned threads) {
  if (!goal.device)
    return getProcessor(threads);
  Rates rates = goal.device->code.hasWarpgroupProducts
                    ? kWarpgroups
                    : getWarps(goal.device->capability);
  rates.units = static_cast<double>(
      std::max<int64_t>(goal.device->limits.multiprocessors, 1));
  rates.memoryBytes = kReached * goal.device->getMemoryBytesPerSecond();
  rates.areMeasured = goal.device->capability == gpu::Capability{9, 0} &&
                      goal.device->isOfKnownProduct();
  return rates;
}
