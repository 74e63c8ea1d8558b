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

/// Where a thread gets the column in front of that in a register: in its own
/// register `reg`; or, of the `lanes` that have a row together, if that isn't
/// 0, in the lane's before it. The first of these gets the last one's, of the
/// tile in front.
struct LanePredecessor {
  int64_t reg;
  int64_t lanes;
};

/// One for each register. None where rows are in several warps, or not alike in
/// all threads.
std::optional<llvm::SmallVector<LanePredecessor>>
findPredecessors(const TileLayout &layout);

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

/// How lanes that hold parts of the same sums reduce them so that each ends up
/// with sums of its own, and hand these to the lanes that want them.
struct LaneScatter {
  /// Lanes without the bit `lane` keep the first half of their values, or those
  /// with even numbers, and get what the lanes with it have for these; and the
  /// other way round.
  struct Step {
    int64_t lane;
    bool even;
  };
  /// A value that is left, of the lane `base` changed by `ofBit` of each bit of
  /// a lane's number that is set.
  struct Source {
    /// Whether each lane has what it wants.
    bool isOwn() const;

    int64_t value;
    int64_t base;
    llvm::SmallVector<int64_t, 5> ofBit;
  };
  /// Registers of the source that a thread combines to one value first.
  llvm::SmallVector<llvm::SmallVector<int64_t>> registers;
  llvm::SmallVector<Step> steps;
  /// For each register of the result.
  llvm::SmallVector<Source> sources;
};

/// None where lanes don't divide values evenly, warps share an element of the
/// result, or a register's elements aren't in the same place for each lane.
std::optional<LaneScatter> findScatter(const TileLayout &source,
                                       const TileLayout &result, int64_t dim);

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_IR_LANEMAP_H
