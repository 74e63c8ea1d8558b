//===- LaneMap.h - What lanes of a warp hold of a tile ----------*- C++ -*-===//

#ifndef NSACC_NSATILE_IR_LANEMAP_H
#define NSACC_NSATILE_IR_LANEMAP_H

#include "NSATile/IR/TileLayout.h"

namespace nsacc::nsatile {

/// Register `reg` of the lane whose number differs in the bits `lanes`: the
/// same move for each thread.
struct LaneMove {
  int64_t reg;
  int64_t lanes;
};

/// For each register of a tile's keys the move that brings the key whose column
/// differs in the bits `mask`. None where it is another warp's, or not the same
/// move for each thread.
std::optional<llvm::SmallVector<LaneMove>>
findExchange(const TileLayout &layout, int64_t mask);

/// How a dimension is reduced without shared memory.
struct LaneReduction {
  /// Registers of the source that a register of the result combines.
  llvm::SmallVector<llvm::SmallVector<int64_t>> registers;
  /// Bits of lanes' numbers along which what they hold is combined then.
  llvm::SmallVector<int64_t> lanes;
};

/// None where warps share an element of the result, or lanes hold unequal parts
/// of one, as three of 16 rows.
std::optional<LaneReduction>
findReduction(const TileLayout &source, const TileLayout &result, int64_t dim);

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_IR_LANEMAP_H
