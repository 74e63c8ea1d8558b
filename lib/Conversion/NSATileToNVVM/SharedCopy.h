//===- SharedCopy.h - Tiles on their way into shared memory -----*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_SHAREDCOPY_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_SHAREDCOPY_H

#include "NSATile/IR/NSATileOps.h"
#include "ProgramValues.h"
#include "SharedMemory.h"
#include "ThreadMap.h"

namespace nsacc {

/// Lets all threads copy the tile at a place to shared memory, with zeros for
/// elements beyond the limits. Returns whether copies may be under way.
bool copyToShared(CodeBuilder &b, const ThreadMap &threads,
                  const ProgramValues &program, SharedMemory &shared,
                  nsatile::AtOp at, const SharedTile &tile);
/// Lets all threads copy a vector of f32 likewise, word by word: it may begin
/// anywhere in memory. Copies may be under way.
void copyVectorToShared(CodeBuilder &b, const ThreadMap &threads,
                        const ProgramValues &program, SharedMemory &shared,
                        nsatile::AtOp at, const SharedTile &tile);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_SHAREDCOPY_H
