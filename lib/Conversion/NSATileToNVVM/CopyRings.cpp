//===- CopyRings.cpp - Rings that all threads fill ------------------------===//

#include "Rings.h"
#include "SharedCopy.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

CopyRings::CopyRings(Kernel &kernel)
    : b(kernel.b), threads(kernel.threads), program(kernel.program),
      shared(kernel.shared), sharedTiles(kernel.sharedTiles),
      copies(kernel.copies), sync(kernel.sync) {}

/// A variable of the function, 0 from here on.
Value CopyRings::createPlace() {
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

void CopyRings::create(RingOp op) {
  // As swizzled slabs begin.
  constexpr int64_t alignment = 1024;
  RingType type = op.getRing().getType();
  Ring ring;
  ring.stages = type.getStages();
  ring.tileBytes =
      llvm::alignTo(SharedTile::get(type.getTile()).bytes, alignment);
  ring.offset = shared.allocate(ring.stages * ring.tileBytes);
  copies.getQueue(op.getRing()).mustMeet = sync.mustWait(ring.getAccess());
  ring.fillPlace = createPlace();
  ring.readPlace = createPlace();
  rings[op.getRing()] = ring;
}

Value CopyRings::getPlace(const Ring &ring, Value variable) {
  if (ring.stages == 1)
    return {};
  return b.make<LLVM::LoadOp>(b.getI32Type(), variable);
}

void CopyRings::advance(const Ring &ring, Value variable) {
  if (ring.stages == 1)
    return;
  Value place = getPlace(ring, variable);
  Value isLast =
      b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, place,
                            b.i32((ring.stages - 1) * ring.tileBytes));
  Value next = b.select(isLast, b.i32(0), b.add(place, b.i32(ring.tileBytes)));
  LLVM::StoreOp::create(b, next, variable);
}

SharedTile CopyRings::getTileAt(const Ring &ring, RankedTensorType type,
                                Value variable) {
  SharedTile tile = SharedTile::get(type);
  tile.offset = ring.offset;
  tile.place = getPlace(ring, variable);
  tile.isOwner = false;
  tile.isGuarded = true;
  return tile;
}

LogicalResult CopyRings::fill(FillOp op) {
  const Ring &ring = rings.find(op.getRing())->second;
  const CopyGroups::Queue &queue = copies.getQueue(op.getRing());
  int64_t inside = queue.groups.size() + queue.isRead;
  if (inside >= ring.stages)
    return op.emitOpError("finds no room: the ring has ")
           << inside << " tiles already";
  sync.beforeGlobal(op.getBuffer(), /*isWrite=*/false);
  if (queue.mustMeet)
    sync.barrier();
  RankedTensorType type = op.getRing().getType().getTile();
  CopySource source = {
      op.getBuffer(), op.getOffsets(), op.getLimits(), op.getDims(), {}, type};
  copyToShared(b, threads, program, shared, source,
               getTileAt(ring, type, ring.fillPlace));
  advance(ring, ring.fillPlace);
  copies.push(op.getRing());
  return success();
}

/// True when each way from the ring to `op` comes by it as often.
static bool isAlwaysReached(Operation *op, Value ring) {
  Region *region = ring.getParentRegion();
  for (; op->getParentRegion() != region; op = op->getParentOp())
    if (isa<scf::IfOp>(op->getParentOp()))
      return false;
  return true;
}

/// Tiles that are acquired side by side are waited for together.
int64_t CopyRings::getNeededGroup(AcquireOp op) {
  int64_t needed = copies.getQueue(op.getRing()).groups.front();
  for (auto next = dyn_cast<AcquireOp>(op->getNextNode()); next;
       next = dyn_cast<AcquireOp>(next->getNextNode())) {
    ArrayRef<int64_t> groups = copies.getQueue(next.getRing()).groups;
    if (!groups.empty())
      needed = std::max(needed, groups.front());
  }
  return needed;
}

LogicalResult CopyRings::acquire(AcquireOp op) {
  copies.commit();
  CopyGroups::Queue &queue = copies.getQueue(op.getRing());
  if (!isAlwaysReached(op, op.getRing()) || queue.isRead ||
      queue.groups.empty())
    return op.emitOpError("expected a tile in the ring on every way here, and "
                          "the one before released");
  if (copies.waitFor(getNeededGroup(op)))
    sync.barrier();
  queue.groups.erase(queue.groups.begin());
  queue.isRead = true;
  const Ring &ring = rings.find(op.getRing())->second;
  sharedTiles.set(op.getTile(),
                  getTileAt(ring, getTile(op.getTile()), ring.readPlace));
  return success();
}

void CopyRings::release(ReleaseOp op) {
  const Ring &ring = rings.find(op.getRing())->second;
  advance(ring, ring.readPlace);
  CopyGroups::Queue &queue = copies.getQueue(op.getRing());
  queue.isRead = false;
  queue.mustMeet = true;
}

void CopyRings::releaseDead(Operation *op) {
  Block *block = op->getBlock();
  SmallVector<Value> dead;
  for (auto &[value, ring] : rings) {
    bool isUsed = llvm::any_of(value.getUsers(), [&](Operation *user) {
      Operation *ancestor = block->findAncestorOpInBlock(*user);
      return !ancestor || op->isBeforeInBlock(ancestor);
    });
    if (value.getParentBlock() == block && !isUsed)
      dead.push_back(value);
  }
  for (Value value : dead) {
    const Ring &ring = rings.find(value)->second;
    shared.release(ring.offset);
    sync.add(ring.getAccess());
    copies.removeQueue(value);
    rings.erase(value);
  }
}
