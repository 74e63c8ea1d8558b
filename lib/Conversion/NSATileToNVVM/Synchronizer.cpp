//===- Synchronizer.cpp - Who waits for whom ------------------------------===//

#include "Synchronizer.h"
#include "Instructions.h"
#include "NSATile/IR/NSATileUses.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

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
    pending.global.push_back({buffer, isWrite});
}

void Synchronizer::join(const Pending &other) {
  llvm::append_range(pending.shared, other.shared);
  llvm::append_range(pending.global, other.global);
}
