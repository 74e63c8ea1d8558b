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
      program(kernel.program), shared(kernel.shared), sync(kernel.sync),
      host(kernel.host) {}

/// Creates a queue for the consumers' point and the next one. If points are
/// sent ahead, it has room for the one after that, too.
void PersistentTiles::createQueue() {
  queue.emplace(b, threads, shared, tellsAhead ? 3 : 2);
}

LogicalResult PersistentTiles::emitTiles(TilesOp op) {
  auto specialized = cast<WarpSpecializeOp>(op->getParentOp());
  if (op->getParentRegion() != &specialized.getProducer())
    return emitReaders(op, [&] { return emitConsumersTile(op); });
  if (isGathering)
    return emitReaders(op, [&] { return emitGatheredTile(op); });
  return emitProducer(op);
}

//===----------------------------------------------------------------------===//
// Who is told
//===----------------------------------------------------------------------===//

LogicalResult
PersistentTiles::emitReaders(TilesOp op,
                             llvm::function_ref<FailureOr<Point>()> emitTile) {
  Point first = queue->hear();
  SmallVector<Type> words(first.size(), b.getI32Type());
  SmallVector<Location> locs(first.size(), b.getLoc());
  auto loop = scf::WhileOp::create(b, words, first);
  OpBuilder::InsertionGuard guard(b);
  Block *asking = b.createBlock(&loop.getBefore(), {}, words, locs);
  ValueRange point = asking->getArguments();
  // The loop's values are the same for all lanes if all lanes end together.
  Value goesOn = nvvm::anyLane(b, queue->isPoint(point[0]));
  scf::ConditionOp::create(b, goesOn, point);
  Block *doing = b.createBlock(&loop.getAfter(), {}, words, locs);
  mapPoint(program, op.getBody(), doing->getArguments());
  Synchronizer::Round outer = sync.beginRound();
  FailureOr<Point> next = emitTile();
  if (failed(next))
    return failure();
  sync.forgetGlobal();
  sync.endRound(std::move(outer));
  scf::YieldOp::create(b, *next);
  return success();
}

/// The last op with a loop in it; the code behind it writes results.
static Operation *findLastLoop(Block &block) {
  for (Operation &op : llvm::reverse(block))
    if (hasLoop(&op))
      return &op;
  return nullptr;
}

/// Writes a consumers' tile. Values that depend on the thread's number are
/// computed again for each tile: LLVM would move addresses of results out of
/// the loop over tiles, and loops over keys have no registers to keep them in.
/// The next point is received behind the loops, while results are computed: it
/// may still be on its way.
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

/// Writes a gathered tile. The next point is already on its way: the producer
/// sends it before it loads.
FailureOr<Point> PersistentTiles::emitGatheredTile(TilesOp op) {
  if (failed(emitter.emitPartition(op.getBody())))
    return failure();
  queue->release();
  return queue->hear();
}

/// Reads the point again, and lets values computed from it be computed again
/// from here on. Loaded values are kept.
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

/// Writes the producer's loop. The producer has time to divide the numbers of
/// points. If it sends ahead, it sends a point before it loads the previous
/// tile.
LogicalResult PersistentTiles::emitProducer(TilesOp op) {
  Grid grid = {program.lookup(op.getX()), program.lookup(op.getY()),
               program.lookup(op.getZ())};
  Value total = grid.getNumPoints(b);
  Value blocks = nvvm::getNumBlocks(b), first = nvvm::getBlock(b, 0);
  auto tell = [&](Value number) {
    Point point = op.getSections() ? grid.getSectionPoint(b, blocks, number)
                                   : grid.getPoint(b, number);
    return queue->tell(
        point, b.make<arith::CmpIOp>(arith::CmpIPredicate::ult, number, total));
  };
  // Each tile asks once, so that the counter ends at 0.
  auto ask = [&]() -> Value {
    Value asked = nvvm::countUp(b, host.tileCounter,
                                b.make<arith::SubIOp>(total, b.i32(1)));
    return b.add(asked, blocks);
  };
  SmallVector<Type> words(std::tuple_size_v<Point>, b.getI32Type());
  SmallVector<Location> locs(words.size(), b.getLoc());
  SmallVector<Value> carried = {first};
  if (tellsAhead) {
    Point point = tell(first);
    carried.assign(point.begin(), point.end());
  }
  auto loop = scf::WhileOp::create(b, words, carried);
  OpBuilder::InsertionGuard guard(b);
  size_t count = carried.size();
  Block *asking =
      b.createBlock(&loop.getBefore(), {}, ArrayRef(words).take_front(count),
                    ArrayRef(locs).take_front(count));
  SmallVector<Value> point(asking->getArguments());
  if (!tellsAhead) {
    Point told = tell(point.front());
    point.assign(told.begin(), told.end());
  }
  scf::ConditionOp::create(b, queue->isPoint(point[0]), point);
  Block *doing = b.createBlock(&loop.getAfter(), {}, words, locs);
  SmallVector<Value> next = {ask()};
  if (tellsAhead) {
    Point told = tell(next.front());
    next.assign(told.begin(), told.end());
  }
  mapPoint(program, op.getBody(), doing->getArguments());
  if (failed(emitter.emitPartition(op.getBody())))
    return failure();
  scf::YieldOp::create(b, next);
  return success();
}
