//===- EntryReduction.h - Reductions over what is present -------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_ENTRYREDUCTION_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_ENTRYREDUCTION_H

#include "ScalarTiler.h"
#include <optional>

namespace nsacc {

/// The importance of a block that a row can't select.
inline constexpr double kAbsent = -kInfinity;

/// A scalar of f32.
inline Tile getReal(TileMath &math, double value) {
  return {math.constant(TileAxes::Scalar, value), TileAxes::Scalar};
}

/// Reduces entries while they come. Absent ones (-inf) don't count; the result
/// is absent where all were.
class EntryReduction {
public:
  enum class Kind { Sum, Mean, Max };
  EntryReduction(TileMath &math, Kind kind);
  /// Goes on from values that a loop carries.
  EntryReduction(TileMath &math, Kind kind, mlir::ValueRange carried)
      : math(math), kind(kind), value{carried[0], TileAxes::Matrix},
        count{carried[1], TileAxes::Matrix} {}

  /// `factor`, if given, scales entries that are present.
  void add(Tile entry, std::optional<Tile> factor = std::nullopt);
  /// The same for tensor<A·N·B>, whose N are reduced: see reduceWithin.
  void addWithin(Tile entries, int64_t outer, int64_t count);
  llvm::SmallVector<mlir::Value> getCarried() {
    return {math.toMatrix(value), math.toMatrix(count)};
  }
  Tile get();

private:
  TileMath &math;
  Kind kind;
  Tile value, count;
};

/// Of rows a · N · b the N between a (`outer` of them) and b reduced to one.
Tile reduceWithin(mlir::OpBuilder &builder, mlir::Location loc, Tile entries,
                  EntryReduction::Kind kind, int64_t outer, int64_t count);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_ENTRYREDUCTION_H
