//===- ThreadMap.h - Threads and their elements -----------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_THREADMAP_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_THREADMAP_H

#include "CodeBuilder.h"
#include "NSATile/IR/TileLayout.h"

namespace nsacc {

/// A value plus a constant: comparisons of positions keep what differs between
/// a thread's registers out of registers. No value is 0.
struct IndexSum {
  mlir::Value base;
  int64_t offset = 0;
};

/// Threads that run the code which is being written.
struct ThreadScope {
  /// The number of the thread among them.
  mlir::Value thread;
  int64_t numThreads;
  /// The hardware's barrier that they meet at.
  int64_t barrier = 0;
  /// Whether they are all threads of the block.
  bool isBlock = true;
};

/// Computes coordinates of a thread's registers from the thread's number, once
/// for a scope. It writes scalar code, no accesses and no barriers.
class ThreadMap {
public:
  explicit ThreadMap(CodeBuilder &b) : b(b) {}

  /// What thread dimensions mean from here on.
  void enter(const ThreadScope &next);
  const ThreadScope &getScope() const { return scope; }
  mlir::Value getThread() const { return scope.thread; }
  mlir::Value isFirstThread();
  mlir::Value getDim(nsatile::ThreadDim dim);
  /// `warp` is known to be the same for all lanes.
  void setWarp(mlir::Value warp);
  mlir::Value getLane();
  /// 1 for the lane that speaks for its warp, otherwise 0.
  mlir::Value isFirstLane();
  /// The warpgroup's number in the scope.
  mlir::Value getWarpgroup();
  /// What comes from the thread's number is computed anew from here on.
  void forget();
  /// The same, but for the warp's number.
  void forgetLanes();

  IndexSum getCoordinate(mlir::AffineExpr expr);
  /// Of a register's element.
  llvm::SmallVector<IndexSum> getCoordinates(const nsatile::TileLayout &layout,
                                             int64_t index);
  /// The same, added up.
  llvm::SmallVector<mlir::Value> getPlace(const nsatile::TileLayout &layout,
                                          int64_t index);
  mlir::Value materialize(const IndexSum &sum);
  /// A value as the sum that it was computed as.
  IndexSum split(mlir::Value value) const;
  /// Whether a thread's register is none of padding; null: always.
  mlir::Value getInside(const nsatile::TileLayout &layout, int64_t index);
  /// The same, and true for one of the threads that hold copies only.
  mlir::Value getOwned(const nsatile::TileLayout &layout, int64_t index);
  /// True for one of the threads that hold copies of a tile; null: always.
  mlir::Value isFirstCopy(const nsatile::TileLayout &layout,
                          mlir::Value condition = {});

  /// What is known at a place in the code, for code that leaves a region.
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
  /// Code that computes what only depends on the thread goes before it.
  mlir::Operation *prologueEnd = nullptr;
  llvm::DenseMap<mlir::AffineExpr, mlir::Value> expressions;
  llvm::DenseMap<mlir::Value, IndexSum> sums;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_THREADMAP_H
