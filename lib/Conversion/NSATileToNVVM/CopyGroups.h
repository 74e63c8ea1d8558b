//===- CopyGroups.h - Asynchronous copies under way -------------*- C++ -*-===//
//
// A thread's copies (`cp.async`) end group by group, in the order in which
// groups were committed. The number of groups between a tile and the last group
// is known when the code is written. If it differs between the ways to a place,
// the least counts, which may wait for more than needed.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_COPYGROUPS_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_COPYGROUPS_H

#include "CodeBuilder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallSet.h"

namespace nsacc {

/// Tracks groups of copies over loops and branches, and writes the code that
/// commits them and waits for them.
class CopyGroups {
public:
  explicit CopyGroups(CodeBuilder &b) : b(b) {}

  /// Records that copies outside of circular buffers have started.
  void note();
  bool areUnderWay() const { return hasCopies; }
  /// Waits for copies outside of circular buffers, in front of a barrier.
  void beforeBarrier();

  //===-- Circular buffers
  //-----------------------------------------------------------===//

  /// Tiles that wait in a circular buffer.
  struct Queue {
    /// Groups of their copies, the oldest first.
    llvm::SmallVector<int64_t, 4> groups;
    /// Number of tiles that threads wrote themselves, and of the last ones of
    /// these that not all threads can see yet.
    int64_t numStored = 0, numUnmet = 0;
    bool isRead = false;
    /// Whether a thread may still read a released tile.
    bool mustMeet = true;

    int64_t getNumTiles() const { return groups.size() + numStored; }
    bool isFrontUnmet() const { return numUnmet == numStored; }
    /// Begins to read the tile at the front.
    void pop();
  };
  bool hasCircularBuffers() const { return !queues.empty(); }
  Queue &getQueue(mlir::Value buffer) { return queues[buffer]; }
  /// Removes a queue. Copies of its tiles that are still under way then count
  /// as copies outside of circular buffers.
  void removeQueue(mlir::Value buffer);
  /// Records that a tile's copies have started.
  void push(mlir::Value buffer);
  /// Records that threads have written a tile.
  void pushStored(mlir::Value buffer);
  /// Commits the copies that have started as a group.
  void commit();
  /// Waits for a group. Returns whether threads have to meet behind the wait.
  bool waitFor(int64_t group);

  //===-- Loops and branches ----------------------------------------------===//

  /// State at a place in the code, counted backwards.
  struct State {
    /// For each circular buffer, the distances of its tiles' groups from the
    /// next group.
    llvm::MapVector<mlir::Value, llvm::SmallVector<int64_t, 4>> distances;
    /// For each circular buffer, the tiles that threads wrote: their number,
    /// and that of the last ones which not all threads can see yet.
    llvm::DenseMap<mlir::Value, std::pair<int64_t, int64_t>> stored;
    llvm::SmallDenseSet<mlir::Value, 4> mustMeet, isRead;
    bool hasCopies = false, hasOpenGroup = false;
    int64_t copiesDistance = 0;
  };
  State getState() const;
  /// Continues with the code of another branch.
  void setState(const State &state);
  /// Joins two branches: the current one and one that ended with `other`.
  void join(const State &other);
  /// Begins code that runs any number of times; returns the argument for
  /// `leaveLoop`.
  State enterLoop();
  mlir::LogicalResult leaveLoop(mlir::Operation *op, const State &before);

private:
  void setQueues(const State &state);

  CodeBuilder &b;
  llvm::MapVector<mlir::Value, Queue> queues;
  /// Number of committed groups, and the last group that all threads have
  /// waited for.
  int64_t numGroups = 0, arrivedGroup = -1;
  /// Whether copies of circular buffers wait for their group's commit.
  bool hasOpenGroup = false;
  /// Whether copies outside of circular buffers are under way, and the last
  /// group that they may be in.
  bool hasCopies = false;
  int64_t copiesGroup = 0;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_COPYGROUPS_H
