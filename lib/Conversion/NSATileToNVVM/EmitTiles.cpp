//===- EmitTiles.cpp - Blocks that take one tile after the other ----------===//

#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

/// The producer tells of the next tile while consumers have this one.
static constexpr int64_t kQueueStages = 2;

void KernelEmitter::createTileQueue() {
  tileQueue.stages = kQueueStages;
  tileQueue.tileBytes = sizeof(int32_t);
  tileQueue.full = allocateBarriers(2 * kQueueStages);
  tileQueue.empty = tileQueue.full + kQueueStages * kBarrierBytes;
  tileQueue.tiles = allocateBarriers(1);
  createCount(tileQueue);
}

/// The points are numbered with x going down: under a causal mask the last
/// query tiles have the most to do.
void KernelEmitter::mapTile(TilesOp op, Value number) {
  Value sizeX = lookup(op.getX()), sizeY = lookup(op.getY());
  Value x = make<arith::RemUIOp>(number, sizeX);
  Value others = make<arith::DivUIOp>(number, sizeX);
  Value last = make<arith::SubIOp>(sizeX, i32(1));
  mapScalar(op.getBody().getArgument(0), make<arith::SubIOp>(last, x));
  mapScalar(op.getBody().getArgument(1), make<arith::RemUIOp>(others, sizeY));
  mapScalar(op.getBody().getArgument(2), make<arith::DivUIOp>(others, sizeY));
}

LogicalResult KernelEmitter::emitTiles(TilesOp op) {
  auto roles = cast<RolesOp>(op->getParentOp());
  bool isProducer = op->getParentRegion() == &roles.getProducer();
  Type word = builder.getI32Type();
  PTXBuilder ptx(builder, loc);
  Value total =
      mul(mul(lookup(op.getX()), lookup(op.getY())), lookup(op.getZ()));
  SmallVector<Value> inits;
  if (isProducer)
    inits.push_back(call("llvm.nvvm.read.ptx.sreg.ctaid.x", word, {}));
  auto loop = scf::WhileOp::create(builder, loc, TypeRange{word}, inits);
  OpBuilder::InsertionGuard guard(builder);
  Block *asking = builder.createBlock(&loop.getBefore());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(asking);
    RingPlace place = getPlace(tileQueue);
    Value slot = add(getSharedAddress(tileQueue.tiles), place.tile);
    Value number;
    if (isProducer) {
      number = asking->addArgument(word, loc);
      ptx.waitBarrier(place.empty, make<arith::XOrIOp>(place.parity, i32(1)));
      ptx.storeShared(slot, number);
      ptx.arrive(place.full, i32(1));
    } else {
      ptx.waitBarrier(place.full, place.parity);
      // The same for all lanes, which descriptors and branches can rely on.
      number = call("llvm.nvvm.shfl.sync.idx.i32", word,
                    {i32(-1), ptx.loadShared(slot), i32(0), i32(31)});
      arriveOncePerWarp(place.empty);
    }
    advance(tileQueue, place);
    Value isTile =
        make<arith::CmpIOp>(arith::CmpIPredicate::ult, number, total);
    scf::ConditionOp::create(builder, loc, isTile, number);
  }
  Block *doing =
      builder.createBlock(&loop.getAfter(), {}, TypeRange{word}, {loc});
  builder.setInsertionPointToEnd(doing);
  Value number = doing->getArgument(0), next;
  if (isProducer) {
    // Each tile asks once, so that the counter ends at 0 again.
    Value asked = ptx.countUp(tileCounter, make<arith::SubIOp>(total, i32(1)));
    next = add(asked, call("llvm.nvvm.read.ptx.sreg.nctaid.x", word, {}));
  }
  mapTile(op, number);
  if (failed(emitRole(op.getBody())))
    return failure();
  SmallVector<Value> yielded;
  if (isProducer)
    yielded.push_back(next);
  scf::YieldOp::create(builder, loc, yielded);
  return success();
}
