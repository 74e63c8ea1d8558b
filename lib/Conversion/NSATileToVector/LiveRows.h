//===- LiveRows.h - Rows of tiles that somebody reads -----------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETOVECTOR_LIVEROWS_H
#define NSACC_LIB_CONVERSION_NSATILETOVECTOR_LIVEROWS_H

#include "NSATile/IR/NSATileOps.h"
#include "llvm/ADT/DenseMap.h"

namespace nsacc {

/// Which of its rows, the elements along its first dimension, a tile needs. The
/// last tile of a tensor has rows behind the tensor's end: nothing of them is
/// stored, so that what is computed row by row needn't have them. Of a decode,
/// that is nearly all of a tile.
class LiveRows {
public:
  explicit LiveRows(nsatile::ProgramOp program);

  /// The rows with offset + (start + row) / scale < limit, where start is that
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
  /// Those that some of these tiles need; none where that is all, or tiles
  /// need different ones. The others needn't have been computed: where code
  /// goes over them nevertheless, it finds any bits, but no addresses and no
  /// divisors.
  std::optional<Bound> get(mlir::ValueRange tiles) const;

private:
  /// What readers of a tile need: nothing yet known of, rows of one bound, or
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
