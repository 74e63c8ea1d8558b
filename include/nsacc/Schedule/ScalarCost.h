//===- ScalarCost.h - Length of scalar code ---------------------*- C++ -*-===//

#ifndef NSACC_SCHEDULE_SCALARCOST_H
#define NSACC_SCHEDULE_SCALARCOST_H

#include "NSA/IR/NSAOps.h"
#include "NSATile/IR/NSATileOps.h"

namespace nsacc {

/// Counts an elementwise op's instructions for one element, roughly as PTX has
/// them.
int64_t countElementInstructions(mlir::Operation &op);

/// Counts the instructions for a pair in the scalar code of an attention or an
/// importance, roughly as PTX has them. Values that depend on the query or the
/// key alone don't count: they are computed once for a tile.
int64_t countPairInstructions(nsa::ScoringOpInterface op);

/// Counts the values of each pair that wait in a thread's registers, beside its
/// score, until all of the thread's pairs are computed. They are values read
/// from tables, flags of pairs that lack an element, and parts of long
/// functions. The unit is half a value.
int64_t countHeldHalves(nsa::ScoringOpInterface op);

/// Whether the code of a pair is a few instructions of a GPU that multiplies in
/// 16 bits, such as silu(s) / D. Values that are the same for all pairs don't
/// count.
bool isShort(mlir::Region &region);

/// Counts a thread's instructions in a program on a GPU. Scalar code is written
/// out for each of the thread's elements.
int64_t countInstructions(nsatile::ProgramOp program);

} // namespace nsacc

#endif // NSACC_SCHEDULE_SCALARCOST_H
