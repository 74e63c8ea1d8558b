//===- EmitWarpSpecialize.cpp - Warps that load and warps that compute ----===//

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

/// Threads of two warpgroups: the one that waits and the one that arrives.
static constexpr int64_t kPingPongThreads = 2 * kGroupThreads;

namespace {

/// Turns warps into producers and consumers: scopes, registers, barriers,
/// ping-pong.
class WarpSpecializeEmitter {
public:
  WarpSpecializeEmitter(KernelEmitter &emitter, Kernel &kernel,
                        std::shared_ptr<BulkCircularBuffers> buffers,
                        std::shared_ptr<PersistentTiles> tiles)
      : emitter(emitter), buffers(buffers), tiles(tiles), b(kernel.b),
        facts(kernel.facts), threads(kernel.threads), sync(kernel.sync),
        hasBulkStores(kernel.hasBulkStores) {}

  LogicalResult emitWarpSpecialize(WarpSpecializeOp op);
  LogicalResult emitPingPongWait(PingPongWaitOp op);
  LogicalResult emitPingPongArrive(PingPongArriveOp op);

private:
  void initBarriers(WarpSpecializeOp op);
  LogicalResult emitConsumers(WarpSpecializeOp op);
  LogicalResult emitProducer(WarpSpecializeOp op, Value thread, Value warp);
  void arriveAtNext(int64_t groups);
  void startPingPong(WarpSpecializeOp op);

  KernelEmitter &emitter;
  std::shared_ptr<BulkCircularBuffers> buffers;
  std::shared_ptr<PersistentTiles> tiles;
  CodeBuilder &b;
  const KernelFacts &facts;
  ThreadMap &threads;
  Synchronizer &sync;
  const bool &hasBulkStores;
};

} // namespace

//===----------------------------------------------------------------------===//
// Producer and consumers
//===----------------------------------------------------------------------===//

void WarpSpecializeEmitter::initBarriers(WarpSpecializeOp op) {
  int64_t warps = op.getWarps();
  Value isFirst = threads.isFirstThread();
  bool isPersistent = !op.getConsumers().getOps<TilesOp>().empty();
  if (buffers->gathers())
    tiles->tellAhead();
  if (isPersistent)
    tiles->createQueue();
  b.when(isFirst, [&] {
    buffers->init(warps);
    if (isPersistent)
      tiles->init(warps + buffers->gathers());
    nvvm::fenceBarrierInit(b);
  });
  sync.barrier();
}

LogicalResult WarpSpecializeEmitter::emitConsumers(WarpSpecializeOp op) {
  startPingPong(op);
  if (failed(emitter.emitPartition(op.getConsumers())))
    return failure();
  if (hasBulkStores)
    nvvm::waitBoxesRead(b, 0);
  return success();
}

/// Lets one elected thread load, and the next warp gather listed rows and copy
/// vectors; the other warps of that warpgroup are done. Roles meet at barriers
/// in shared memory alone: no role waits for other accesses of another one.
LogicalResult WarpSpecializeEmitter::emitProducer(WarpSpecializeOp op,
                                                  Value thread, Value warp) {
  int64_t firstThread = op.getWarps() * kWarpSize;
  Value leads = b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, thread,
                                      b.i32(firstThread));
  LogicalResult result = success();
  sync.setPending({});
  b.when(leads, [&] { result = emitter.emitPartition(op.getProducer()); });
  if (failed(result) || !buffers->gathers())
    return result;
  Value gathers = b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, warp,
                                        b.i32(op.getWarps() + 1));
  b.when(gathers, [&] {
    Value lane = b.make<arith::SubIOp>(thread, b.i32(firstThread + kWarpSize));
    threads.enter({lane, kWarpSize, namedBarriers::kProducer, false});
    sync.setPending({});
    buffers->setGathering(true);
    tiles->setGathering(true);
    result = emitter.emitPartition(op.getProducer());
  });
  return result;
}

