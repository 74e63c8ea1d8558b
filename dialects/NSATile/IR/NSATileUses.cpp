//===- NSATileUses.cpp - What ops of programs do with values --------------===//

#include "NSATile/IR/NSATileUses.h"
#include "NSATile/IR/NSATileOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace nsacc::nsatile;

bool nsacc::nsatile::isStoredTo(Value buffer) {
  return llvm::any_of(buffer.getUsers(), [](Operation *user) {
    return isa<StoreOp, memref::StoreOp>(user);
  });
}

bool nsacc::nsatile::isScalarCode(Operation *op) {
  auto isScalar = [](Type type) { return type.isIntOrIndexOrFloat(); };
  auto load = dyn_cast<memref::LoadOp>(op);
  return op->getNumRegions() == 0 && !op->hasTrait<OpTrait::IsTerminator>() &&
         (isMemoryEffectFree(op) || (load && !isStoredTo(load.getMemRef()))) &&
         llvm::all_of(op->getResultTypes(), isScalar) &&
         llvm::all_of(op->getOperandTypes(), [&](Type type) {
           return isScalar(type) || isa<MemRefType>(type);
         });
}

bool nsacc::nsatile::hasLoop(Operation *op) {
  return op->walk([](LoopLikeOpInterface) { return WalkResult::interrupt(); })
      .wasInterrupted();
}
