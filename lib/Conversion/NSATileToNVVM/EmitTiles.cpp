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
void KernelEmitter::mapPoint(Region &body, Value sizeX, Value sizeY,
                             Value number) {
  Value x = make<arith::RemUIOp>(number, sizeX);
  Value others = make<arith::DivUIOp>(number, sizeX);
  Value last = make<arith::SubIOp>(sizeX, i32(1));
  mapScalar(body.getArgument(0), make<arith::SubIOp>(last, x));
  mapScalar(body.getArgument(1), make<arith::RemUIOp>(others, sizeY));
  mapScalar(body.getArgument(2), make<arith::DivUIOp>(others, sizeY));
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
  mapPoint(op.getBody(), lookup(op.getX()), lookup(op.getY()), number);
  if (failed(emitRole(op.getBody())))
    return failure();
  SmallVector<Value> yielded;
  if (isProducer)
    yielded.push_back(next);
  scf::YieldOp::create(builder, loc, yielded);
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
  Value sizeX = lookup(op.getX()), sizeY = lookup(op.getY());
  Value total = mul(mul(sizeX, sizeY), lookup(op.getZ()));
  Value flag = make<LLVM::LoadOp>(word, raised, /*alignment=*/4);
  LogicalResult result = success();
  when(make<arith::CmpIOp>(arith::CmpIPredicate::ne, flag, i32(0)), [&] {
    auto loop = scf::ForOp::create(
        builder, loc, call("llvm.nvvm.read.ptx.sreg.ctaid.x", word, {}), total,
        call("llvm.nvvm.read.ptx.sreg.nctaid.x", word, {}));
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(loop.getBody()->getTerminator());
      mapPoint(op.getBody(), sizeX, sizeY, loop.getInductionVar());
      result = emitRole(op.getBody());
      // The next point's tiles go where this one's were.
      barrier();
    }
    lowerFlag();
  });
  return result;
}
