//===- Occupancy.h - Blocks that share a multiprocessor ---------*- C++ -*-===//

#ifndef NSACC_EXPLAIN_OCCUPANCY_H
#define NSACC_EXPLAIN_OCCUPANCY_H

#include "nsacc/GPU/Device.h"

namespace nsacc::explain {

/// What a block takes.
struct BlockResources {
  int64_t threads = 0;
  /// Of a thread, when it starts; 0: not known.
  int64_t registers = 0;
  /// Static and dynamic shared memory, without what the device reserves.
  int64_t sharedBytes = 0;
};

struct Occupancy {
  /// Blocks of a multiprocessor at a time; 0: not even one has room.
  int64_t blocks = 0;
  int64_t warps = 0, mostWarps = 0;
  /// What there is too little of for one more: "registers", "shared memory",
  /// "threads" or "blocks"; several are joined by "and".
  std::string bound;
};

/// As the CUDA occupancy calculator counts. Unknown registers bound nothing.
Occupancy computeOccupancy(const gpu::Device &device,
                           const BlockResources &block);

} // namespace nsacc::explain

#endif // NSACC_EXPLAIN_OCCUPANCY_H
