//===- SharedMemory.h - Places in shared memory -----------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_SHAREDMEMORY_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_SHAREDMEMORY_H

#include "CodeBuilder.h"
#include "NSATile/IR/SharedShape.h"
#include <string>
#include <vector>

namespace nsacc {

/// Bytes of a barrier in shared memory.
constexpr int64_t kBarrierBytes = 8;

/// A tile in shared memory.
struct SharedTile : nsatile::SharedShape {
  mlir::RankedTensorType type;
  int64_t offset = 0;
  /// Bytes behind `offset` if the place is only known at run time, else null.
  mlir::Value place = {};
  /// False if the place outlives the tile.
  bool isOwner = true;
  /// Whether a circular buffer makes threads meet before the place is written
  /// again.
  bool isGuarded = false;

  static SharedTile get(mlir::RankedTensorType type);
};

/// Allocates places in shared memory, and computes addresses of tiles'
/// elements. Synchronization is up to the callers.
class SharedMemory {
public:
  /// `limit` bounds the bytes for optional uses.
  SharedMemory(CodeBuilder &b, int64_t limit);

  //===-- Places ----------------------------------------------------------===//

  /// The first free place, as byte offset from the begin of shared memory.
  /// Messages name `tile`.
  int64_t allocate(int64_t bytes, mlir::RankedTensorType tile = {});
  /// A place that nothing has used before: writing it needs no synchronization
  /// with readers.
  int64_t allocateUnused(int64_t bytes, mlir::RankedTensorType tile = {});
  /// Places for barriers. Barriers of all circular buffers are side by side,
  /// and are never released.
  int64_t allocateBarriers(int64_t count);
  void release(int64_t offset);
  int64_t getPeak() const { return peak; }
  /// The largest uses at the peak: "147456 for tiles of 128x576xbf16, …"
  std::string describePeak() const;
  bool hasRoom(int64_t bytes) const { return peak + bytes <= limit; }

  //===-- Addresses -------------------------------------------------------===//

  /// The address as a 32-bit integer, the form that instructions take.
  mlir::Value getAddress(int64_t offset);
  /// A pointer to `more` (null: 0) bytes behind `offset`.
  mlir::Value getPointer(mlir::Value offset, mlir::Value more);
  mlir::Value getPointer(const SharedTile &tile, mlir::Value byteOffset);

  //===-- Elements --------------------------------------------------------===//

  /// Byte offset of an element in a tile.
  mlir::Value getByteOffset(const SharedTile &tile, mlir::Value row,
                            mlir::Value column);
  mlir::Value getElementPointer(const SharedTile &tile,
                                mlir::ValueRange coordinates);
  mlir::Value loadElement(const SharedTile &tile, mlir::ValueRange coordinates);
  /// The element if `condition` holds, else `other`; without a branch.
  mlir::Value loadElementIf(mlir::Value condition, const SharedTile &tile,
                            mlir::ValueRange coordinates, mlir::Value other);

private:
  int64_t take(int64_t begin, int64_t bytes, mlir::RankedTensorType tile);

  struct Place {
    int64_t begin, end;
    mlir::RankedTensorType tile;
  };

  CodeBuilder &b;
  mlir::Value base;
  /// Places that are taken now, and that were taken at the peak.
  std::vector<Place> places, fullest;
  int64_t peak = 0, limit;
  /// Unused room for barriers.
  int64_t nextBarrier = 0, barrierBytesLeft = 0;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_SHAREDMEMORY_H
