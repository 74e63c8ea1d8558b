//===- TilePlacement.h - Placement of tiles' values -------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETOVECTOR_TILEPLACEMENT_H
#define NSACC_LIB_CONVERSION_NSATILETOVECTOR_TILEPLACEMENT_H

#include "NSATile/IR/NSATileOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/PointerIntPair.h"

namespace nsacc {

bool isTile(mlir::Type type);

/// Kinds of tiles, by the op that defines them.
enum class TileKind {
  Leaf,        // constants, splats, iota: cheaper to compute than to load
  View,        // nsatile.load, tensor.extract_slice
  Elementwise, // arith and math
  Broadcast,   // nsatile.broadcast
  Reshape,     // tensor.collapse_shape, tensor.expand_shape
  Buffer       // everything else, results and arguments of loops among it
};
TileKind getTileKind(mlir::Value tile);

/// Decides before any code is written which tiles get memory, in which forms,
/// and which tiles share it. A tile without memory is computed by its readers,
/// vector by vector.
class TilePlacement {
public:
  explicit TilePlacement(nsatile::ProgramOp program);

  /// Whether the tile is kept in its own type, row-major.
  bool needsNatural(mlir::Value tile) const { return natural.contains(tile); }
  /// Whether the tile is kept in f32, row-major, as an operand of a dot.
  bool needsPacked(mlir::Value tile) const { return packed.contains(tile); }
  /// Whether the tile is kept in f32, transposed, as the right operand of a
  /// dot.
  bool needsTransposed(mlir::Value tile) const {
    return transposed.contains(tile);
  }
  /// The loop argument or result whose memory `tile` is written to; null if it
  /// gets separate memory. A loop or branch with a destination works there from
  /// its start.
  mlir::Value getDestination(mlir::Value tile) const {
    return destinations.lookup(tile);
  }
  /// Whether the loop may continue in the memory of this initial value.
  static bool canTakeOver(mlir::OpOperand &init);
  /// The tile whose memory a result of scf.if takes over; null if none.
  mlir::Value getTakenOver(mlir::OpResult result) const {
    return takenOver.lookup(result);
  }

  /// Whether the program may write to this buffer.
  bool isWritten(mlir::Value buffer) const;

private:
  struct Reader {
    mlir::OpOperand *operand;
    bool pointwise;
  };

  void place(mlir::Value tile);
  void placeElementwise(mlir::Value tile);
  bool isComputedWhereRead(mlir::Value tile) const;
  void collectSinks(mlir::Value tile,
                    llvm::SmallPtrSetImpl<mlir::Operation *> &sinks) const;
  using VisitedUses =
      llvm::DenseSet<llvm::PointerIntPair<mlir::OpOperand *, 1, bool>>;
  void collectReaders(mlir::Value tile, bool pointwise,
                      llvm::SmallVectorImpl<Reader> &readers,
                      VisitedUses &visited) const;
  llvm::SmallVector<Reader> collectReaders(mlir::Value tile) const;
  bool canOverwrite(mlir::Value content, mlir::OpResult written) const;
  mlir::Value getContent(mlir::Value target) const;
  void shareYielded(mlir::Value yielded, mlir::Block *block, mlir::Value target,
                    mlir::Value content);
  void shareInLoop(mlir::Operation *loop);
  void shareInIf(mlir::Operation *ifOp);
  mlir::Value findContentToTakeOver(mlir::Operation *ifOp, unsigned index);

  llvm::DenseSet<mlir::Value> natural, packed, transposed, written;
  /// The only op at which code that computes a tile without memory is written.
  llvm::DenseMap<mlir::Value, mlir::Operation *> sinkOf;
  llvm::DenseMap<mlir::Value, mlir::Value> destinations, takenOver;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETOVECTOR_TILEPLACEMENT_H
