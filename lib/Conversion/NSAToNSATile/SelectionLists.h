//===- SelectionLists.h - Lists of selected blocks in memory ----*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_SELECTIONLISTS_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_SELECTIONLISTS_H

#include "QueryProgram.h"
#include "nsacc/Schedule/Choose.h"

namespace nsacc {

using schedule::kMostListed;

/// Sorts each row of i32 ascending, with each index once, in front of padding
/// (`kListPadding`). Negative indices are left out.
inline constexpr int64_t kListPadding = std::numeric_limits<int32_t>::max();
Tile sortDistinct(TileMath &math, Tile indices);

/// Adds the program that lists, for each query tile of `tokens` tokens, the
/// blocks that any of its tokens selected, and their number. Does nothing where
/// the plan has these lists.
void buildUnionLists(PlanBuilder &plan, const QueryShape &shape,
                     nsa::ScoringOpInterface op);

/// The first op that walks a selection's lists as they stand, so that they have
/// to be ascending, with each block once. Null where they are sets, in any
/// order.
mlir::Operation *findOrderedReader(mlir::Value selection);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_SELECTIONLISTS_H
