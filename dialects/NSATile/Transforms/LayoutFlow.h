//===- LayoutFlow.h - Choice of each tile's layout --------------*- C++ -*-===//

#ifndef NSACC_NSATILE_TRANSFORMS_LAYOUTFLOW_H
#define NSACC_NSATILE_TRANSFORMS_LAYOUTFLOW_H

#include "NSATile/IR/NSATileOps.h"
#include "llvm/ADT/DenseMap.h"

namespace nsacc::nsatile {

inline bool isTile(mlir::Type type) {
  return mlir::isa<mlir::RankedTensorType>(type);
}
inline mlir::RankedTensorType getTile(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// True for ops that compute each element of their results from the same
/// element of their operands.
bool isElementwise(mlir::Operation *op);

bool isShared(mlir::Attribute layout);
/// Whether a layout has registers that hold whole elements: other tiles may get
/// it.
bool flows(mlir::Attribute layout);

/// Number of warps of a program: the schedule's, or one for 16 rows of its
/// products. At least 1.
int64_t countWarps(ProgramOp program);

/// Chooses layouts; changes nothing.
class LayoutFlow {
public:
  explicit LayoutFlow(ProgramOp program);

  int64_t getNumWarps() const { return warps; }
  /// Null only for a cheap tile for which nobody has asked.
  mlir::Attribute getLayout(mlir::Value tile) const {
    return layouts.lookup(tile);
  }
  /// Whether it costs less to compute a tile again than to move it.
  bool isCheap(mlir::Value tile);
  /// The layout that an op needs a tile in; null if it takes any.
  mlir::Attribute getWanted(mlir::OpOperand &operand) const;
  /// Gives a tile a layout, and all layouts that follow from it.
  void assign(mlir::Value tile, mlir::Attribute layout);

  mlir::Attribute getBlocked(mlir::RankedTensorType tile) const;
  mlir::Attribute getShared(mlir::RankedTensorType tile, bool forProduct) const;

private:
  bool computeIsCheap(mlir::Value tile);
  void chooseWarps(ProgramOp program);
  void assignAnchors(ProgramOp program);
  void assignRest(ProgramOp program);
  void propagate();
  void propagate(mlir::Operation *op);
  void propagateControl(mlir::Operation *op);
  void tie(llvm::ArrayRef<mlir::Value> tiles);
  /// Layout of a tile like `whole`, which is in `layout`, without the
  /// dimensions `dims`; null if there is none.
  mlir::Attribute slice(mlir::RankedTensorType whole, mlir::Attribute layout,
                        llvm::ArrayRef<int64_t> dims,
                        mlir::RankedTensorType sliced) const;
  /// Whether tiles of this shape can have the layout.
  bool isPossible(mlir::RankedTensorType tile, mlir::Attribute layout) const;
  /// Layout of rows that are sorted.
  mlir::Attribute getSorting(ProgramOp program, mlir::RankedTensorType tile);
  mlir::Attribute getReduced(ReduceOp reduce, mlir::Attribute layout) const;
  bool isSumOfLanes(mlir::Value tile) const;
  mlir::Attribute getMma() const;
  /// Layout of a list, or of its candidates, in the lanes of a warp.
  mlir::Attribute getInserting(mlir::RankedTensorType tile) const;
  mlir::Attribute getRows() const;
  /// Layouts of the accumulator and of the rows that divide it in a softmax.
  /// They are a product's or, if the program has none, spread over all threads.
  mlir::Attribute getMatrix(SoftmaxFinalizeOp finalize) const;
  mlir::Attribute getRows(SoftmaxFinalizeOp finalize) const;
  mlir::Attribute getMerged(mlir::RankedTensorType tile) const;
  /// Layout in which each thread has `vector` neighbours, or fewer if some
  /// threads would have none.
  mlir::Attribute getBlocked(mlir::RankedTensorType tile, int64_t vector) const;

  mlir::MLIRContext *context;
  int64_t warps = 0;
  bool hasProducts = false;
  /// Number of neighbouring elements of merged accumulators for a thread.
  int64_t mergedVector = 0;
  llvm::DenseMap<mlir::Value, mlir::Attribute> layouts;
  llvm::DenseMap<mlir::Value, bool> cheap;
  /// Types of sorted tiles, each of which is reported once.
  llvm::DenseSet<mlir::Type> sorted;
  mutable llvm::DenseMap<std::pair<mlir::Type, mlir::Attribute>, bool> possible;
  llvm::SmallVector<mlir::Value> worklist;
};

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_TRANSFORMS_LAYOUTFLOW_H
