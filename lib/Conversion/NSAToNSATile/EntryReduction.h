//===- EntryReduction.h - Reductions over present entries -------*- C++ -*-===//

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

/// Entries; absent ones are -inf.
struct Entries {
  /*implicit*/ Entries(Tile values) : values(values) {}
  Tile values;
  /// Whether each entry is present, where that is known.
  std::optional<Tile> present = std::nullopt;
  /// Whether entries may be -0, which a sum counts as 0.
  bool mayBeNegative = true;
};

/// Reduces entries as they come. Absent ones (-inf) don't count. The result is
/// absent where all entries were.
class EntryReduction {
public:
  enum class Kind { Sum, Mean, Max };
  EntryReduction(TileMath &math, Kind kind);
  /// Goes on from values that a loop carries.
  EntryReduction(TileMath &math, Kind kind, mlir::ValueRange carried);

  /// `factor`, if given, scales present entries.
  void add(Tile entry, std::optional<Tile> factor = std::nullopt);
  /// Adds tensor<A·N·B>, reduced over N: see reduceWithin.
  void addWithin(const Entries &entries, int64_t outer, int64_t count);
  llvm::SmallVector<mlir::Value> getCarried();
  Tile get();

private:
  TileMath &math;
  Kind kind;
  Tile value;
  /// Number of present entries, for means.
  Tile count = {};
};

/// Reduces rows a · N · b over N, where `outer` is the number of a.
Tile reduceWithin(mlir::OpBuilder &builder, mlir::Location loc,
                  const Entries &entries, EntryReduction::Kind kind,
                  int64_t outer, int64_t count);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_ENTRYREDUCTION_H
