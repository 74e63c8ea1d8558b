//===- ThreadMap.h - Threads and their elements -----------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_THREADMAP_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_THREADMAP_H

#include "CodeBuilder.h"
#include "NSATile/IR/TileLayout.h"

namespace nsacc {

/// A value plus a constant: comparisons of positions then need no registers for
/// the differences between a thread's registers. A null value is 0.
struct IndexSum {
  mlir::Value base;
  int64_t offset = 0;
};

/// The threads that run the code which is being written.
struct ThreadScope {
  /// The thread's number in the scope.
  mlir::Value thread;
  int64_t numThreads;
  /// The hardware's barrier at which they meet.
  int64_t barrier = 0;
  /// Whether they are all threads of the block.
  bool isBlock = true;
};

/// Computes coordinates of a thread's registers from the thread's number, once
/// for a scope. The class writes scalar code, no accesses and no barriers.
class ThreadMap {
public:
  explicit ThreadMap(CodeBuilder &b) : b(b) {}

  /// Starts a scope: it defines the thread dimensions from here on.
  void enter(const ThreadScope &next);
  const ThreadScope &getScope() const { return scope; }
  mlir::Value getThread() const { return scope.thread; }
  mlir::Value isFirstThread();
  mlir::Value getDim(nsatile::ThreadDim dim);
  /// Sets the warp's number, which is known to be the same for all lanes.
  void setWarp(mlir::Value warp);
  mlir::Value getLane();
  /// 1 for the lane that acts for its warp, otherwise 0.
  mlir::Value isFirstLane();
  /// The warpgroup's number in the scope.
  mlir::Value getWarpgroup();
  /// Forgets values that depend on the thread's number: they are computed anew.
  void forget();
  /// Forgets these values except the warp's number.
  void forgetLanes();

  IndexSum getCoordinate(mlir::AffineExpr expr);
  /// Coordinates of a register's element.
  llvm::SmallVector<IndexSum> getCoordinates(const nsatile::TileLayout &layout,
                                             int64_t index);
  /// Coordinates of a register's element, with the constants added.
  llvm::SmallVector<mlir::Value> getPlace(const nsatile::TileLayout &layout,
                                          int64_t index);
  mlir::Value materialize(const IndexSum &sum);
  /// The sum that a value was computed as.
  IndexSum split(mlir::Value value) const;
  /// Whether a thread's register isn't padding; null: always.
  mlir::Value getInside(const nsatile::TileLayout &layout, int64_t index);
  /// Whether the register isn't padding and the thread is the first to hold it;
  /// null: always.
  mlir::Value getOwned(const nsatile::TileLayout &layout, int64_t index);
  /// Whether the thread is the first of those with copies of a tile; null:
  /// always.
  mlir::Value isFirstCopy(const nsatile::TileLayout &layout,
                          mlir::Value condition = {});

  /// Known values at a place in the code, for code that leaves a region.
  struct State {
    ThreadScope scope;
    mlir::Operation *prologueEnd = nullptr;
    llvm::DenseMap<mlir::AffineExpr, mlir::Value> expressions;
  };
  State getState() const { return {scope, prologueEnd, expressions}; }
  void setState(State state);

private:
  mlir::Value computeDim(nsatile::ThreadDim dim);
  mlir::Value compute(mlir::AffineBinaryOpExpr expr);

  CodeBuilder &b;
  ThreadScope scope = {};
  /// The op in front of which code goes that only depends on the thread.
  mlir::Operation *prologueEnd = nullptr;
  llvm::DenseMap<mlir::AffineExpr, mlir::Value> expressions;
  llvm::DenseMap<mlir::Value, IndexSum> sums;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_THREADMAP_H
