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

  /// Before warps part; `init` by one thread.
  void createQueue();
  void init(int64_t consumerWarps) const { queue->init(consumerWarps); }
  mlir::LogicalResult emitTiles(nsatile::TilesOp op);

private:
  mlir::LogicalResult emitConsumers(nsatile::TilesOp op);
  /// Gives the point behind this one.
  mlir::FailureOr<Point> emitConsumersTile(nsatile::TilesOp op);
  mlir::LogicalResult forgetPoint(nsatile::TilesOp op, mlir::Operation &last);
  mlir::LogicalResult emitProducer(nsatile::TilesOp op);

  KernelEmitter &emitter;
  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  SharedMemory &shared;
  const HostParameters &host;
  std::optional<TileQueue> queue;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_PERSISTENTTILES_H
