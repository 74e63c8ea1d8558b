//===- EmitTiles.cpp - Blocks that take one tile after the other ----------===//

#include "KernelEmitter.h"
#include "NSATile/IR/NSATileUses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

/// The producer tells of the next tile while consumers have this one.
static constexpr int64_t kQueueStages = 2;
/// What it tells are three words, the first of which is kNoTile at the end.
static constexpr int64_t kPointBytes = 4 * sizeof(int32_t), kWordBytes = 4;
static constexpr int32_t kNoTile = -1;

void KernelEmitter::createTileQueue() {
  tileQueue.stages = kQueueStages;
  tileQueue.tileBytes = kPointBytes;
  tileQueue.full = allocateBarriers(2 * kQueueStages);
  tileQueue.empty = tileQueue.full + kQueueStages * kBarrierBytes;
  tileQueue.tiles =
      allocateBarriers(kQueueStages * kPointBytes / kBarrierBytes);
  createVariables(tileQueue);
}

/// The point that is `back` from the end of a column, which is one of (y, z).
/// Under a causal mask the last query tiles have the most to do.
KernelEmitter::Point KernelEmitter::getPoint(const Grid &grid, Value back,
                                             Value column) {
  Value last = make<arith::SubIOp>(grid.x, i32(1));
  return {make<arith::SubIOp>(last, back), make<arith::RemUIOp>(column, grid.y),
          make<arith::DivUIOp>(column, grid.y)};
}

/// Points one column after the other.
KernelEmitter::Point KernelEmitter::getPoint(const Grid &grid, Value number) {
  return getPoint(grid, make<arith::RemUIOp>(number, grid.x),
                  make<arith::DivUIOp>(number, grid.x));
}

/// Points one section of columns after the other. Steps fall about evenly from
/// a column's heaviest point to its lightest, so that as many points as two
/// rounds of all blocks last as long as a heaviest one.
KernelEmitter::Point KernelEmitter::getUnevenPoint(const Grid &grid,
                                                   Value blocks, Value number) {
  Value columns = mul(grid.y, grid.z);
  auto atLeastOne = [&](Value value) -> Value {
    return make<arith::MaxUIOp>(value, i32(1));
  };
  Value enough = make<arith::CeilDivUIOp>(mul(blocks, i32(2)), grid.x);
  Value sections = atLeastOne(make<arith::DivUIOp>(columns, enough));
  Value width = make<arith::CeilDivUIOp>(columns, sections);
  Value points = mul(width, grid.x);
  Value first = mul(make<arith::DivUIOp>(number, points), width);
  Value inSection = make<arith::RemUIOp>(number, points);
  // The last section may be narrower, and behind it there is none.
  Value left = make<arith::SubIOp>(columns, first);
  width = atLeastOne(make<arith::MinUIOp>(width, left));
  Value column = add(first, make<arith::RemUIOp>(inSection, width));
  return getPoint(grid, make<arith::DivUIOp>(inSection, width), column);
}

static void mapPoint(KernelEmitter &emitter, Region &body, ValueRange point) {
  for (auto [argument, value] : llvm::zip_equal(body.getArguments(), point))
    emitter.mapScalar(argument, value);
}

/// Divisions of the numbers of points are the producer's, which has the time.
KernelEmitter::Point KernelEmitter::tellPoint(TilesOp op, Value number,
                                              Value total, Value blocks) {
  PTXBuilder ptx(builder, loc);
  Grid grid = {lookup(op.getX()), lookup(op.getY()), lookup(op.getZ())};
  Point point = op.getUneven() ? getUnevenPoint(grid, blocks, number)
                               : getPoint(grid, number);
  point[0] =
      select(make<arith::CmpIOp>(arith::CmpIPredicate::ult, number, total),
             point[0], i32(kNoTile));
  RingPlace place = getPlace(tileQueue);
  Value slot = add(getSharedAddress(tileQueue.tiles), place.tile);
  ptx.waitBarrier(place.empty, make<arith::XOrIOp>(place.parity, i32(1)));
  for (auto [index, word] : llvm::enumerate(point))
    ptx.storeShared(add(slot, i32(index * kWordBytes)), word);
  ptx.arrive(place.full, i32(1));
  advance(tileQueue, place);
  return point;
}

