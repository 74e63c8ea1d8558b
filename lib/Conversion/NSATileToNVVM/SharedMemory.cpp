//===- SharedMemory.cpp - Places of tiles, and who waits for whom ---------===//

#include "SharedMemory.h"
#include "NSATile/IR/NSATileOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;

SharedTile SharedTile::get(RankedTensorType type) {
  return {SharedShape::get(type), type};
}

int64_t SharedMemory::allocate(int64_t bytes) {
  bytes = llvm::alignTo(std::max<int64_t>(bytes, 1), nsatile::kSharedAlignment);
  int64_t begin = 0;
  auto before = places.begin();
  for (; before != places.end(); ++before) {
    if (begin + bytes <= before->begin)
      break;
    begin = before->end;
  }
  places.insert(before, {begin, begin + bytes});
  peak = std::max(peak, begin + bytes);
  return begin;
}

void SharedMemory::release(int64_t offset) {
  llvm::erase_if(places,
                 [&](const Place &place) { return place.begin == offset; });
}

bool SharedMemory::mustWait(const Access &access) const {
  return llvm::any_of(pending, [&](const Access &other) {
    return (access.isWrite || other.isWrite) && access.begin < other.end &&
           other.begin < access.end;
  });
}