LogicalResult WarpSpecializeEmitter::emitWarpSpecialize(WarpSpecializeOp op) {
  int64_t warps = op.getWarps();
  if (warps % kGroupWarps != 0)
    return op.emitOpError("expected whole warpgroups, found ")
           << warps << " warps";
  initBarriers(op);
  Value thread = threads.getThread();
  // The number is the same for all lanes; branches and descriptors rely on it.
  Value warp = nvvm::broadcastLane(
      b, b.make<arith::ShRUIOp>(threads.getThread(), b.i32(5)));
  Value computes =
      b.make<arith::CmpIOp>(arith::CmpIPredicate::ult, warp, b.i32(warps));
  auto branch = scf::IfOp::create(b, TypeRange(), computes,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  RoleRegisters counts = RoleRegisters::get(op, facts.numRegisters);
  bool moves = facts.movesRegisters && counts.areMoved();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(branch.thenBlock());
  if (moves)
    nvvm::setRegisters(b, counts.consumer, /*increase=*/true);
  threads.enter({thread, warps * kWarpSize, namedBarriers::kConsumers, false});
  threads.setWarp(warp);
  if (failed(emitConsumers(op)))
    return failure();
  scf::YieldOp::create(b);

  b.setInsertionPointToEnd(branch.elseBlock());
  if (moves)
    nvvm::setRegisters(b, counts.producer, /*increase=*/false);
  threads.enter({thread, kWarpSize, namedBarriers::kProducer, false});
  if (failed(emitProducer(op, thread, warp)))
    return failure();
  scf::YieldOp::create(b);
  return success();
}

//===----------------------------------------------------------------------===//
// Ping-pong
//===----------------------------------------------------------------------===//

LogicalResult WarpSpecializeEmitter::emitPingPongWait(PingPongWaitOp op) {
  if (!op->getParentOfType<WarpSpecializeOp>())
    return reject(op);
  nvvm::syncThreads(
      b, b.add(threads.getWarpgroup(), b.i32(namedBarriers::kPingPong)),
      kPingPongThreads);
  return success();
}

LogicalResult WarpSpecializeEmitter::emitPingPongArrive(PingPongArriveOp op) {
  auto specialized = op->getParentOfType<WarpSpecializeOp>();
  if (!specialized)
    return reject(op);
  arriveAtNext(specialized.getWarps() / kGroupWarps);
  return success();
}

/// Lets the next warpgroup start its products.
void WarpSpecializeEmitter::arriveAtNext(int64_t groups) {
  Value group = threads.getWarpgroup();
  Value isLast =
      b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, group, b.i32(groups - 1));
  Value next = b.select(isLast, b.i32(0), b.add(group, b.i32(1)));
  nvvm::arriveThreads(b, b.add(next, b.i32(namedBarriers::kPingPong)),
                      kPingPongThreads);
}

/// Lets the first warpgroup start.
void WarpSpecializeEmitter::startPingPong(WarpSpecializeOp op) {
  int64_t groups = op.getWarps() / kGroupWarps;
  bool usesPingPong =
      op.getConsumers()
          .walk([](PingPongWaitOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (usesPingPong)
    b.when(b.make<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                 threads.getWarpgroup(), b.i32(groups - 1)),
           [&] { arriveAtNext(groups); });
}

void nsacc::addWarpSpecialize(KernelEmitter &emitter, Kernel &kernel,
                              std::shared_ptr<BulkCircularBuffers> buffers) {
  auto tiles = std::make_shared<PersistentTiles>(emitter, kernel);
  emitter.add(tiles, &PersistentTiles::emitTiles);
  emitter.add(
      std::make_shared<WarpSpecializeEmitter>(emitter, kernel, buffers, tiles),
      &WarpSpecializeEmitter::emitWarpSpecialize,
      &WarpSpecializeEmitter::emitPingPongWait,
      &WarpSpecializeEmitter::emitPingPongArrive);
}