KernelEmitter::Point KernelEmitter::hearPoint() {
  RingPlace place = getPlace(tileQueue);
  PTXBuilder(builder, loc).waitBarrier(place.full, place.parity);
  return readPoint();
}

KernelEmitter::Point KernelEmitter::readPoint() {
  PTXBuilder ptx(builder, loc);
  Value slot = add(getSharedAddress(tileQueue.tiles), getPlace(tileQueue).tile);
  Value leads = isFirstLane();
  Point point;
  // The lane that reads is the one that says so. It tells the others: the words
  // are the same for all lanes, which descriptors and branches can rely on.
  for (auto [index, word] : llvm::enumerate(point))
    word = broadcastLane(
        ptx.loadShared(add(slot, i32(index * kWordBytes)), leads));
  return point;
}

void KernelEmitter::releasePoint() {
  RingPlace place = getPlace(tileQueue);
  arriveOncePerWarp(place.empty);
  advance(tileQueue, place);
}

/// What comes of the thread's number is computed once more from here on. LLVM
/// would take addresses of results out of the loop over tiles, and loops over
/// keys have no registers to keep them in.
void KernelEmitter::forgetThreadOfWarp() {
  AffineExpr dim = getAffineDimExpr(static_cast<unsigned>(ThreadDim::Warp),
                                    builder.getContext());
  Value warp = getThreadDim(ThreadDim::Warp);
  forgetThread();
  expressions[dim] = warp;
}

/// The same for what comes of the point, which is read again; what was loaded
/// by it is kept.
LogicalResult KernelEmitter::forgetPoint(TilesOp op, Operation &last) {
  mapPoint(*this, op.getBody(), readPoint());
  releasePoint();
  loc = last.getLoc();
  for (Operation &before : *last.getBlock()) {
    if (&before == &last)
      break;
    if (isScalarCode(&before) && isMemoryEffectFree(&before) &&
        failed(emit(&before)))
      return failure();
  }
  forgetThreadOfWarp();
  return success();
}

/// The last op with a loop in it; what stands behind it writes results.
static Operation *findLastLoop(Block &block) {
  for (Operation &op : llvm::reverse(block))
    if (hasLoop(&op))
      return &op;
  return nullptr;
}

/// The next point is heard behind the loops, while results are computed: it may
/// still be on its way.
LogicalResult KernelEmitter::emitConsumersTile(TilesOp op, Point &next) {
  forgetThreadOfWarp();
  Block &body = op.getBody().front();
  Operation *last = findLastLoop(body);
  for (Operation &each : body) {
    if (failed(emitNext(each)))
      return failure();
    if (&each != last)
      continue;
    if (failed(forgetPoint(op, each)))
      return failure();
    next = hearPoint();
  }
  if (!last) {
    releasePoint();
    next = hearPoint();
  }
  return success();
}

LogicalResult KernelEmitter::emitTiles(TilesOp op) {
  auto roles = cast<RolesOp>(op->getParentOp());
  return op->getParentRegion() == &roles.getProducer() ? emitProducersTiles(op)
                                                       : emitConsumersTiles(op);
}

/// Whether it is a point, by its x, and not the end of all.
static Value isPoint(KernelEmitter &e, Value x) {
  return e.make<arith::CmpIOp>(arith::CmpIPredicate::ne, x, e.i32(kNoTile));
}

LogicalResult KernelEmitter::emitConsumersTiles(TilesOp op) {
  Point first = hearPoint();
  SmallVector<Type> words(first.size(), builder.getI32Type());
  SmallVector<Location> locs(first.size(), loc);
  auto loop = scf::WhileOp::create(builder, loc, words, first);
  OpBuilder::InsertionGuard guard(builder);
  Block *asking = builder.createBlock(&loop.getBefore(), {}, words, locs);
  ValueRange point = asking->getArguments();
  // What the loop counts is the same for all lanes if all end together.
  Value goesOn = holdsForLanes(isPoint(*this, point[0]));
  scf::ConditionOp::create(builder, loc, goesOn, point);
  Block *doing = builder.createBlock(&loop.getAfter(), {}, words, locs);
  mapPoint(*this, op.getBody(), doing->getArguments());
  Point next;
  if (failed(emitConsumersTile(op, next)))
    return failure();
  scf::YieldOp::create(builder, loc, next);
  return success();
}

