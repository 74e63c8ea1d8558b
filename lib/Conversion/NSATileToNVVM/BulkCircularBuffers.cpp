//===- BulkCircularBuffers.cpp - Circular buffers that bulk copies fill ---===//

#include "CircularBuffers.h"
#include "InlinePTX.h"
#include "Instructions.h"
#include "NSATile/IR/WarpRoles.h"
#include "SharedCopy.h"
#include "TensorMaps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

BulkCircularBuffers::BulkCircularBuffers(Kernel &kernel)
    : b(kernel.b), threads(kernel.threads), program(kernel.program),
      shared(kernel.shared), sharedTiles(kernel.sharedTiles), host(kernel.host),
      writer(kernel) {}

void BulkCircularBuffers::create(CircularBufferOp op) {
  CircularBufferType type = op.getCircularBuffer().getType();
  auto [entry, isNew] =
      queues.try_emplace(op.getCircularBuffer(), b, shared, type.getStages(),
                         SharedTile::get(type.getTile()).bytes,
                         BarrierQueue::Room::Own, type.getTile());
  for (Operation *user : op->getUsers()) {
    if (auto load = dyn_cast<ProducerLoadOp>(user); load && !isBulkCopy(load))
      gathered.insert(op.getCircularBuffer());
    if (isa<ConsumerStoreOp>(user) && !stored.contains(op.getCircularBuffer()))
      stored.insert({op.getCircularBuffer(), entry->second.forOtherRole()});
  }
}

void BulkCircularBuffers::init(int64_t consumerWarps) const {
  for (auto &[buffer, queue] : queues)
    queue.init(consumerWarps, stored.contains(buffer)     ? consumerWarps
                              : gathered.contains(buffer) ? kWarpSize
                                                          : 1);
}

LogicalResult BulkCircularBuffers::producerLoad(ProducerLoadOp op) {
  if (isBulkCopy(op) != isGathering)
    isGathering ? gather(op) : copy(op);
  return success();
}

void BulkCircularBuffers::copy(ProducerLoadOp op) {
  const BarrierQueue &queue = queues.find(op.getCircularBuffer())->second;
  SharedTile tile = SharedTile::get(op.getCircularBuffer().getType().getTile());
  Value map = host.tensorMaps.lookup(getTensorMap(op));
  BarrierQueue::Place place = queue.getPlace();
  queue.waitEmpty(place);
  int64_t slabs = llvm::divideCeil(tile.columns, kSlabColumns);
  nvvm::arriveAndExpect(b, place.full, slabs * tile.rows * kSlabRowBytes);
  SmallVector<Value> coordinates;
  for (Value offset : llvm::reverse(op.getAt().getOffsets()))
    coordinates.push_back(program.lookup(offset));
  Value first = coordinates[0];
  Value address = queue.getItemAddress(place);
  int64_t slabBytes = tile.paddedRows * tile.pitch;
  for (int64_t slab = 0; slab < slabs; ++slab) {
    coordinates[0] = b.add(first, b.i32(slab * kSlabColumns));
    nvvm::copyBoxToShared(b, b.add(address, b.i32(slab * slabBytes)), map,
                          coordinates, place.full);
  }
  queue.advance(place);
}

/// Lets all lanes of a warp copy 16 bytes at a time, or 4; the barrier waits
/// for the copies of each lane. A bulk copy for each row would be slower:
/// starting one takes 38 ns on an H100, more in sum than the way of all rows.
void BulkCircularBuffers::gather(ProducerLoadOp op) {
  const BarrierQueue &queue = queues.find(op.getCircularBuffer())->second;
  RankedTensorType type = op.getCircularBuffer().getType().getTile();
  BarrierQueue::Place place = queue.getPlace();
  queue.waitEmpty(place);
  SharedTile tile = getTile(queue, place, type);
  if (isSharedVector(type))
    copyVectorToShared(b, threads, program, shared, op.getAt(), tile);
  else
    copyToShared(b, threads, program, shared, op.getAt(), tile);
  nvvm::arriveBehindCopies(b, place.full);
  queue.advance(place);
}

SharedTile BulkCircularBuffers::getTile(const BarrierQueue &queue,
                                        const BarrierQueue::Place &place,
                                        RankedTensorType type) {
  SharedTile tile = SharedTile::get(type);
  tile.offset = queue.getItems();
  tile.place = place.item;
  tile.isOwner = false;
  return tile;
}

/// Each warp writes its part when all have released the place, and says that it
/// has: no other barrier makes warps meet.
LogicalResult BulkCircularBuffers::consumerStore(ConsumerStoreOp op) {
  const BarrierQueue &queue = stored.find(op.getCircularBuffer())->second;
  BarrierQueue::Place place = queue.getPlace();
  queue.waitEmpty(place);
  writer.write(
      getTile(queue, place, op.getCircularBuffer().getType().getTile()),
      op.getTile(), /*isInFlight=*/true);
  nvvm::syncWarp(b);
  ptx::arriveIf(b, place.full, threads.isFirstLane());
  queue.advance(place);
  return success();
}

LogicalResult BulkCircularBuffers::consumerWait(ConsumerWaitOp op) {
  const BarrierQueue &queue = queues.find(op.getCircularBuffer())->second;
  BarrierQueue::Place place = queue.getPlace();
  queue.waitFull(place);
  SharedTile tile =
      getTile(queue, place, op.getCircularBuffer().getType().getTile());
  if (gathered.contains(op.getCircularBuffer()) && !isSharedVector(tile.type))
    nvvm::fenceSharedForAsync(b);
  // Addresses that loops take from outside have to be visibly the same for all
  // lanes: otherwise each step moves the descriptors to uniform registers.
  if (!op->getParentOfType<scf::ForOp>())
    tile.place = nvvm::broadcastLane(b, place.item);
  sharedTiles.set(op.getTile(), tile);
  return success();
}

void BulkCircularBuffers::consumerRelease(ConsumerReleaseOp op) {
  const BarrierQueue &queue = queues.find(op.getCircularBuffer())->second;
  BarrierQueue::Place place = queue.getPlace();
  // Each lane has read the elements of a vector that it needs.
  if (isSharedVector(op.getCircularBuffer().getType().getTile()))
    nvvm::syncWarp(b);
  ptx::arriveIf(b, place.empty, threads.isFirstLane());
  queue.advance(place);
}
