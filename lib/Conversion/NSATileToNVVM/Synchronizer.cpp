//===- Synchronizer.cpp - Barriers between accesses -----------------------===//

#include "Synchronizer.h"
#include "Instructions.h"
#include "NSATile/IR/NSATileUses.h"
#include "NSATile/IR/WarpRoles.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

//===----------------------------------------------------------------------===//
// Accesses that meet
//===----------------------------------------------------------------------===//

template <typename Access>
static void insertOnce(std::vector<Access> &accesses, const Access &access) {
  if (!llvm::is_contained(accesses, access))
    accesses.push_back(access);
}

void Synchronizer::Accesses::insert(const Accesses &other) {
  for (const SharedAccess &access : other.shared)
    insertOnce(shared, access);
  for (const GlobalAccess &access : other.global)
    insertOnce(global, access);
}

bool Synchronizer::Accesses::meet(const SharedAccess &access) const {
  return llvm::any_of(shared, [&](const SharedAccess &other) {
    return (access.isWrite || other.isWrite) && access.begin < other.end &&
           other.begin < access.end;
  });
}

/// Whether threads have to meet: before they read what others wrote, or write
/// what others read.
bool Synchronizer::Accesses::meet(const GlobalAccess &access) const {
  return llvm::any_of(global, [&](const GlobalAccess &other) {
    bool isOrdered = !access.unordered || access.unordered != other.unordered;
    return access.buffer == other.buffer && isOrdered &&
           (access.isWrite || other.isWrite);
  });
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void Synchronizer::barrier() {
  copies.beforeBarrier();
  pending = {};
  const ThreadScope &scope = threads.getScope();
  if (scope.isBlock && scope.numThreads == kWarpSize)
    nvvm::syncWarp(b);
  else if (scope.isBlock)
    nvvm::syncBlock(b, scope.barrier);
  else
    nvvm::syncThreads(b, b.i32(scope.barrier), scope.numThreads);
}

bool Synchronizer::mustMeetBefore(const SharedAccess &access) {
  if (!pending.hasMet)
    insertOnce(opening.shared, access);
  return pending.meet(access);
}

void Synchronizer::add(const SharedAccess &access) {
  insertOnce(pending.shared, access);
  if (!pending.hasMet)
    insertOnce(opening.shared, access);
}

void Synchronizer::before(const SharedAccess &access) {
  if (pending.meet(access))
    barrier();
  add(access);
}

void Synchronizer::beforeRead(const SharedTile &tile) {
  if (!tile.isGuarded)
    before({tile.offset, tile.offset + tile.bytes, /*isWrite=*/false});
}

void Synchronizer::beforeWrite(const SharedTile &tile) {
  before({tile.offset, tile.offset + tile.bytes, /*isWrite=*/true});
}

void Synchronizer::meetBeforeGlobal(Value buffer, bool isWrite) {
  if (pending.meet(GlobalAccess{buffer, isWrite}))
    barrier();
}

void Synchronizer::beforeGlobal(Value buffer, bool isWrite,
                                Operation *unordered) {
  GlobalAccess access = {buffer, isWrite, unordered};
  if (pending.meet(access))
    barrier();
  if (!isStoredTo(buffer))
    return;
  insertOnce(pending.global, access);
  if (!pending.hasMet)
    insertOnce(opening.global, access);
}

//===----------------------------------------------------------------------===//
// Branches and loops
//===----------------------------------------------------------------------===//

void Synchronizer::join(const Pending &other) {
  pending.insert(other);
  pending.hasMet = pending.hasMet && other.hasMet;
}

Synchronizer::Round Synchronizer::beginRound() {
  Round outer = {std::move(opening), pending.hasMet};
  opening = {};
  pending.hasMet = false;
  return outer;
}

void Synchronizer::endRound(Round outer) {
  copies.commit();
  auto isMet = [&](const auto &access) { return opening.meet(access); };
  if (copies.areUnderWay() || llvm::any_of(pending.shared, isMet) ||
      llvm::any_of(pending.global, isMet))
    barrier();
  // The loop may not run at all: its barriers don't count for the outer body.
  if (!outer.hasMet)
    outer.opening.insert(opening);
  opening = std::move(outer.opening);
  pending.hasMet = outer.hasMet;
}
