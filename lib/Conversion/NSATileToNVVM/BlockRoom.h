//===- BlockRoom.h - Room of a block ----------------------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_BLOCKROOM_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_BLOCKROOM_H

#include "NSATile/IR/NSATileOps.h"

namespace nsacc {

/// Reports an error in the schedule's words if a block with this number of
/// threads is too large for a multiprocessor that has `registers`: by its
/// warps, or by the registers that its products name at a time. Warps that load
/// need registers to hand on if the target can.
mlir::LogicalResult checkRoom(nsatile::ProgramOp program, int64_t threads,
                              int64_t registers, bool movesRegisters);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_BLOCKROOM_H
