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

/// Entries of which absent ones are -inf.
struct Entries {
  /*implicit*/ Entries(Tile values) : values(values) {}
  Tile values;
  /// Which ones are present, where that is known.
  std::optional<Tile> present = std::nullopt;
  /// Whether -0 may be among them, which a sum counts as 0.
  bool mayBeNegative = true;
};

/// Reduces entries while they come. Absent ones (-inf) don't count; the result
/// is absent where all were.
class EntryReduction {
public:
  enum class Kind { Sum, Mean, Max };
  EntryReduction(TileMath &math, Kind kind);
  /// Goes on from values that a loop carries.
  EntryReduction(TileMath &math, Kind kind, mlir::ValueRange carried);

  /// `factor`, if given, scales entries that are present.
  void add(Tile entry, std::optional<Tile> factor = std::nullopt);
  /// The same for tensor<A·N·B>, whose N are reduced: see reduceWithin.
  void addWithin(const Entries &entries, int64_t outer, int64_t count);
  llvm::SmallVector<mlir::Value> getCarried();
  Tile get();

private:
  TileMath &math;
  Kind kind;
  Tile value;
  /// Of entries that are present; for means.
  Tile count = {};
};

/// Of rows a · N · b the N between a (`outer` of them) and b reduced to one.
Tile reduceWithin(mlir::OpBuilder &builder, mlir::Location loc,
                  const Entries &entries, EntryReduction::Kind kind,
                  int64_t outer, int64_t count);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_ENTRYREDUCTION_H
