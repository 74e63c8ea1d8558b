//===- SharedMemory.h - Places in shared memory -----------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_SHAREDMEMORY_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_SHAREDMEMORY_H

#include "CodeBuilder.h"
#include "NSATile/IR/SharedShape.h"
#include <string>
#include <vector>

namespace nsacc {

/// Of a barrier in shared memory.
constexpr int64_t kBarrierBytes = 8;

/// A tile in shared memory.
struct SharedTile : nsatile::SharedShape {
  mlir::RankedTensorType type;
  int64_t offset = 0;
  /// Bytes behind `offset`, where the place is known at run time only; else
  /// null.
  mlir::Value place = {};
  /// False where the place outlives the tile.
  bool isOwner = true;
  /// A circular buffer sees to it that threads meet before it is written again.
  bool isGuarded = false;

  static SharedTile get(mlir::RankedTensorType type);
};

/// Gives out places, and says where elements of tiles are in them. Who may read
/// and write them when is none of its business.
class SharedMemory {
public:
  /// No more than `limit` bytes are for what the program can do without.
  SharedMemory(CodeBuilder &b, int64_t limit);

  //===-- Places ----------------------------------------------------------===//

  /// The first free place, as bytes from the begin of shared memory. Messages
  /// say of which tiles it is.
  int64_t allocate(int64_t bytes, mlir::RankedTensorType tile = {});
  /// A place that nothing had before: who writes it need not ask who reads.
  int64_t allocateUnused(int64_t bytes, mlir::RankedTensorType tile = {});
  /// Barriers of all circular buffers stand side by side, and are never given
  /// back.
  int64_t allocateBarriers(int64_t count);
  void release(int64_t offset);
  int64_t getPeak() const { return peak; }
  /// What takes the most where the most is taken: "147456 for tiles of
  /// 128x576xbf16, …"
  std::string describePeak() const;
  bool hasRoom(int64_t bytes) const { return peak + bytes <= limit; }

  //===-- Addresses -------------------------------------------------------===//

  /// As an integer of 32 bits, as instructions take it.
  mlir::Value getAddress(int64_t offset);
  /// A pointer, `more` (null: 0) bytes beyond `offset`.
  mlir::Value getPointer(mlir::Value offset, mlir::Value more);
  mlir::Value getPointer(const SharedTile &tile, mlir::Value byteOffset);

  //===-- Elements --------------------------------------------------------===//

  /// Bytes from a tile's begin to an element.
  mlir::Value getByteOffset(const SharedTile &tile, mlir::Value row,
                            mlir::Value column);
  mlir::Value getElementPointer(const SharedTile &tile,
                                mlir::ValueRange coordinates);
  mlir::Value loadElement(const SharedTile &tile, mlir::ValueRange coordinates);
  /// The element where `condition` holds, else `other`; without a branch.
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
  /// Taken now, and where the most was.
  std::vector<Place> places, fullest;
  int64_t peak = 0, limit;
  /// Room for barriers that has none yet.
  int64_t nextBarrier = 0, barrierBytesLeft = 0;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_SHAREDMEMORY_H
