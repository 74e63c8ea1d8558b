//===- TileQueue.cpp - Points that the producer tells consumers -----------===//

#include "TileQueue.h"
#include "InlinePTX.h"
#include "Instructions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace nsacc;

/// Bytes of a sent point. It has three words; the first is kNoTile at the end.
static constexpr int64_t kPointBytes = 4 * sizeof(int32_t), kWordBytes = 4;
static constexpr int32_t kNoTile = -1;

TileQueue::TileQueue(CodeBuilder &b, ThreadMap &threads, SharedMemory &shared,
                     int64_t stages)
    : b(b), threads(threads),
      queue(b, shared, stages, kPointBytes, BarrierQueue::Room::AmongBarriers) {
}

Point TileQueue::tell(Point point, Value isThere) const {
  point[0] = b.select(isThere, point[0], b.i32(kNoTile));
  BarrierQueue::Place place = queue.getPlace();
  Value pointer = nvvm::toPointer(b, queue.getItemAddress(place));
  queue.waitEmpty(place);
  for (auto [index, word] : llvm::enumerate(point))
    LLVM::StoreOp::create(b, word, b.advance(pointer, index * kWordBytes),
                          kWordBytes, /*isVolatile=*/true);
  ptx::arriveIf(b, place.full, b.i32(1));
  queue.advance(place);
  return point;
}

Value TileQueue::isPoint(Value x) const {
  return b.make<arith::CmpIOp>(arith::CmpIPredicate::ne, x, b.i32(kNoTile));
}

Point TileQueue::hear() const {
  queue.waitFull(queue.getPlace());
  return read();
}

Point TileQueue::read() const {
  Value slot = queue.getItemAddress(queue.getPlace());
  Value leads = threads.isFirstLane();
  Point point;
  // Only the lane that releases reads the words. It broadcasts them: they are
  // the same for all lanes, and descriptors and branches rely on that.
  for (auto [index, word] : llvm::enumerate(point))
    word = nvvm::broadcastLane(
        b, ptx::loadSharedIf(b, b.add(slot, b.i32(index * kWordBytes)), leads));
  return point;
}

void TileQueue::release() const {
  BarrierQueue::Place place = queue.getPlace();
  ptx::arriveIf(b, place.empty, threads.isFirstLane());
  queue.advance(place);
}
