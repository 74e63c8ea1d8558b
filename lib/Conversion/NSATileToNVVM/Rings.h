//===- Rings.h - Queues of tiles in shared memory ---------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_RINGS_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_RINGS_H

#include "BarrierQueue.h"
#include "Kernel.h"

namespace nsacc {

/// Rings of a program. Which of the two kinds they are is known with the
/// program's roles.
class Rings {
public:
  virtual ~Rings() = default;

  virtual void create(nsatile::RingOp op) = 0;
  virtual mlir::LogicalResult fill(nsatile::FillOp op) = 0;
  virtual mlir::LogicalResult acquire(nsatile::AcquireOp op) = 0;
  virtual void release(nsatile::ReleaseOp op) = 0;
  /// Gives places back of rings that no later op of the block uses.
  virtual void releaseDead(mlir::Operation *op) {}
};

/// Rings that one thread fills with bulk copies; barriers in shared memory say
/// which places are full and empty.
class BulkRings : public Rings {
public:
  explicit BulkRings(Kernel &kernel);

  void create(nsatile::RingOp op) override;
  mlir::LogicalResult fill(nsatile::FillOp op) override;
  mlir::LogicalResult acquire(nsatile::AcquireOp op) override;
  void release(nsatile::ReleaseOp op) override;

  /// By one thread, before roles begin, for all rings.
  void init(int64_t consumerWarps) const;

private:
  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  SharedMemory &shared;
  SharedTiles &sharedTiles;
  const HostParameters &host;
  llvm::MapVector<mlir::Value, BarrierQueue> queues;
};

/// Rings that all threads fill, each with copies of its own (`cp.async`);
/// groups of copies and barriers of the block say what can be read.
class CopyRings : public Rings {
public:
  explicit CopyRings(Kernel &kernel);

  void create(nsatile::RingOp op) override;
  mlir::LogicalResult fill(nsatile::FillOp op) override;
  mlir::LogicalResult acquire(nsatile::AcquireOp op) override;
  void release(nsatile::ReleaseOp op) override;
  void releaseDead(mlir::Operation *op) override;

private:
  struct Ring {
    int64_t offset, stages, tileBytes;
    /// Variables: bytes to the tile's place that is filled or read next.
    mlir::Value fillPlace, readPlace;

    Synchronizer::SharedAccess getAccess() const {
      return {offset, offset + stages * tileBytes, true};
    }
  };
  mlir::Value createPlace();
  mlir::Value getPlace(const Ring &ring, mlir::Value variable);
  void advance(const Ring &ring, mlir::Value variable);
  SharedTile getTileAt(const Ring &ring, mlir::RankedTensorType type,
                       mlir::Value variable);
  int64_t getNeededGroup(nsatile::AcquireOp op);

  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  SharedMemory &shared;
  SharedTiles &sharedTiles;
  CopyGroups &copies;
  Synchronizer &sync;
  llvm::MapVector<mlir::Value, Ring> rings;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_RINGS_H
