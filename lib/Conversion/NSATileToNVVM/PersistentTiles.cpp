//===- PersistentTiles.cpp - Blocks that take tile after tile -------------===//

#include "PersistentTiles.h"
#include "Instructions.h"
#include "NSATile/IR/NSATileUses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

PersistentTiles::PersistentTiles(KernelEmitter &emitter, Kernel &kernel)
    : emitter(emitter), b(kernel.b), threads(kernel.threads),
      program(kernel.program), shared(kernel.shared), host(kernel.host) {}

void PersistentTiles::createQueue() { queue.emplace(b, threads, shared); }

LogicalResult PersistentTiles::emitTiles(TilesOp op) {
  auto specialized = cast<WarpSpecializeOp>(op->getParentOp());
  return op->getParentRegion() == &specialized.getProducer()
             ? emitProducer(op)
             : emitConsumers(op);
}

//===----------------------------------------------------------------------===//
// Consumers
//===----------------------------------------------------------------------===//

LogicalResult PersistentTiles::emitConsumers(TilesOp op) {
  Point first = queue->hear();
  SmallVector<Type> words(first.size(), b.getI32Type());
  SmallVector<Location> locs(first.size(), b.getLoc());
  auto loop = scf::WhileOp::create(b, words, first);
  OpBuilder::InsertionGuard guard(b);
  Block *asking = b.createBlock(&loop.getBefore(), {}, words, locs);
  ValueRange point = asking->getArguments();
  // What the loop counts is the same for all lanes if all end together.
  Value goesOn = nvvm::anyLane(b, queue->isPoint(point[0]));
  scf::ConditionOp::create(b, goesOn, point);
  Block *doing = b.createBlock(&loop.getAfter(), {}, words, locs);
  mapPoint(program, op.getBody(), doing->getArguments());
  FailureOr<Point> next = emitConsumersTile(op);
  if (failed(next))
    return failure();
  scf::YieldOp::create(b, *next);
  return success();
}

/// The last op with a loop in it; what stands behind it writes results.
static Operation *findLastLoop(Block &block) {
  for (Operation &op : llvm::reverse(block))
    if (hasLoop(&op))
      return &op;
  return nullptr;
}

/// What comes from the thread's number is computed once more for each tile.
/// LLVM would take addresses of results out of the loop over tiles, and loops
/// over keys have no registers to keep them in. The next point is heard behind
/// the loops, while results are computed: it may still be on its way.
FailureOr<Point> PersistentTiles::emitConsumersTile(TilesOp op) {
  threads.forgetLanes();
  Block &body = op.getBody().front();
  Operation *last = findLastLoop(body);
  Point next;
  for (Operation &each : body) {
    if (failed(emitter.emitNext(each)))
      return failure();
    if (&each != last)
      continue;
    if (failed(forgetPoint(op, each)))
      return failure();
    next = queue->hear();
  }
  if (!last) {
    queue->release();
    next = queue->hear();
  }
  return next;
}

/// What comes from the point, which is read again, is computed once more from
/// here on, too; what was loaded by it is kept.
LogicalResult PersistentTiles::forgetPoint(TilesOp op, Operation &last) {
  mapPoint(program, op.getBody(), queue->read());
  queue->release();
  b.setLoc(last.getLoc());
  for (Operation &before : *last.getBlock()) {
    if (&before == &last)
      break;
    if (isScalarCode(&before) && isMemoryEffectFree(&before) &&
        failed(emitter.emitAgain(before)))
      return failure();
  }
  threads.forgetLanes();
  return success();
}

//===----------------------------------------------------------------------===//
// The producer
//===----------------------------------------------------------------------===//

/// Divisions of the numbers of points are the producer's, which has the time.
LogicalResult PersistentTiles::emitProducer(TilesOp op) {
  Grid grid = {program.lookup(op.getX()), program.lookup(op.getY()),
               program.lookup(op.getZ())};
  Value total = grid.getNumPoints(b);
  Value blocks = nvvm::getNumBlocks(b), first = nvvm::getBlock(b, 0);
  SmallVector<Type> words(std::tuple_size_v<Point>, b.getI32Type());
  SmallVector<Location> locs(words.size(), b.getLoc());
  auto loop = scf::WhileOp::create(b, words, first);
  OpBuilder::InsertionGuard guard(b);
  Block *asking =
      b.createBlock(&loop.getBefore(), {}, b.getI32Type(), b.getLoc());
  Value number = asking->getArgument(0);
  Point point = op.getSections() ? grid.getSectionPoint(b, blocks, number)
                                 : grid.getPoint(b, number);
  point = queue->tell(
      point, b.make<arith::CmpIOp>(arith::CmpIPredicate::ult, number, total));
  scf::ConditionOp::create(b, queue->isPoint(point[0]), point);
  Block *doing = b.createBlock(&loop.getAfter(), {}, words, locs);
  // Each tile asks once, so that the counter ends at 0 again.
  Value asked = nvvm::countUp(b, host.tileCounter,
                              b.make<arith::SubIOp>(total, b.i32(1)));
  Value next = b.add(asked, blocks);
  mapPoint(program, op.getBody(), doing->getArguments());
  if (failed(emitter.emitPartition(op.getBody())))
    return failure();
  scf::YieldOp::create(b, next);
  return success();
}
