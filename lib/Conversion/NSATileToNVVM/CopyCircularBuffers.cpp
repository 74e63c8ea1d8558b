//===- CopyCircularBuffers.cpp - Circular buffers that all threads fill ---===//

#include "CircularBuffers.h"
#include "SharedCopy.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

CopyCircularBuffers::CopyCircularBuffers(Kernel &kernel)
    : b(kernel.b), threads(kernel.threads), program(kernel.program),
      shared(kernel.shared), sharedTiles(kernel.sharedTiles),
      copies(kernel.copies), sync(kernel.sync), writer(kernel) {}

/// A variable of the function with the initial value 0.
Value CopyCircularBuffers::createPlace() {
  Value variable;
  {
    // Variables of the entry become registers.
    OpBuilder::InsertionGuard guard(b);
    Operation *inside = b.getInsertionBlock()->getParentOp();
    auto function = dyn_cast<LLVM::LLVMFuncOp>(inside);
    if (!function)
      function = inside->getParentOfType<LLVM::LLVMFuncOp>();
    b.setInsertionPointToStart(&function.front());
    variable = b.make<LLVM::AllocaOp>(
        LLVM::LLVMPointerType::get(b.getContext()), b.getI32Type(), b.i32(1));
  }
  LLVM::StoreOp::create(b, b.i32(0), variable);
  return variable;
}

void CopyCircularBuffers::create(CircularBufferOp op) {
  // Swizzled slabs begin at multiples of this.
  constexpr int64_t ofSlabs = 1024, ofVectors = 16;
  CircularBufferType type = op.getCircularBuffer().getType();
  Buffer buffer;
  buffer.stages = type.getStages();
  buffer.tileBytes =
      llvm::alignTo(SharedTile::get(type.getTile()).bytes,
                    isSharedVector(type.getTile()) ? ofVectors : ofSlabs);
  buffer.offset =
      shared.allocate(buffer.stages * buffer.tileBytes, type.getTile());
  copies.getQueue(op.getCircularBuffer()).mustMeet =
      sync.mustMeetBefore(buffer.getAccess());
  buffer.loadPlace = createPlace();
  buffer.readPlace = createPlace();
  buffers[op.getCircularBuffer()] = buffer;
}

Value CopyCircularBuffers::getPlace(const Buffer &buffer, Value variable) {
  if (buffer.stages == 1)
    return {};
  return b.make<LLVM::LoadOp>(b.getI32Type(), variable);
}

void CopyCircularBuffers::advance(const Buffer &buffer, Value variable) {
  if (buffer.stages == 1)
    return;
  Value place = getPlace(buffer, variable);
  Value isLast =
      b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, place,
                            b.i32((buffer.stages - 1) * buffer.tileBytes));
  Value next =
      b.select(isLast, b.i32(0), b.add(place, b.i32(buffer.tileBytes)));
  LLVM::StoreOp::create(b, next, variable);
}

SharedTile CopyCircularBuffers::getTileAt(const Buffer &buffer,
                                          RankedTensorType type,
                                          Value variable) {
  SharedTile tile = SharedTile::get(type);
  tile.offset = buffer.offset;
  tile.place = getPlace(buffer, variable);
  tile.isOwner = false;
  tile.isGuarded = true;
  return tile;
}

LogicalResult CopyCircularBuffers::makeRoom(Operation *op,
                                            Value circularBuffer) {
  const CopyGroups::Queue &queue = copies.getQueue(circularBuffer);
  int64_t inside = queue.getNumTiles() + queue.isRead;
  if (inside >= buffers.find(circularBuffer)->second.stages)
    return op->emitOpError("finds no room: the circular buffer has ")
           << inside << " tiles already";
  if (queue.mustMeet)
    sync.barrier();
  return success();
}

