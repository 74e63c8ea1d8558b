//===- WarpRoles.cpp - Warps that load and warps that compute -------------===//

#include "WarpRoles.h"
#include "BlocksPerSM.h"
#include "NSATile/IR/NSATileOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace mlir;
using namespace nsacc::nsatile;

RoleRegisters RoleRegisters::get(int64_t consumerGroups, int64_t registers,
                                 int64_t leastProducer) {
  // Most registers that an instruction can name, and the unit in which
  // registers are handed on.
  constexpr int64_t most = 255, unit = 8;
  int64_t groups = consumerGroups + 1;
  int64_t atStart = registers / (groups * kGroupThreads);
  if (atStart >= most)
    return {most, most};
  // A block starts with the same number for all threads.
  int64_t total = groups * llvm::alignDown(atStart, unit);
  int64_t consumer = llvm::alignDown(
      std::min((total - leastProducer) / consumerGroups, most), unit);
  return {total - consumerGroups * consumer, consumer};
}

int64_t RoleRegisters::getLeastProducer(WarpSpecializeOp specialized) {
  bool readsLists =
      specialized.getProducer()
          .walk([](Operation *op) {
            auto load = dyn_cast<ProducerLoadOp>(op);
            bool reads =
                (load && load.getAt().isListed()) ||
                (isa<memref::LoadOp>(op) && op->getParentOfType<scf::ForOp>());
            return reads ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted();
  return readsLists ? kLists : kCopies;
}

RoleRegisters RoleRegisters::get(WarpSpecializeOp specialized,
                                 int64_t registers) {
  int64_t blocks = getBlocksPerSM(specialized->getParentOfType<ProgramOp>());
  return get(specialized.getWarps() / kGroupWarps, registers / blocks,
             getLeastProducer(specialized));
}
