//===- Synchronizer.cpp - Who waits for whom ------------------------------===//

#include "Synchronizer.h"
#include "Instructions.h"
#include "NSATile/IR/NSATileUses.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

template <typename Access>
static void insert(std::vector<Access> &accesses, const Access &access) {
  if (!llvm::is_contained(accesses, access))
    accesses.push_back(access);
}

void Synchronizer::add(const SharedAccess &access) {
  insert(pending.shared, access);
}

void Synchronizer::barrier() {
  copies.beforeBarrier();
  pending = {};
  const ThreadScope &scope = threads.getScope();
  if (scope.isBlock)
    nvvm::syncBlock(b, scope.barrier);
  else
    nvvm::syncThreads(b, b.i32(scope.barrier), scope.numThreads);
}

bool Synchronizer::mustWait(const SharedAccess &access) const {
  return llvm::any_of(pending.shared, [&](const SharedAccess &other) {
    return (access.isWrite || other.isWrite) && access.begin < other.end &&
           other.begin < access.end;
  });
}

void Synchronizer::before(const SharedAccess &access) {
  if (mustWait(access))
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

/// Threads meet before they read what others wrote, or write what others read.
void Synchronizer::beforeGlobal(Value buffer, bool isWrite) {
  bool meets = llvm::any_of(pending.global, [&](const GlobalAccess &access) {
    return access.buffer == buffer && (access.isWrite || isWrite);
  });
  if (meets)
    barrier();
  if (isStoredTo(buffer))
    insert(pending.global, GlobalAccess{buffer, isWrite});
}

void Synchronizer::join(const Pending &other) {
  for (const SharedAccess &access : other.shared)
    add(access);
  for (const GlobalAccess &access : other.global)
    insert(pending.global, access);
}
