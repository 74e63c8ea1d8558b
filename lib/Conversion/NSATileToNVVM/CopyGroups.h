//===- CopyGroups.h - Asynchronous copies under way -------------*- C++ -*-===//
//
// A thread's copies (`cp.async`) end group by group, in the order in which
// groups were committed. How many groups a tile is away from the last one is
// known when the code is written: it is the same on all ways there, or the
// least of them, which waits for more than needed.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_COPYGROUPS_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_COPYGROUPS_H

#include "CodeBuilder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallSet.h"

namespace nsacc {

/// Follows groups of copies over loops and branches, and writes what commits
/// them and waits for them.
class CopyGroups {
public:
  explicit CopyGroups(CodeBuilder &b) : b(b) {}

  /// Copies outside of circular buffers have started.
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
    bool isRead = false;
    /// A thread may still read what was released.
    bool mustMeet = true;
  };
  bool hasCircularBuffers() const { return !queues.empty(); }
  Queue &getQueue(mlir::Value buffer) { return queues[buffer]; }
  /// Copies of tiles that are still under way are those of no circular buffer
  /// then.
  void removeQueue(mlir::Value buffer);
  /// A tile's copies have started.
  void push(mlir::Value buffer);
  /// What has started is a group.
  void commit();
  /// True where threads have to meet behind the wait.
  bool waitFor(int64_t group);

  //===-- Loops and branches ----------------------------------------------===//

  /// At a place in the code, counted backwards.
  struct State {
    /// For each circular buffer, how many groups before the next one its tiles
    /// are in.
    llvm::MapVector<mlir::Value, llvm::SmallVector<int64_t, 4>> distances;
    llvm::SmallDenseSet<mlir::Value, 4> mustMeet, isRead;
    bool hasCopies = false, hasOpenGroup = false;
    int64_t copiesDistance = 0;
  };
  State getState() const;
  /// Code of another branch is written from here on.
  void setState(const State &state);
  /// Branches meet, this one and one that ended with `other`.
  void join(const State &other);
  /// Code that is run any number of times; gives what `leaveLoop` needs.
  State enterLoop();
  mlir::LogicalResult leaveLoop(mlir::Operation *op, const State &before);

private:
  void setQueues(const State &state);

  CodeBuilder &b;
  llvm::MapVector<mlir::Value, Queue> queues;
  /// Groups that were committed, and the last one that all threads have waited
  /// for.
  int64_t numGroups = 0, arrivedGroup = -1;
  /// Copies of circular buffers wait for their group's commit.
  bool hasOpenGroup = false;
  /// Copies outside of circular buffers are under way, and the group that they
  /// are in at the latest.
  bool hasCopies = false;
  int64_t copiesGroup = 0;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_COPYGROUPS_H
