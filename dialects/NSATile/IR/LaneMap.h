//===- LaneMap.h - Elements of a tile in a warp's lanes ---------*- C++ -*-===//

#ifndef NSACC_NSATILE_IR_LANEMAP_H
#define NSACC_NSATILE_IR_LANEMAP_H

#include "NSATile/IR/TileLayout.h"

namespace nsacc::nsatile {

/// A move from register `reg` of the lane whose number differs in the bits
/// `lanes`. Each thread makes the same move.
struct LaneMove {
  int64_t reg;
  int64_t lanes;
};

/// For each register of a tile's keys, the move from the key whose column
/// differs in the bits `mask`. None if another warp has that key, or if threads
/// need different moves.
std::optional<llvm::SmallVector<LaneMove>>
findExchange(const TileLayout &layout, int64_t mask);

/// Place of the column before a register's column: register `reg` of the same
/// thread if `lanes` is 0. Otherwise `lanes` lanes share a row, and the column
/// is in `reg` of the previous one of these lanes. The first lane gets the last
/// lane's column of the previous tile.
struct LanePredecessor {
  int64_t reg;
  int64_t lanes;
};

/// One predecessor for each register. None if rows are in several warps, or if
/// the predecessors differ between threads.
std::optional<llvm::SmallVector<LanePredecessor>>
findPredecessors(const TileLayout &layout);

/// A reduction of a dimension without shared memory.
struct LaneReduction {
  /// Registers of the source that a register of the result combines.
  llvm::SmallVector<llvm::SmallVector<int64_t>> registers;
  /// Bits of lane numbers along which lanes then combine their values.
  llvm::SmallVector<int64_t> lanes;
};

/// None if warps share an element of the result, or if lanes hold unequal parts
/// of an element: three of 16 rows, say.
std::optional<LaneReduction>
findReduction(const TileLayout &source, const TileLayout &result, int64_t dim);

/// A reduction in which lanes with parts of the same sums share out the sums.
/// Each lane ends up with different sums, and hands them to the lanes that want
/// them.
struct LaneScatter {
  /// Lanes without the bit `lane` keep the first half of their values (with
  /// `even`, the values with even numbers), and add the partner lane's values
  /// for these. Lanes with the bit do the same with the other half.
  struct Step {
    int64_t lane;
    bool even;
  };
  /// A remaining value of another lane. For each set bit of a lane's number,
  /// the corresponding `ofBit` is xored to `base`: this gives the other lane.
  struct Source {
    /// Whether each lane already has the value that it wants.
    bool isOwn() const;

    int64_t value;
    int64_t base;
    llvm::SmallVector<int64_t, 5> ofBit;
  };
  /// Registers of the source that a thread combines to one value first.
  llvm::SmallVector<llvm::SmallVector<int64_t>> registers;
  llvm::SmallVector<Step> steps;
  /// The source of each register of the result.
  llvm::SmallVector<Source> sources;
};

/// None if lanes don't divide the values evenly, if warps share an element of
/// the result, or if the source of a register's element doesn't follow the same
/// rule in each lane.
std::optional<LaneScatter> findScatter(const TileLayout &source,
                                       const TileLayout &result, int64_t dim);

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_IR_LANEMAP_H
