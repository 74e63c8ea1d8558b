//===- ScalarCost.h - How long scalar code is -------------------*- C++ -*-===//

#ifndef NSACC_SCHEDULE_SCALARCOST_H
#define NSACC_SCHEDULE_SCALARCOST_H

#include "NSA/IR/NSAOps.h"
#include "NSATile/IR/NSATileOps.h"

namespace nsacc {

/// A pair's instructions in the scalar code of an attention or an importance,
/// roughly as PTX has them. What depends on the query or on the key alone
/// doesn't count: it's computed once for a tile.
int64_t countPairInstructions(nsa::ScoringOpInterface op);

/// Counts the values of each pair that wait in a thread's registers beside its
/// score until all of the thread's pairs are computed, in halves of a value:
/// what is read of tables, which pairs lack an element, and parts of long
/// functions.
int64_t countHeldHalves(nsa::ScoringOpInterface op);

/// Whether code of a pair is a few instructions of a GPU that multiplies in 16
/// bits, silu(s) / D for one. What is the same for all pairs doesn't count.
bool isShort(mlir::Region &region);

/// A thread's instructions in a program on a GPU, whose scalar code is written
/// out for each of the thread's elements.
int64_t countInstructions(nsatile::ProgramOp program);

} // namespace nsacc

#endif // NSACC_SCHEDULE_SCALARCOST_H
