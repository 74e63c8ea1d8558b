//===- EmitRepair.cpp - Rows that an exact program computes again ---------===//

#include "Grid.h"
#include "Instructions.h"
#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

namespace {

/// Marks rows for the exact program, and lets that program go through the grid
/// if any row is marked.
class RepairEmitter {
public:
  RepairEmitter(KernelEmitter &emitter, Kernel &kernel)
      : emitter(emitter), b(kernel.b), threads(kernel.threads),
        program(kernel.program), sync(kernel.sync), host(kernel.host) {}

  void emitRaise(RaiseOp op);
  LogicalResult emitRepair(RepairOp op);

private:
  void lowerFlag();

  KernelEmitter &emitter;
  CodeBuilder &b;
  ThreadMap &threads;
  ProgramValues &program;
  Synchronizer &sync;
  const HostParameters &host;
};

} // namespace

/// Lets every thread check its own rows: none waits for another one.
void RepairEmitter::emitRaise(RaiseOp op) {
  const TileLayout &layout = program.getLayout(getTile(op.getMarks()));
  Value wrong;
  for (auto [index, mark] :
       llvm::enumerate(program.getRegisters(op.getMarks()))) {
    if (layout.isPadding(index))
      continue;
    Value isWrong =
        b.make<arith::CmpFOp>(arith::CmpFPredicate::UNE, mark, b.f32(0));
    isWrong = b.both(threads.getInside(layout, index), isWrong);
    wrong = wrong ? Value(b.make<arith::OrIOp>(wrong, isWrong)) : isWrong;
  }
  b.when(wrong, [&] {
    LLVM::StoreOp::create(b, b.i32(1), host.raised, /*alignment=*/4);
  });
}

/// Lets the last block to end clear the flag: all blocks have read it by then.
void RepairEmitter::lowerFlag() {
  sync.barrier();
  b.when(threads.isFirstThread(), [&] {
    Value blocks = nvvm::getNumBlocks(b);
    Value last = b.make<arith::SubIOp>(blocks, b.i32(1));
    Value before = nvvm::countUp(b, host.tileCounter, last);
    b.when(b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, before, last), [&] {
      LLVM::StoreOp::create(b, b.i32(0), host.raised, /*alignment=*/4);
    });
  });
}

LogicalResult RepairEmitter::emitRepair(RepairOp op) {
  Type word = b.getI32Type();
  Grid grid = {program.lookup(op.getX()), program.lookup(op.getY()),
               program.lookup(op.getZ())};
  Value total = grid.getNumPoints(b);
  Value flag = b.make<LLVM::LoadOp>(word, host.raised, /*alignment=*/4);
  LogicalResult result = success();
  b.when(b.make<arith::CmpIOp>(arith::CmpIPredicate::ne, flag, b.i32(0)), [&] {
    auto loop = scf::ForOp::create(b, nvvm::getBlock(b, 0), total,
                                   nvvm::getNumBlocks(b));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(loop.getBody()->getTerminator());
      mapPoint(program, op.getBody(), grid.getPoint(b, loop.getInductionVar()));
      result = emitter.emitPartition(op.getBody());
      // The next point's tiles reuse the shared memory of this one's.
      sync.barrier();
    }
    lowerFlag();
  });
  return result;
}

void nsacc::addRepairs(KernelEmitter &emitter, Kernel &kernel) {
  emitter.add(std::make_shared<RepairEmitter>(emitter, kernel),
              &RepairEmitter::emitRaise, &RepairEmitter::emitRepair);
}
