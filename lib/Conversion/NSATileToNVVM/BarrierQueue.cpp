//===- BarrierQueue.cpp - Queues with barriers in shared memory -----------===//

#include "BarrierQueue.h"
#include "InlinePTX.h"
#include "Instructions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace nsacc;

/// A variable with the initial value 0.
static Value createCounter(CodeBuilder &b) {
  Value counter = b.make<LLVM::AllocaOp>(
      LLVM::LLVMPointerType::get(b.getContext()), b.getI32Type(), b.i32(1));
  LLVM::StoreOp::create(b, b.i32(0), counter);
  return counter;
}

BarrierQueue::BarrierQueue(CodeBuilder &b, SharedMemory &shared, int64_t stages,
                           int64_t itemBytes, Room room, RankedTensorType tile)
    : b(b), shared(shared), stages(stages), itemBytes(itemBytes),
      full(shared.allocateBarriers(2 * stages)),
      empty(full + stages * kBarrierBytes),
      items(room == Room::Own
                ? shared.allocate(stages * itemBytes, tile)
                : shared.allocateBarriers(stages * itemBytes / kBarrierBytes)),
      index(createCounter(b)), parity(createCounter(b)) {}

void BarrierQueue::init(int64_t readers, int64_t writers) const {
  Value first = nvvm::toPointer(b, shared.getAddress(full));
  for (int64_t i = 0; i < stages; ++i) {
    int64_t offset = i * kBarrierBytes;
    nvvm::initBarrier(b, b.advance(first, offset), writers);
    nvvm::initBarrier(b, b.advance(first, empty - full + offset), readers);
  }
}

BarrierQueue BarrierQueue::forOtherRole() const {
  BarrierQueue other = *this;
  other.index = createCounter(b);
  other.parity = createCounter(b);
  return other;
}

BarrierQueue::Place BarrierQueue::getPlace() const {
  Place place;
  place.index = b.make<LLVM::LoadOp>(b.getI32Type(), index);
  place.parity = b.make<LLVM::LoadOp>(b.getI32Type(), parity);
  Value barrier = b.mul(place.index, b.i32(kBarrierBytes));
  place.full = b.add(shared.getAddress(full), barrier);
  place.empty = b.add(shared.getAddress(empty), barrier);
  place.item = b.make<arith::MulIOp>(place.index, b.i32(itemBytes),
                                     arith::IntegerOverflowFlags::nuw);
  return place;
}

void BarrierQueue::advance(const Place &place) const {
  Value next, isAround;
  if (stages <= 2) {
    // Each takes one instruction.
    isAround = stages == 2 ? place.index : b.i32(1);
    next = b.make<arith::XOrIOp>(place.index, b.i32(stages - 1));
  } else {
    next = b.add(place.index, b.i32(1));
    Value isEnd =
        b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, next, b.i32(stages));
    next = b.select(isEnd, b.i32(0), next);
    isAround = b.make<arith::ExtUIOp>(b.getI32Type(), isEnd);
  }
  LLVM::StoreOp::create(b, next, index);
  LLVM::StoreOp::create(b, b.make<arith::XOrIOp>(place.parity, isAround),
                        parity);
}

Value BarrierQueue::getItemAddress(const Place &place) const {
  return b.add(shared.getAddress(items), place.item);
}

void BarrierQueue::waitEmpty(const Place &place) const {
  ptx::waitBarrier(b, place.empty,
                   b.make<arith::XOrIOp>(place.parity, b.i32(1)));
}

void BarrierQueue::waitFull(const Place &place) const {
  ptx::waitBarrier(b, place.full, place.parity);
}
