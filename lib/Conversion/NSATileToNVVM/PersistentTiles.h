//===- PersistentTiles.h - Blocks that take tile after tile -----*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_PERSISTENTTILES_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_PERSISTENTTILES_H

#include "KernelEmitter.h"
#include "TileQueue.h"

namespace nsacc {

/// Writes the loops of producer and consumers over points of the grid.
class PersistentTiles {
public:
  PersistentTiles(KernelEmitter &emitter, Kernel &kernel);

  /// Creates the queue before warps part; one thread calls `init`.
  void createQueue();
  void init(int64_t readingWarps) const { queue->init(readingWarps); }
  mlir::LogicalResult emitTiles(nsatile::TilesOp op);
  /// Says that a warp gathers listed rows: points are sent as early as they are
  /// known, so that this warp can be ahead of consumers.
  void tellAhead() { tellsAhead = true; }
  /// Says whether the following code is for the warp that gathers.
  void setGathering(bool gathering) { isGathering = gathering; }

private:
  mlir::LogicalResult
  emitReaders(nsatile::TilesOp op,
              llvm::function_ref<mlir::FailureOr<Point>()> emitTile);
  mlir::FailureOr<Point> emitGatheredTile(nsatile::TilesOp op);
  /// Returns the next point.
  mlir::FailureOr<Point> emitConsumersTile(nsatile::TilesOp op);
  mlir::LogicalResult forgetPoint(nsatile::TilesOp op, mlir::Operation &last);
  mlir::LogicalResult emitProducer(nsatile::TilesOp op);

  KernelEmitter &emitter;
  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  SharedMemory &shared;
  Synchronizer &sync;
  const HostParameters &host;
  std::optional<TileQueue> queue;
  bool tellsAhead = false, isGathering = false;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_PERSISTENTTILES_H
