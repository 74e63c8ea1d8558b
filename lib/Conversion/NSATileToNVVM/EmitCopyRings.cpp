//===- EmitCopyRings.cpp - Rings that all threads fill --------------------===//
//
// Without roles, a fill's copies are the threads' own (`cp.async`), in groups
// that are waited for in their order. How many groups a tile is away from the
// last one is known when the code is written: it is the same on all ways there,
// or the least of them, which waits for more than needed.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

/// A variable of the function, 0 from here on.
Value KernelEmitter::createPlace() {
  Value variable;
  {
    // Variables of the entry become registers.
    OpBuilder::InsertionGuard guard(builder);
    Operation *inside = builder.getInsertionBlock()->getParentOp();
    auto function = dyn_cast<LLVM::LLVMFuncOp>(inside);
    if (!function)
      function = inside->getParentOfType<LLVM::LLVMFuncOp>();
    builder.setInsertionPointToStart(&function.front());
    variable =
        make<LLVM::AllocaOp>(LLVM::LLVMPointerType::get(builder.getContext()),
                             builder.getI32Type(), i32(1));
  }
  LLVM::StoreOp::create(builder, loc, i32(0), variable);
  return variable;
}

void KernelEmitter::emitCopyRing(RingOp op) {
  // As swizzled slabs begin.
  constexpr int64_t alignment = 1024;
  RingType type = op.getRing().getType();
  CopyRing ring;
  ring.stages = type.getStages();
  ring.tileBytes =
      llvm::alignTo(SharedTile::get(type.getTile()).bytes, alignment);
  ring.offset = shared.allocate(ring.getBytes());
  ring.mustMeet = shared.mustWait(ring.getAccess());
  ring.fillPlace = createPlace();
  ring.readPlace = createPlace();
  copyRings[op.getRing()] = ring;
}

Value KernelEmitter::getCopyPlace(const CopyRing &ring, Value variable) {
  if (ring.stages == 1)
    return {};
  return make<LLVM::LoadOp>(builder.getI32Type(), variable);
}

void KernelEmitter::advanceCopyPlace(const CopyRing &ring, Value variable) {
  if (ring.stages == 1)
    return;
  Value place = getCopyPlace(ring, variable);
  Value isLast = make<arith::CmpIOp>(arith::CmpIPredicate::eq, place,
                                     i32((ring.stages - 1) * ring.tileBytes));
  Value next = select(isLast, i32(0), add(place, i32(ring.tileBytes)));
  LLVM::StoreOp::create(builder, loc, next, variable);
}

SharedTile KernelEmitter::getCopyTile(const CopyRing &ring,
                                      RankedTensorType type, Value variable) {
  SharedTile tile = SharedTile::get(type);
  tile.offset = ring.offset;
  tile.place = getCopyPlace(ring, variable);
  tile.isOwner = false;
  tile.isGuarded = true;
  return tile;
}

LogicalResult KernelEmitter::emitCopyFill(FillOp op) {
  CopyRing &ring = copyRings.find(op.getRing())->second;
  int64_t inside = ring.groups.size() + ring.isRead;
  if (inside >= ring.stages)
    return op.emitOpError("finds no room: the ring has ")
           << inside << " tiles already";
  beforeGlobal(op.getBuffer(), /*isWrite=*/false);
  if (ring.mustMeet)
    barrier();
  RankedTensorType type = op.getRing().getType().getTile();
  CopySource source = {
      op.getBuffer(), op.getOffsets(), op.getLimits(), op.getDims(), {}, type};
  copyToShared(source, getCopyTile(ring, type, ring.fillPlace));
  advanceCopyPlace(ring, ring.fillPlace);
  ring.groups.push_back(numCopyGroups);
  hasOpenGroup = true;
  return success();
}

void KernelEmitter::commitCopies() {
  if (!hasOpenGroup)
    return;
  call("llvm.nvvm.cp.async.commit.group", {}, {});
  ++numCopyGroups;
  hasOpenGroup = false;
}

/// True when each way from the ring to `op` comes by it as often.
static bool isAlwaysReached(Operation *op, Value ring) {
  Region *region = ring.getParentRegion();
  for (; op->getParentRegion() != region; op = op->getParentOp())
    if (isa<scf::IfOp>(op->getParentOp()))
      return false;
  return true;
}

