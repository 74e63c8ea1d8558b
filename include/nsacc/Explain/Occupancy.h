//===- Occupancy.h - Blocks that share a multiprocessor ---------*- C++ -*-===//

#ifndef NSACC_EXPLAIN_OCCUPANCY_H
#define NSACC_EXPLAIN_OCCUPANCY_H

#include "nsacc/GPU/Device.h"

namespace nsacc::explain {

/// Resources of a block.
struct BlockResources {
  int64_t threads = 0;
  /// Registers of a thread at the start; 0: not known.
  int64_t registers = 0;
  /// Static and dynamic shared memory, without the device's reserve.
  int64_t sharedBytes = 0;
};

struct Occupancy {
  /// Blocks that run on a multiprocessor at the same time; 0: not even one
  /// fits.
  int64_t blocks = 0;
  int64_t warps = 0, mostWarps = 0;
  /// The resource that limits the number of blocks: "registers", "shared
  /// memory", "threads" or "blocks"; several are joined by "and".
  std::string bound;
};

/// Counts as the CUDA occupancy calculator does. Unknown registers limit
/// nothing.
Occupancy computeOccupancy(const gpu::Device &device,
                           const BlockResources &block);

} // namespace nsacc::explain

#endif // NSACC_EXPLAIN_OCCUPANCY_H