LogicalResult CopyCircularBuffers::producerLoad(ProducerLoadOp op) {
  const Buffer &buffer = buffers.find(op.getCircularBuffer())->second;
  sync.beforeGlobal(op.getAt().getBuffer(), /*isWrite=*/false);
  if (failed(makeRoom(op, op.getCircularBuffer())))
    return failure();
  RankedTensorType type = op.getCircularBuffer().getType().getTile();
  SharedTile tile = getTileAt(buffer, type, buffer.loadPlace);
  if (isSharedVector(type))
    copyVectorToShared(b, threads, program, shared, op.getAt(), tile);
  else
    copyToShared(b, threads, program, shared, op.getAt(), tile);
  advance(buffer, buffer.loadPlace);
  copies.push(op.getCircularBuffer());
  return success();
}

LogicalResult CopyCircularBuffers::consumerStore(ConsumerStoreOp op) {
  const Buffer &buffer = buffers.find(op.getCircularBuffer())->second;
  if (failed(makeRoom(op, op.getCircularBuffer())))
    return failure();
  writer.write(getTileAt(buffer, op.getCircularBuffer().getType().getTile(),
                         buffer.loadPlace),
               op.getTile(), /*isInFlight=*/false);
  advance(buffer, buffer.loadPlace);
  copies.pushStored(op.getCircularBuffer());
  return success();
}

/// Whether each way from the circular buffer passes `op` equally often.
static bool isAlwaysReached(Operation *op, Value buffer) {
  Region *region = buffer.getParentRegion();
  for (; op->getParentRegion() != region; op = op->getParentOp())
    if (isa<scf::IfOp>(op->getParentOp()))
      return false;
  return true;
}

/// The group to wait for. Neighbouring waits share one.
int64_t CopyCircularBuffers::getNeededGroup(ConsumerWaitOp op) {
  int64_t needed = copies.getQueue(op.getCircularBuffer()).groups.front();
  for (auto next = dyn_cast<ConsumerWaitOp>(op->getNextNode()); next;
       next = dyn_cast<ConsumerWaitOp>(next->getNextNode())) {
    ArrayRef<int64_t> groups = copies.getQueue(next.getCircularBuffer()).groups;
    if (!groups.empty())
      needed = std::max(needed, groups.front());
  }
  return needed;
}

LogicalResult CopyCircularBuffers::consumerWait(ConsumerWaitOp op) {
  copies.commit();
  CopyGroups::Queue &queue = copies.getQueue(op.getCircularBuffer());
  if (!isAlwaysReached(op, op.getCircularBuffer()) || queue.isRead ||
      queue.getNumTiles() == 0)
    return op.emitOpError(
        "expected a tile in the circular buffer on every way here, and "
        "the one before released");
  bool mustMeet = queue.groups.empty() ? queue.isFrontUnmet()
                                       : copies.waitFor(getNeededGroup(op));
  if (mustMeet)
    sync.barrier();
  queue.pop();
  const Buffer &buffer = buffers.find(op.getCircularBuffer())->second;
  sharedTiles.set(op.getTile(),
                  getTileAt(buffer, getTile(op.getTile()), buffer.readPlace));
  return success();
}

void CopyCircularBuffers::consumerRelease(ConsumerReleaseOp op) {
  const Buffer &buffer = buffers.find(op.getCircularBuffer())->second;
  advance(buffer, buffer.readPlace);
  CopyGroups::Queue &queue = copies.getQueue(op.getCircularBuffer());
  queue.isRead = false;
  queue.mustMeet = true;
}

void CopyCircularBuffers::releaseDead(Operation *op) {
  Block *block = op->getBlock();
  SmallVector<Value> dead;
  for (auto &[value, buffer] : buffers) {
    bool isUsed = llvm::any_of(value.getUsers(), [&](Operation *user) {
      Operation *ancestor = block->findAncestorOpInBlock(*user);
      return !ancestor || op->isBeforeInBlock(ancestor);
    });
    if (value.getParentBlock() == block && !isUsed)
      dead.push_back(value);
  }
  for (Value value : dead) {
    const Buffer &buffer = buffers.find(value)->second;
    shared.release(buffer.offset);
    sync.add(buffer.getAccess());
    copies.removeQueue(value);
    buffers.erase(value);
  }
}