LogicalResult KernelEmitter::emitCopyAcquire(AcquireOp op) {
  commitCopies();
  CopyRing &ring = copyRings.find(op.getRing())->second;
  if (!isAlwaysReached(op, op.getRing()) || ring.isRead || ring.groups.empty())
    return op.emitOpError("expected a tile in the ring on every way here, and "
                          "the one before released");
  // Tiles that are acquired side by side are waited for together.
  int64_t needed = ring.groups.front();
  for (Operation *next = op->getNextNode(); isa<AcquireOp>(next);
       next = next->getNextNode()) {
    Value nextRing = cast<AcquireOp>(next).getRing();
    ArrayRef<int64_t> groups = copyRings.find(nextRing)->second.groups;
    if (!groups.empty())
      needed = std::max(needed, groups.front());
  }
  if (needed > arrivedGroup) {
    call("llvm.nvvm.cp.async.wait.group", {},
         {i32(numCopyGroups - 1 - needed)});
    if (copiesGroup <= needed)
      hasCopies = false;
    barrier();
    arrivedGroup = needed;
  }
  ring.groups.erase(ring.groups.begin());
  ring.isRead = true;
  setShared(op.getTile(),
            getCopyTile(ring, getTile(op.getTile()), ring.readPlace));
  return success();
}

void KernelEmitter::emitCopyRelease(ReleaseOp op) {
  CopyRing &ring = copyRings.find(op.getRing())->second;
  advanceCopyPlace(ring, ring.readPlace);
  ring.isRead = false;
  ring.mustMeet = true;
}

/// Gives places back of rings that no later op of the block uses.
void KernelEmitter::releaseDeadRings(Operation *op) {
  Block *block = op->getBlock();
  SmallVector<Value> dead;
  for (auto &[ring, state] : copyRings) {
    bool isUsed = llvm::any_of(ring.getUsers(), [&](Operation *user) {
      Operation *ancestor = block->findAncestorOpInBlock(*user);
      return !ancestor || op->isBeforeInBlock(ancestor);
    });
    if (ring.getParentBlock() == block && !isUsed)
      dead.push_back(ring);
  }
  for (Value value : dead) {
    const CopyRing &ring = copyRings.find(value)->second;
    shared.release(ring.offset);
    shared.add(ring.getAccess());
    if (!ring.groups.empty())
      noteCopies();
    copyRings.erase(value);
  }
}

//===----------------------------------------------------------------------===//
// Loops and branches
//===----------------------------------------------------------------------===//

/// Copies that are under way at a place in the code, counted backwards.
KernelEmitter::CopyState KernelEmitter::getCopyState() {
  CopyState state;
  for (auto &[value, ring] : copyRings) {
    auto &distances = state.distances[value];
    for (int64_t group : ring.groups)
      distances.push_back(numCopyGroups - group);
    if (ring.mustMeet)
      state.mustMeet.insert(value);
    if (ring.isRead)
      state.isRead.insert(value);
  }
  return state;
}

void KernelEmitter::setCopyState(const CopyState &state) {
  for (auto &[value, ring] : copyRings) {
    ring.groups.clear();
    for (int64_t distance : state.distances.lookup(value))
      ring.groups.push_back(numCopyGroups - distance);
    ring.mustMeet = state.mustMeet.contains(value);
  }
  arrivedGroup = -1;
}

/// Code that is run any number of times.
KernelEmitter::CopyState KernelEmitter::enterCopyLoop() {
  commitCopies();
  CopyState state = getCopyState();
  for (auto &[value, ring] : copyRings)
    state.mustMeet.insert(value);
  setCopyState(state);
  return state;
}

/// A step leaves as many tiles in rings as it finds, acquired or not, and none
/// nearer to the last group.
LogicalResult KernelEmitter::leaveCopyLoop(Operation *op,
                                           const CopyState &before) {
  for (auto &[value, ring] : copyRings) {
    auto entered = before.distances.lookup(value);
    bool isSame = ring.groups.size() == entered.size() &&
                  ring.isRead == before.isRead.contains(value);
    for (size_t i = 0; isSame && i < entered.size(); ++i)
      isSame = numCopyGroups - ring.groups[i] >= entered[i];
    if (!isSame)
      return op->emitOpError("expected steps that fill rings as often as they "
                             "release them");
  }
  setCopyState(before);
  return success();
}

/// Where branches meet. What only one of them filled in may be there.
KernelEmitter::CopyState KernelEmitter::join(CopyState lhs,
                                             const CopyState &rhs) {
  for (auto &[value, distances] : rhs.distances) {
    auto &joined = lhs.distances[value];
    for (auto [index, distance] : llvm::enumerate(distances)) {
      if (index < joined.size())
        joined[index] = std::min(joined[index], distance);
      else
        joined.push_back(distance);
    }
  }
  lhs.mustMeet.insert(rhs.mustMeet.begin(), rhs.mustMeet.end());
  return lhs;
}
