//===- BarrierQueue.h - Queues with barriers in shared memory ---*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_BARRIERQUEUE_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_BARRIERQUEUE_H

#include "SharedMemory.h"

namespace nsacc {

/// A queue from one role to another. Each of its places has a barrier that says
/// that it is full and one that says that it is empty. Each role counts for
/// itself where it is.
class BarrierQueue {
public:
  /// Small items stand among the barriers.
  enum class Room { Own, AmongBarriers };

  BarrierQueue(CodeBuilder &b, SharedMemory &shared, int64_t stages,
               int64_t itemBytes, Room room, mlir::RankedTensorType tile = {});

  /// By one thread, before any role begins: items come one by one from so many
  /// `writers`, and as many `readers` give a place back.
  void init(int64_t readers, int64_t writers = 1) const;

  /// Where a role is; barriers as addresses.
  struct Place {
    mlir::Value index, parity, full, empty;
    /// Bytes behind the first item.
    mlir::Value item;
  };
  Place getPlace() const;
  /// Goes on to the next place.
  void advance(const Place &place) const;
  mlir::Value getItemAddress(const Place &place) const;
  /// Of the first item, as bytes from the begin of shared memory.
  int64_t getItems() const { return items; }

  void waitEmpty(const Place &place) const;
  void waitFull(const Place &place) const;

private:
  CodeBuilder &b;
  SharedMemory &shared;
  int64_t stages, itemBytes;
  /// Bytes from the begin of shared memory.
  int64_t full, empty, items;
  /// Variables: the place, and whether this role has been around an odd number
  /// of times. Kept apart, as dividing a count would stand before the products
  /// of each step.
  mlir::Value index, parity;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_BARRIERQUEUE_H
