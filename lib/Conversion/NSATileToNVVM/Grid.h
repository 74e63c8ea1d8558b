//===- Grid.h - Points of grids that blocks go through ----------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_GRID_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_GRID_H

#include "CodeBuilder.h"
#include "ProgramValues.h"
#include <array>

namespace nsacc {

/// A point of a grid.
using Point = std::array<mlir::Value, 3>;

/// A grid whose size is known at run time; a column of it is one of (y, z).
/// Under a causal mask the last query tiles have the most to do, so a column's
/// points are counted from its end.
struct Grid {
  mlir::Value x, y, z;

  mlir::Value getNumPoints(CodeBuilder &b) const;
  /// Points one column after the other.
  Point getPoint(CodeBuilder &b, mlir::Value number) const;
  /// Points one section of columns after the other, for `blocks` blocks. Steps
  /// fall about evenly from a column's heaviest point to its lightest, so that
  /// as many points as two rounds of all blocks last as long as a heaviest one.
  Point getSectionPoint(CodeBuilder &b, mlir::Value blocks,
                        mlir::Value number) const;

private:
  Point getPoint(CodeBuilder &b, mlir::Value back, mlir::Value column) const;
};

/// A body's arguments are a point.
void mapPoint(ProgramValues &program, mlir::Region &body,
              mlir::ValueRange point);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_GRID_H
