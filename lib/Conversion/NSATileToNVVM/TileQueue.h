//===- TileQueue.h - Points that the producer tells consumers ---*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_TILEQUEUE_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_TILEQUEUE_H

#include "BarrierQueue.h"
#include "Grid.h"
#include "ThreadMap.h"

namespace nsacc {

/// A queue of grid points for persistent blocks, which work on one point after
/// another. The producer asks for the next point and sends it while the
/// consumers work on the current one.
class TileQueue {
public:
  TileQueue(CodeBuilder &b, ThreadMap &threads, SharedMemory &shared,
            int64_t stages);

  /// Initializes the queue; called by one thread before warps part.
  void init(int64_t consumerWarps) const { queue.init(consumerWarps); }
  /// Sends a point from the producer, or the end if `isThere` is false. Returns
  /// the sent words.
  Point tell(Point point, mlir::Value isThere) const;
  /// Whether the sent words are a point, by its x, and not the end.
  mlir::Value isPoint(mlir::Value x) const;
  /// Waits for the next point in consumers; `release` follows once it isn't
  /// read any more.
  Point hear() const;
  /// Reads the received point.
  Point read() const;
  void release() const;

private:
  CodeBuilder &b;
  ThreadMap &threads;
  BarrierQueue queue;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_TILEQUEUE_H
