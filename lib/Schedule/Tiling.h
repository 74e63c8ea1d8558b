//===- Tiling.h - Tiles of a program, with reasons --------------*- C++ -*-===//

#ifndef NSACC_LIB_SCHEDULE_TILING_H
#define NSACC_LIB_SCHEDULE_TILING_H

#include "KernelFacts.h"
#include "NSATile/IR/NSATileOps.h"
#include "nsacc/GPU/Device.h"
#include "nsacc/Schedule/QueryCount.h"

namespace nsacc::schedule {

/// Rows that fill a warpgroup's product, and a CPU's registers.
inline constexpr int64_t kPartRows = 64;

struct Tiling {
  int64_t rows = kPartRows, keys = 64, warps = 0;
  std::string reason = "64 rows and 64 keys fit any kernel";
  int64_t blocksPerSM = 1, stages = 2;
  /// Whether tiles of this kind were measured; see OpChoice.
  bool isMeasured = false;
  /// Op with the selection that the tile was chosen for; null where no
  /// selection mattered.
  nsa::ScoringOpInterface selecting = {};
};

/// Counts the instructions for a pair of query and key in its mask, score and
/// weight. The maximum over the ops of a program.
int64_t countPairInstructions(const Scope &scope);

/// Tiles for the CPU, for GPUs with products of warps (code for sm_80), and for
/// GPUs with products of warpgroups (code for sm_90a). `order` is the order of
/// selections. Without any, it is query_major or key_major.
Tiling tileForCPU(const Scope &scope, nsatile::LoopOrder order);
Tiling tileForWarps(const Scope &scope, nsatile::LoopOrder order,
                    Queries queries);
Tiling tileForWarpgroups(const Scope &scope, nsatile::LoopOrder order,
                         Queries queries);

/// Whether a selection's scores are one product of 64 rows of 16 bits, and
/// three blocks that share a multiprocessor have room for its tiles and lists.
/// With a threshold, lists aren't in registers.
bool fillsWarpgroup(nsa::KernelOp kernel, nsa::TopKOp op, int64_t tokens,
                    int64_t group, bool usesThreshold);

/// Given settings for blocks that share a multiprocessor.
struct GivenBlocks {
  int64_t count = 1;
  /// 0 if not given.
  int64_t warps = 0;
  gpu::Limits limits = {};
};
/// Returns `tiling`, or a tiling with fewer rows and keys where so many blocks
/// have no registers for it.
Tiling fitBlocks(Tiling tiling, const Scope &scope, nsatile::LoopOrder order,
                 const GivenBlocks &given);

} // namespace nsacc::schedule

#endif // NSACC_LIB_SCHEDULE_TILING_H
