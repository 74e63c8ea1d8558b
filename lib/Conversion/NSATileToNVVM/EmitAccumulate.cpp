//===- EmitAccumulate.cpp - Sums in memory that blocks add to -------------===//

#include "InlinePTX.h"
#include "Instructions.h"
#include "KernelEmitter.h"
#include "NSATile/IR/WarpRoles.h"
#include "NamedBarriers.h"
#include "RegisterAccess.h"
#include "TileAccess.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Writes additions to memory, in turns or in any order.
class AccumulationEmitter {
public:
  explicit AccumulationEmitter(Kernel &kernel)
      : b(kernel.b), threads(kernel.threads), program(kernel.program),
        sync(kernel.sync) {}

  void emitAccumulate(AccumulateOp op);

private:
  void addInTurn(AccumulateOp op);
  void countUp(Value counter);

  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  Synchronizer &sync;
};

} // namespace

/// Number of warpgroups that count their own additions: only the threads of one
/// meet, and the others may be in another step.
static int64_t countParts(const ThreadScope &scope) {
  return scope.isBlock ? 1 : scope.numThreads / kGroupThreads;
}

/// Counts up when all threads of the block, or of a consumers' warpgroup, have
/// added.
void AccumulationEmitter::countUp(Value counter) {
  Value counts = threads.isFirstThread();
  if (countParts(threads.getScope()) == 1) {
    sync.barrier();
  } else {
    Value group = threads.getWarpgroup();
    nvvm::syncThreads(b, b.add(group, b.i32(namedBarriers::kResult)),
                      kGroupThreads);
    counts = b.make<arith::CmpIOp>(
        arith::CmpIPredicate::eq,
        Value(b.make<arith::AndIOp>(threads.getThread(),
                                    b.i32(kGroupThreads - 1))),
        b.i32(0));
  }
  b.when(counts, [&] { nvvm::countUpBehindStores(b, counter); });
}

/// Each thread waits for the turn itself: in the usual case it has come, and
/// one read is faster than threads that meet. They meet behind the additions.
void AccumulationEmitter::addInTurn(AccumulateOp op) {
  Value counter = getElementPointer(b, program.getBuffer(op.getTurns()),
                                    program.lookupAll(op.getCounter()));
  Value turn = program.lookup(op.getTurn());
  ptx::waitForCount(b, counter,
                    b.mul(turn, b.i32(countParts(threads.getScope()))));
  Value isFirst =
      b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, turn, b.i32(0));
  b.branch(
      isFirst, {},
      [&] {
        storeRegisters(b, threads, program, op.getTile(), op.getAt());
        return SmallVector<Value>();
      },
      [&] {
        addRegisters(b, threads, program, op.getTile(), op.getAt());
        return SmallVector<Value>();
      });
  countUp(counter);
}

void AccumulationEmitter::emitAccumulate(AccumulateOp op) {
  // Turns order the op's own additions, or they need no order.
  sync.beforeGlobal(op.getAt().getBuffer(), /*isWrite=*/true, op);
  if (op.getTurn())
    addInTurn(op);
  else
    addRegisters(b, threads, program, op.getTile(), op.getAt());
}

void nsacc::addAccumulations(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<AccumulationEmitter>(kernel),
              &AccumulationEmitter::emitAccumulate);
}
