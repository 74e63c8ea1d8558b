//===- EmitControl.cpp - Loops and branches -------------------------------===//

#include "CarriedValues.h"
#include "InlinePTX.h"
#include "Instructions.h"
#include "KernelEmitter.h"
#include "NSATile/IR/NSATileUses.h"
#include "NSATile/IR/WarpRoles.h"
#include "NamedBarriers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Writes loops and branches, which stay `scf` and carry registers. Pending
/// accesses and copies at their ends follow from all ways there.
class ControlEmitter {
public:
  ControlEmitter(KernelEmitter &emitter, Kernel &kernel)
      : emitter(emitter), b(kernel.b), threads(kernel.threads),
        program(kernel.program), carried(kernel.b, kernel.program),
        copies(kernel.copies), sync(kernel.sync) {}

  LogicalResult emitFor(scf::ForOp op);
  LogicalResult emitIf(scf::IfOp op);

private:
  void meetBefore(scf::ForOp op);
  LogicalResult emitWarpFor(scf::ForOp op);
  LogicalResult emitSteps(scf::ForOp op, scf::ForOp loop, bool isTight);
  LogicalResult emitRegion(Region &from, Block *to);

  KernelEmitter &emitter;
  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  CarriedValues carried;
  CopyGroups &copies;
  Synchronizer &sync;
};

} // namespace

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

LogicalResult ControlEmitter::emitRegion(Region &from, Block *to) {
  OpBuilder::InsertionGuard guard(b);
  if (!to->empty() && to->back().hasTrait<OpTrait::IsTerminator>())
    to->back().erase();
  b.setInsertionPointToEnd(to);
  std::optional<Synchronizer::Round> outer;
  if (isa<scf::ForOp>(from.getParentOp()))
    outer = sync.beginRound();
  if (failed(emitter.emitBlock(from.front())))
    return failure();
  SmallVector<Value> yielded =
      carried.take(from.front().getTerminator()->getOperands());
  if (outer)
    sync.endRound(std::move(*outer));
  scf::YieldOp::create(b, yielded);
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Makes threads meet in front of a loop over the program's own memory, where
/// they would meet in each of its rounds.
void ControlEmitter::meetBefore(scf::ForOp op) {
  auto owner = op->getParentOfType<ProgramOp>();
  if (owner.getBody().getOps<memref::AllocaOp>().empty())
    return;
  op.getBody()->walk([&](Operation *inner) {
    if (isMemoryEffectFree(inner))
      return;
    forEachBuffer(inner, [&](Value buffer, bool isWritten) {
      sync.meetBeforeGlobal(buffer, isWritten);
    });
  });
}

/// Writes a loop without results for warps with different bounds. The loop's
/// counter and places in circular buffers are the same for all lanes, but ptxas
/// would compute addresses of products lane by lane. So a vote and a barrier
/// show that all lanes run and end together, and a hidden sum keeps LLVM from
/// computing a count from the loop's counter.
LogicalResult ControlEmitter::emitWarpFor(scf::ForOp op) {
  Value upper = program.lookup(op.getUpperBound());
  Value step = program.lookup(op.getStep());
  Type index = upper.getType();
  auto loop = scf::WhileOp::create(b, TypeRange{index},
                                   program.lookup(op.getLowerBound()));
  OpBuilder::InsertionGuard guard(b);
  Block *asking = b.createBlock(&loop.getBefore(), {}, index, b.getLoc());
  Value counter = asking->getArgument(0);
  Value goesOn = nvvm::anyLane(
      b, b.make<arith::CmpIOp>(arith::CmpIPredicate::slt, counter, upper));
  scf::ConditionOp::create(b, goesOn, counter);
  Block *doing = b.createBlock(&loop.getAfter(), {}, index, b.getLoc());
  counter = doing->getArgument(0);
  program.map(op.getInductionVar(), counter);
  nvvm::syncThreads(
      b, b.add(threads.getWarpgroup(), b.i32(namedBarriers::kResult)),
      kGroupThreads);
  if (failed(emitter.emitBlock(*op.getBody())))
    return failure();
  scf::YieldOp::create(b, ptx::addHidden(b, counter, step));
  return success();
}

static bool isOfConsumers(Operation *op) {
  auto specialized = op->getParentOfType<WarpSpecializeOp>();
  return specialized &&
         specialized.getConsumers().isAncestor(op->getParentRegion());
}

LogicalResult ControlEmitter::emitSteps(scf::ForOp op, scf::ForOp loop,
                                        bool isTight) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  carried.give(op.getRegionIterArgs(), loop.getRegionIterArgs());
  ThreadMap::State before = threads.getState();
  if (isTight)
    threads.forget();
  if (failed(emitRegion(op.getRegion(), loop.getBody())))
    return failure();
  threads.setState(std::move(before));
  return success();
}

LogicalResult ControlEmitter::emitFor(scf::ForOp op) {
  if (op.getNumResults() == 0 && isOfConsumers(op))
    return emitWarpFor(op);
  Value lower = program.lookup(op.getLowerBound());
  Value upper = program.lookup(op.getUpperBound());
  // If lanes could leave one by one, ptxas would compute addresses of products
  // and barriers from the loop's counter lane by lane.
  if (isOfConsumers(op)) {
    lower = nvvm::broadcastLane(b, lower);
    upper = nvvm::broadcastLane(b, upper);
  }
  SmallVector<Value> inits = carried.take(op.getInitArgs());
  meetBefore(op);
  CopyGroups::State copiesBefore = copies.enterLoop();
  auto loop =
      scf::ForOp::create(b, lower, upper, program.lookup(op.getStep()), inits);
  program.map(op.getInductionVar(), loop.getInductionVar());
  Synchronizer::Pending before = sync.getPending();
  // The state of the loop's rows needs the registers. Values that depend on the
  // thread's number are computed anew in each step, and behind the loop.
  bool isTight = copies.hasCircularBuffers() && threads.getScope().isBlock;
  if (failed(emitSteps(op, loop, isTight)))
    return failure();
  // The loop may not have run at all.
  sync.join(before);
  if (failed(copies.leaveLoop(op, copiesBefore)))
    return failure();
  if (isTight && isa<ProgramOp>(op->getParentOp()))
    threads.forget();
  carried.give(op.getResults(), loop.getResults());
  return success();
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

LogicalResult ControlEmitter::emitIf(scf::IfOp op) {
  bool hasElse = !op.getElseRegion().empty();
  // Copies that started before the branch are in a group that both ways have.
  copies.commit();
  auto ifOp = scf::IfOp::create(b, carried.getTypes(op.getResultTypes()),
                                program.lookup(op.getCondition()),
                                /*addThenBlock=*/true, hasElse);
  Synchronizer::Pending before = sync.getPending();
  CopyGroups::State copiesBefore = copies.getState();
  if (failed(emitRegion(op.getThenRegion(), ifOp.thenBlock())))
    return failure();
  Synchronizer::Pending afterThen = sync.getPending();
  CopyGroups::State copiesAfterThen = copies.getState();
  sync.setPending(std::move(before));
  copies.setState(copiesBefore);
  if (hasElse && failed(emitRegion(op.getElseRegion(), ifOp.elseBlock())))
    return failure();
  sync.join(afterThen);
  copies.join(copiesAfterThen);
  carried.give(op.getResults(), ifOp.getResults());
  return success();
}

void nsacc::addControl(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<ControlEmitter>(emitter, kernel),
              &ControlEmitter::emitFor, &ControlEmitter::emitIf);
}