LogicalResult KernelEmitter::emitProducersTiles(TilesOp op) {
  Type word = builder.getI32Type();
  Value total =
      mul(mul(lookup(op.getX()), lookup(op.getY())), lookup(op.getZ()));
  Value blocks = call("llvm.nvvm.read.ptx.sreg.nctaid.x", word, {});
  Value first = call("llvm.nvvm.read.ptx.sreg.ctaid.x", word, {});
  SmallVector<Type> words(std::tuple_size_v<Point>, word);
  SmallVector<Location> locs(words.size(), loc);
  auto loop = scf::WhileOp::create(builder, loc, words, first);
  OpBuilder::InsertionGuard guard(builder);
  Block *asking = builder.createBlock(&loop.getBefore(), {}, word, loc);
  Point point = tellPoint(op, asking->getArgument(0), total, blocks);
  scf::ConditionOp::create(builder, loc, isPoint(*this, point[0]), point);
  Block *doing = builder.createBlock(&loop.getAfter(), {}, words, locs);
  // Each tile asks once, so that the counter ends at 0 again.
  Value asked = PTXBuilder(builder, loc)
                    .countUp(tileCounter, make<arith::SubIOp>(total, i32(1)));
  Value next = add(asked, blocks);
  mapPoint(*this, op.getBody(), doing->getArguments());
  if (failed(emitRole(op.getBody())))
    return failure();
  scf::YieldOp::create(builder, loc, next);
  return success();
}

//===----------------------------------------------------------------------===//
// Repairs
//===----------------------------------------------------------------------===//

/// Every thread looks at its own rows: none waits for another one.
void KernelEmitter::emitRaise(RaiseOp op) {
  const TileLayout &layout = getLayout(getTile(op.getMarks()));
  Value wrong;
  for (auto [index, mark] : llvm::enumerate(getRegisters(op.getMarks()))) {
    if (layout.isPadding(index))
      continue;
    Value isWrong =
        make<arith::CmpFOp>(arith::CmpFPredicate::UNE, mark, f32(0));
    isWrong = both(getInside(layout, index), isWrong);
    wrong = wrong ? Value(make<arith::OrIOp>(wrong, isWrong)) : isWrong;
  }
  when(wrong, [&] {
    LLVM::StoreOp::create(builder, loc, i32(1), raised, /*alignment=*/4);
  });
}

/// The last block to end takes the flag down: all have looked by then.
void KernelEmitter::lowerFlag() {
  Type word = builder.getI32Type();
  barrier();
  Value leads =
      make<arith::CmpIOp>(arith::CmpIPredicate::eq, scope.thread, i32(0));
  when(leads, [&] {
    Value blocks = call("llvm.nvvm.read.ptx.sreg.nctaid.x", word, {});
    Value last = make<arith::SubIOp>(blocks, i32(1));
    Value before = PTXBuilder(builder, loc).countUp(tileCounter, last);
    when(make<arith::CmpIOp>(arith::CmpIPredicate::eq, before, last), [&] {
      LLVM::StoreOp::create(builder, loc, i32(0), raised, /*alignment=*/4);
    });
  });
}

LogicalResult KernelEmitter::emitRepair(RepairOp op) {
  Type word = builder.getI32Type();
  Grid grid = {lookup(op.getX()), lookup(op.getY()), lookup(op.getZ())};
  Value total = mul(mul(grid.x, grid.y), grid.z);
  Value flag = make<LLVM::LoadOp>(word, raised, /*alignment=*/4);
  LogicalResult result = success();
  when(make<arith::CmpIOp>(arith::CmpIPredicate::ne, flag, i32(0)), [&] {
    auto loop = scf::ForOp::create(
        builder, loc, call("llvm.nvvm.read.ptx.sreg.ctaid.x", word, {}), total,
        call("llvm.nvvm.read.ptx.sreg.nctaid.x", word, {}));
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(loop.getBody()->getTerminator());
      mapPoint(*this, op.getBody(), getPoint(grid, loop.getInductionVar()));
      result = emitRole(op.getBody());
      // The next point's tiles go where this one's were.
      barrier();
    }
    lowerFlag();
  });
  return result;
}
