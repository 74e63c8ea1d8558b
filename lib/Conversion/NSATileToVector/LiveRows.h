//===- LiveRows.h - Rows of tiles that somebody reads -----------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETOVECTOR_LIVEROWS_H
#define NSACC_LIB_CONVERSION_NSATILETOVECTOR_LIVEROWS_H

#include "NSATile/IR/NSATileOps.h"
#include "llvm/ADT/DenseMap.h"

namespace nsacc {

/// Finds the rows that each tile needs; rows are the elements along the first
/// dimension. The last tile of a tensor has rows behind the tensor's end. They
/// are never stored, so code that goes row by row needn't compute them. In a
/// decode, these are nearly all rows of a tile.
class LiveRows {
public:
  explicit LiveRows(nsatile::ProgramOp program);

  /// The rows with offset + (start + row) / scale < limit. `start` is the place
  /// of a part in a larger tile; null for 0.
  struct Bound {
    mlir::Value offset, limit;
    int64_t scale = 1;
    mlir::Value start;

    bool operator==(const Bound &other) const {
      return offset == other.offset && limit == other.limit &&
             scale == other.scale && start == other.start;
    }
  };
  /// The rows that at least one of these tiles needs; none if all rows are
  /// needed, or if tiles need different rows. Other rows needn't be computed:
  /// code that goes over them nevertheless finds any bits, but no addresses and
  /// no divisors.
  std::optional<Bound> get(mlir::ValueRange tiles) const;

private:
  /// Rows that a tile's readers need: none are known yet, rows of one bound, or
  /// all.
  struct Need {
    enum class Kind { None, Some, All } kind = Kind::None;
    Bound bound;

    bool operator==(const Need &other) const {
      return kind == other.kind && (kind != Kind::Some || bound == other.bound);
    }
    static Need all() { return {Kind::All, {}}; }
    Need join(const Need &other) const;
    Need scaleBy(int64_t factor) const;
    Need divideBy(int64_t divisor) const;
    Need startAt(mlir::OpFoldResult row) const;
  };

  Need findNeed(mlir::Value tile) const;
  Need findNeed(mlir::OpOperand &use) const;
  Need findYielded(mlir::OpOperand &use) const;
  Need join(mlir::ValueRange tiles) const;

  llvm::DenseMap<mlir::Value, Need> needs;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETOVECTOR_LIVEROWS_H
