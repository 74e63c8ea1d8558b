//===- BarrierQueue.h - Queues with barriers in shared memory ---*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_BARRIERQUEUE_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_BARRIERQUEUE_H

#include "SharedMemory.h"

namespace nsacc {

/// A queue from one role to another. Each place has a barrier for full and a
/// barrier for empty. Each role keeps its own position in the queue.
class BarrierQueue {
public:
  /// Place of items; small items may be among the barriers.
  enum class Room { Own, AmongBarriers };

  BarrierQueue(CodeBuilder &b, SharedMemory &shared, int64_t stages,
               int64_t itemBytes, Room room, mlir::RankedTensorType tile = {});

  /// Initializes the barriers; called by one thread before any role begins.
  /// `writers` threads fill each place one by one, and `readers` give it back.
  void init(int64_t readers, int64_t writers = 1) const;

  /// Returns the same queue with another position, for threads that both fill
  /// it and read it.
  BarrierQueue forOtherRole() const;

  /// A role's position in the queue; barriers are addresses.
  struct Place {
    mlir::Value index, parity, full, empty;
    /// Bytes behind the first item.
    mlir::Value item;
  };
  Place getPlace() const;
  /// Moves on to the next place.
  void advance(const Place &place) const;
  mlir::Value getItemAddress(const Place &place) const;
  /// Offset of the first item from the begin of shared memory, in bytes.
  int64_t getItems() const { return items; }

  void waitEmpty(const Place &place) const;
  void waitFull(const Place &place) const;

private:
  CodeBuilder &b;
  SharedMemory &shared;
  int64_t stages, itemBytes;
  /// Offsets from the begin of shared memory, in bytes.
  int64_t full, empty, items;
  /// Variables: the place, and whether this role has gone around an odd number
  /// of times. They are separate because dividing one count would delay the
  /// products of each step.
  mlir::Value index, parity;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_BARRIERQUEUE_H
