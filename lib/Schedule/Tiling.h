//===- Tiling.h - Tiles of a program, and why -------------------*- C++ -*-===//

#ifndef NSACC_LIB_SCHEDULE_TILING_H
#define NSACC_LIB_SCHEDULE_TILING_H

#include "KernelFacts.h"
#include "NSATile/IR/NSATileOps.h"
#include "nsacc/GPU/Device.h"
#include "nsacc/Schedule/QueryCount.h"

namespace nsacc::schedule {

/// So many rows fill a warpgroup's product and a CPU's registers alike.
inline constexpr int64_t kPartRows = 64;

struct Tiling {
  int64_t rows = kPartRows, keys = 64, warps = 0;
  std::string reason = "64 rows and 64 keys fit any kernel";
  int64_t blocksPerSM = 1, stages = 2;
  /// Whether tiles of this kind were measured; see OpChoice.
  bool isMeasured = false;
};

/// Instructions for a pair of query and key that its mask, score and weight
/// take; the most of the ops in a program.
int64_t countPairInstructions(const Scope &scope);

/// For the CPU, and for GPUs whose products are of warps (code for sm_80), or
/// of warpgroups (code for sm_90a). `order` is that of selections, and
/// query_major or key_major where there are none.
Tiling tileForCPU(const Scope &scope, nsatile::LoopOrder order);
Tiling tileForWarps(const Scope &scope, nsatile::LoopOrder order,
                    Queries queries);
Tiling tileForWarpgroups(const Scope &scope, nsatile::LoopOrder order,
                         Queries queries);

/// Whether the lists of so many tokens fit that of a union, as those of 64 rows
/// do, which products take in one anyway.
bool fitsUnion(nsa::AttendOp selecting, int64_t group, int64_t tokens,
               bool areWhole);
/// The most tokens, at most so many, whose lists of blocks fit that of a union
/// (kMostListed), whichever attention's; `areWhole`: and none of which has only
/// a part of a list's. Attentions whose single tokens have no room for theirs
/// have no unions.
int64_t fitUnions(const Scope &scope, int64_t tokens, bool areWhole);

/// Whether a selection's scores are one product, of 64 rows of 16 bits, and
/// three blocks that share a multiprocessor have room for its tiles and lists,
/// which aren't in registers where a threshold is used.
bool fillsWarpgroup(nsa::KernelOp kernel, nsa::TopKOp op, int64_t tokens,
                    int64_t group, bool usesThreshold);

/// What is given for the blocks that share a multiprocessor.
struct GivenBlocks {
  int64_t count = 1;
  /// 0: not given.
  int64_t warps = 0;
  gpu::Limits limits = {};
};
/// `tiling`, or where so many blocks have no registers for it, one of fewer
/// rows and keys.
Tiling fitBlocks(Tiling tiling, const Scope &scope, nsatile::LoopOrder order,
                 const GivenBlocks &given);

} // namespace nsacc::schedule

#endif // NSACC_LIB_SCHEDULE_TILING_H
