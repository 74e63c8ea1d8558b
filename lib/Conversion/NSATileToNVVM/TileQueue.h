//===- TileQueue.h - Points that the producer tells consumers ---*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_TILEQUEUE_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_TILEQUEUE_H

#include "BarrierQueue.h"
#include "Grid.h"
#include "ThreadMap.h"

namespace nsacc {

/// Of blocks that take one point of the grid after the other: the producer asks
/// for the next one and tells it while consumers have this one.
class TileQueue {
public:
  TileQueue(CodeBuilder &b, ThreadMap &threads, SharedMemory &shared,
            int64_t stages);

  /// By one thread, before warps part.
  void init(int64_t consumerWarps) const { queue.init(consumerWarps); }
  /// The producer tells a point, or that there is none where `isThere` doesn't
  /// hold; gives what it told.
  Point tell(Point point, mlir::Value isThere) const;
  /// Whether what was told is a point, by its x, and not the end of all.
  mlir::Value isPoint(mlir::Value x) const;
  /// Consumers wait for the next point; `release` once it isn't read any more.
  Point hear() const;
  /// The point that was heard.
  Point read() const;
  void release() const;

private:
  CodeBuilder &b;
  ThreadMap &threads;
  BarrierQueue queue;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_TILEQUEUE_H
