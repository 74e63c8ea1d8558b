//===- Grid.h - Points of grids that blocks go through ----------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_GRID_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_GRID_H

#include "CodeBuilder.h"
#include "ProgramValues.h"
#include <array>

namespace nsacc {

/// A point of a grid.
using Point = std::array<mlir::Value, 3>;

/// A grid with a size that is known at run time. A column of it has the points
/// of one (y, z). Under a causal mask the last query tiles have the most to do,
/// so a column's points are counted from its end.
struct Grid {
  mlir::Value x, y, z;

  mlir::Value getNumPoints(CodeBuilder &b) const;
  /// Point `number` if blocks go through one column after the other.
  Point getPoint(CodeBuilder &b, mlir::Value number) const;
  /// Point `number` if `blocks` blocks go through one section of columns after
  /// the other. Work falls about evenly from a column's heaviest point to its
  /// lightest, so that the points of two rounds of all blocks take as long as
  /// one heaviest point.
  Point getSectionPoint(CodeBuilder &b, mlir::Value blocks,
                        mlir::Value number) const;

private:
  Point getPoint(CodeBuilder &b, mlir::Value back, mlir::Value column) const;
};

/// Maps a body's arguments to a point.
void mapPoint(ProgramValues &program, mlir::Region &body,
              mlir::ValueRange point);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_GRID_H
