//===- EmitCircularBuffers.cpp - Queues of tiles that a program fills -----===//

#include "TileEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

/// Places of the two numbers of a queue: the place that is written next, and
/// the one that is read.
static constexpr int64_t kBack = 0, kFront = 1;

void TileEmitter::emitCircularBuffer(CircularBufferOp op) {
  CircularBufferType type = op.getCircularBuffer().getType();
  SmallVector<int64_t> shape = {type.getStages()};
  llvm::append_range(shape, type.getTile().getShape());
  Queue queue;
  queue.tiles =
      allocate(RankedTensorType::get(shape, type.getTile().getElementType()));
  queue.places = allocateScratch(MemRefType::get({2}, builder.getIndexType()));
  for (int64_t role : {kBack, kFront})
    memref::StoreOp::create(builder, loc, constant(0), queue.places,
                            constant(role));
  queues[op.getCircularBuffer()] = queue;
}

/// A role's place in the queue, which is a view of a tile.
Value TileEmitter::getPlace(TypedValue<CircularBufferType> buffer,
                            int64_t role) {
  const Queue &queue = queues.find(buffer)->second;
  ArrayRef<int64_t> shape = buffer.getType().getTile().getShape();
  SmallVector<OpFoldResult> offsets(shape.size() + 1, builder.getIndexAttr(0));
  offsets.front() =
      memref::LoadOp::create(builder, loc, queue.places, constant(role))
          .getResult();
  SmallVector<OpFoldResult> strides(shape.size() + 1, builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes = {builder.getIndexAttr(1)};
  for (int64_t size : shape)
    sizes.push_back(builder.getIndexAttr(size));
  MemRefType view = memref::SubViewOp::inferRankReducedResultType(
      shape, cast<MemRefType>(queue.tiles.getType()), offsets, sizes, strides);
  return memref::SubViewOp::create(builder, loc, view, queue.tiles, offsets,
                                   sizes, strides);
}

void TileEmitter::advance(TypedValue<CircularBufferType> buffer, int64_t role) {
  Value places = queues.find(buffer)->second.places;
  Value at = constant(role);
  Value next = arith::AddIOp::create(
      builder, loc, memref::LoadOp::create(builder, loc, places, at),
      constant(1));
  next = arith::RemUIOp::create(builder, loc, next,
                                constant(buffer.getType().getStages()));
  memref::StoreOp::create(builder, loc, next, places, at);
}

void TileEmitter::emitConsumerStore(ConsumerStoreOp op) {
  copyTile(op.getTile(), getPlace(op.getCircularBuffer(), kBack));
  advance(op.getCircularBuffer(), kBack);
}

void TileEmitter::emitConsumerWait(ConsumerWaitOp op) {
  memory[op.getTile()] = getPlace(op.getCircularBuffer(), kFront);
}

void TileEmitter::emitConsumerRelease(ConsumerReleaseOp op) {
  advance(op.getCircularBuffer(), kFront);
}
