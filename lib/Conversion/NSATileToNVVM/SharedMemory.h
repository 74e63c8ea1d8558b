//===- SharedMemory.h - Places of tiles, and who waits for whom -*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_SHAREDMEMORY_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_SHAREDMEMORY_H

#include "NSATile/IR/SharedShape.h"
#include "mlir/IR/Value.h"
#include <vector>

namespace nsacc {

/// A tile in shared memory.
struct SharedTile : nsatile::SharedShape {
  mlir::RankedTensorType type;
  int64_t offset = 0;
  /// Bytes behind `offset`, where the place is known at run time only; else
  /// null.
  mlir::Value place = {};
  /// False where the place outlives the tile.
  bool isOwner = true;
  /// A ring sees to it that threads meet before it is written again.
  bool isGuarded = false;

  static SharedTile get(mlir::RankedTensorType type);
};

/// Places by lifetime, and accesses that threads haven't met since.
class SharedMemory {
public:
  /// The first free place.
  int64_t allocate(int64_t bytes);
  void release(int64_t offset);
  int64_t getPeak() const { return peak; }

  struct Access {
    int64_t begin, end;
    bool isWrite;
  };
  /// True where threads have to meet before the access.
  bool mustWait(const Access &access) const;
  void add(const Access &access) { pending.push_back(access); }
  std::vector<Access> &getPending() { return pending; }

private:
  struct Place {
    int64_t begin, end;
  };
  std::vector<Place> places;
  std::vector<Access> pending;
  int64_t peak = 0;
};

/// The same for buffers that a program both reads and writes.
struct GlobalHazards {
  struct Access {
    mlir::Value buffer;
    bool isWrite;
  };
  std::vector<Access> pending;
};

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_SHAREDMEMORY_H
