//===- BlockRoom.h - Room of a block ----------------------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_BLOCKROOM_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_BLOCKROOM_H

#include "NSATile/IR/NSATileOps.h"

namespace nsacc {

/// Says in the schedule's words what is too much for a block with so many
/// threads on a multiprocessor that has `registers`: its warps, or what its
/// products name at a time.
mlir::LogicalResult checkRoom(nsatile::ProgramOp program, int64_t threads,
                              int64_t registers);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_BLOCKROOM_H
