//===- CircularBuffers.h - Queues of tiles in shared memory -----*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_CIRCULARBUFFERS_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_CIRCULARBUFFERS_H

#include "BarrierQueue.h"
#include "Kernel.h"
#include "OperandWriter.h"

namespace nsacc {

/// Circular buffers of a program. Their kind depends on whether the program is
/// warp-specialized.
class CircularBuffers {
public:
  virtual ~CircularBuffers() = default;

  virtual void create(nsatile::CircularBufferOp op) = 0;
  virtual mlir::LogicalResult producerLoad(nsatile::ProducerLoadOp op) = 0;
  virtual mlir::LogicalResult consumerStore(nsatile::ConsumerStoreOp op) = 0;
  virtual mlir::LogicalResult consumerWait(nsatile::ConsumerWaitOp op) = 0;
  virtual void consumerRelease(nsatile::ConsumerReleaseOp op) = 0;
  /// Releases places of circular buffers that no later op of the block uses.
  virtual void releaseDead(mlir::Operation *op) {}
};

/// Circular buffers that one thread fills with bulk copies; barriers in shared
/// memory say which places are full and empty.
class BulkCircularBuffers : public CircularBuffers {
public:
  explicit BulkCircularBuffers(Kernel &kernel);

  void create(nsatile::CircularBufferOp op) override;
  mlir::LogicalResult producerLoad(nsatile::ProducerLoadOp op) override;
  mlir::LogicalResult consumerStore(nsatile::ConsumerStoreOp op) override;
  mlir::LogicalResult consumerWait(nsatile::ConsumerWaitOp op) override;
  void consumerRelease(nsatile::ConsumerReleaseOp op) override;

  /// Initializes the barriers of all circular buffers; called by one thread
  /// before warps part.
  void init(int64_t consumerWarps) const;
  /// Whether the lanes of a warp fill any circular buffer: a list names its
  /// rows, or it is of vectors.
  bool gathers() const { return !gathered.empty(); }
  /// Says whether the following loads belong to the warp that gathers listed
  /// rows, or are all others.
  void setGathering(bool gathering) { isGathering = gathering; }

private:
  void copy(nsatile::ProducerLoadOp op);
  void gather(nsatile::ProducerLoadOp op);
  SharedTile getTile(const BarrierQueue &queue,
                     const BarrierQueue::Place &place,
                     mlir::RankedTensorType type);

  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  SharedMemory &shared;
  SharedTiles &sharedTiles;
  const HostParameters &host;
  OperandWriter writer;
  llvm::MapVector<mlir::Value, BarrierQueue> queues;
  /// Circular buffers that consumers fill, with the position of what they
  /// write.
  llvm::MapVector<mlir::Value, BarrierQueue> stored;
  llvm::DenseSet<mlir::Value> gathered;
  bool isGathering = false;
};

/// Circular buffers that all threads fill, each thread with its own copies
/// (`cp.async`). Groups of copies and barriers of the block say which tiles can
/// be read.
class CopyCircularBuffers : public CircularBuffers {
public:
  explicit CopyCircularBuffers(Kernel &kernel);

  void create(nsatile::CircularBufferOp op) override;
  mlir::LogicalResult producerLoad(nsatile::ProducerLoadOp op) override;
  mlir::LogicalResult consumerStore(nsatile::ConsumerStoreOp op) override;
  mlir::LogicalResult consumerWait(nsatile::ConsumerWaitOp op) override;
  void consumerRelease(nsatile::ConsumerReleaseOp op) override;
  void releaseDead(mlir::Operation *op) override;

private:
  struct Buffer {
    int64_t offset, stages, tileBytes;
    /// Variables: byte offsets of the tile's places that are filled or read
    /// next.
    mlir::Value loadPlace, readPlace;

    Synchronizer::SharedAccess getAccess() const {
      return {offset, offset + stages * tileBytes, true};
    }
  };
  mlir::Value createPlace();
  mlir::Value getPlace(const Buffer &buffer, mlir::Value variable);
  void advance(const Buffer &buffer, mlir::Value variable);
  /// Makes threads meet if one of them may still read the place that is filled
  /// next. An error if no place is free.
  mlir::LogicalResult makeRoom(mlir::Operation *op, mlir::Value circularBuffer);
  SharedTile getTileAt(const Buffer &buffer, mlir::RankedTensorType type,
                       mlir::Value variable);
  int64_t getNeededGroup(nsatile::ConsumerWaitOp op);

  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  SharedMemory &shared;
  SharedTiles &sharedTiles;
  CopyGroups &copies;
  Synchronizer &sync;
  OperandWriter writer;
  llvm::MapVector<mlir::Value, Buffer> buffers;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_CIRCULARBUFFERS_H
