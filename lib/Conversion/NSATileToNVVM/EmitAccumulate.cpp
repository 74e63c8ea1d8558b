//===- EmitAccumulate.cpp - Sums in memory that blocks add to -------------===//

#include "InlinePTX.h"
#include "Instructions.h"
#include "KernelEmitter.h"
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

  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  Synchronizer &sync;
};

} // namespace

/// Each thread waits for the turn itself: in the usual case it has come, and
/// one read is faster than threads that meet. They meet behind the additions.
void AccumulationEmitter::addInTurn(AccumulateOp op) {
  Value counter = getElementPointer(b, program.getBuffer(op.getTurns()),
                                    program.lookupAll(op.getCounter()));
  Value turn = program.lookup(op.getTurn());
  ptx::waitForWord(b, counter, turn);
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
  sync.barrier();
  b.when(threads.isFirstThread(),
         [&] { nvvm::countUpBehindStores(b, counter); });
}

void AccumulationEmitter::emitAccumulate(AccumulateOp op) {
  sync.beforeGlobal(op.getAt().getBuffer(), /*isWrite=*/true);
  if (op.getTurn())
    addInTurn(op);
  else
    addRegisters(b, threads, program, op.getTile(), op.getAt());
}

void nsacc::addAccumulations(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<AccumulationEmitter>(kernel),
              &AccumulationEmitter::emitAccumulate);
}
