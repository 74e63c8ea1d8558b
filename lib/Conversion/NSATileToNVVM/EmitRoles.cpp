//===- EmitRoles.cpp - Warps that load and warps that compute -------------===//

#include "Instructions.h"
#include "KernelEmitter.h"
#include "NSATile/IR/WarpRoles.h"
#include "NamedBarriers.h"
#include "PersistentTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

/// Those that wait for a turn and those that give it.
static constexpr int64_t kTurnThreads = 2 * kGroupThreads;

namespace {

/// Gives warps their roles: scopes, registers, barriers and turns.
class RoleEmitter {
public:
  RoleEmitter(KernelEmitter &emitter, Kernel &kernel,
              std::shared_ptr<BulkRings> rings,
              std::shared_ptr<PersistentTiles> tiles)
      : emitter(emitter), rings(rings), tiles(tiles), b(kernel.b),
        facts(kernel.facts), threads(kernel.threads), sync(kernel.sync),
        hasBulkStores(kernel.hasBulkStores) {}

  LogicalResult emitRoles(RolesOp op);
  LogicalResult emitTakeTurn(TakeTurnOp op);
  LogicalResult emitPassTurn(PassTurnOp op);

private:
  void initBarriers(RolesOp op);
  LogicalResult emitConsumers(RolesOp op);
  LogicalResult emitProducer(RolesOp op, Value thread);
  void passTurn(int64_t groups);
  void openTurns(RolesOp op);

  KernelEmitter &emitter;
  std::shared_ptr<BulkRings> rings;
  std::shared_ptr<PersistentTiles> tiles;
  CodeBuilder &b;
  const KernelFacts &facts;
  ThreadMap &threads;
  Synchronizer &sync;
  const bool &hasBulkStores;
};

} // namespace

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

void RoleEmitter::initBarriers(RolesOp op) {
  int64_t warps = op.getWarps();
  Value isFirst = threads.isFirstThread();
  bool isPersistent = !op.getConsumers().getOps<TilesOp>().empty();
  if (isPersistent)
    tiles->createQueue();
  b.when(isFirst, [&] {
    rings->init(warps);
    if (isPersistent)
      tiles->init(warps);
    nvvm::fenceBarrierInit(b);
  });
  sync.barrier();
}

LogicalResult RoleEmitter::emitConsumers(RolesOp op) {
  openTurns(op);
  if (failed(emitter.emitRole(op.getConsumers())))
    return failure();
  if (hasBulkStores)
    nvvm::waitBoxesRead(b, 0);
  return success();
}

/// One thread fills; the others of its warpgroup are done.
LogicalResult RoleEmitter::emitProducer(RolesOp op, Value thread) {
  Value leads = b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, thread,
                                      b.i32(op.getWarps() * kWarpSize));
  LogicalResult result = success();
  b.when(leads, [&] { result = emitter.emitRole(op.getProducer()); });
  return result;
}

LogicalResult RoleEmitter::emitRoles(RolesOp op) {
  int64_t warps = op.getWarps();
  if (warps % kGroupWarps != 0)
    return op.emitOpError("expected whole warpgroups, found ")
           << warps << " warps";
  initBarriers(op);
  Value thread = threads.getThread();
  // The same for all lanes, which branches and descriptors can rely on.
  Value warp = nvvm::broadcastLane(
      b, b.make<arith::ShRUIOp>(threads.getThread(), b.i32(5)));
  Value computes =
      b.make<arith::CmpIOp>(arith::CmpIPredicate::ult, warp, b.i32(warps));
  auto roles = scf::IfOp::create(b, TypeRange(), computes,
                                 /*addThenBlock=*/true, /*addElseBlock=*/true);
  RoleRegisters counts = RoleRegisters::get(op, facts.numRegisters);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(roles.thenBlock());
  if (counts.areMoved())
    nvvm::setRegisters(b, counts.consumer, /*increase=*/true);
  threads.enter({thread, warps * kWarpSize, namedBarriers::kConsumers, false});
  threads.setWarp(warp);
  if (failed(emitConsumers(op)))
    return failure();
  scf::YieldOp::create(b);

  b.setInsertionPointToEnd(roles.elseBlock());
  if (counts.areMoved())
    nvvm::setRegisters(b, counts.producer, /*increase=*/false);
  threads.enter({thread, kWarpSize, namedBarriers::kProducer, false});
  if (failed(emitProducer(op, thread)))
    return failure();
  scf::YieldOp::create(b);
  return success();
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

LogicalResult RoleEmitter::emitTakeTurn(TakeTurnOp op) {
  if (!op->getParentOfType<RolesOp>())
    return reject(op);
  nvvm::syncThreads(b,
                    b.add(threads.getWarpgroup(), b.i32(namedBarriers::kTurn)),
                    kTurnThreads);
  return success();
}

LogicalResult RoleEmitter::emitPassTurn(PassTurnOp op) {
  auto roles = op->getParentOfType<RolesOp>();
  if (!roles)
    return reject(op);
  passTurn(roles.getWarps() / kGroupWarps);
  return success();
}

/// The next warpgroup may start its products.
void RoleEmitter::passTurn(int64_t groups) {
  Value group = threads.getWarpgroup();
  Value isLast =
      b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, group, b.i32(groups - 1));
  Value next = b.select(isLast, b.i32(0), b.add(group, b.i32(1)));
  nvvm::arriveThreads(b, b.add(next, b.i32(namedBarriers::kTurn)),
                      kTurnThreads);
}

/// The first turn is the first warpgroup's.
void RoleEmitter::openTurns(RolesOp op) {
  int64_t groups = op.getWarps() / kGroupWarps;
  bool takesTurns =
      op.getConsumers()
          .walk([](TakeTurnOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (takesTurns)
    b.when(b.make<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                 threads.getWarpgroup(), b.i32(groups - 1)),
           [&] { passTurn(groups); });
}

void nsacc::addRoles(KernelEmitter &emitter, Kernel &kernel,
                     std::shared_ptr<BulkRings> rings) {
  auto tiles = std::make_shared<PersistentTiles>(emitter, kernel);
  emitter.add(tiles, &PersistentTiles::emitTiles);
  emitter.add(std::make_shared<RoleEmitter>(emitter, kernel, rings, tiles),
              &RoleEmitter::emitRoles, &RoleEmitter::emitTakeTurn,
              &RoleEmitter::emitPassTurn);
}
