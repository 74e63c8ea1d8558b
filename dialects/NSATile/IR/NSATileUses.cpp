//===- NSATileUses.cpp - Uses of values in programs -----------------------===//

#include "NSATile/IR/NSATileUses.h"
#include "NSATile/IR/NSATileOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace nsacc::nsatile;

bool nsacc::nsatile::isStoredTo(Value buffer) {
  return llvm::any_of(buffer.getUsers(), [&](Operation *user) {
    auto at = dyn_cast<AtOp>(user);
    return at && at.getBuffer() == buffer
               ? isStoredTo(at.getPlace())
               : hasEffect<MemoryEffects::Write>(user, buffer);
  });
}

void nsacc::nsatile::forEachBuffer(
    Operation *op, llvm::function_ref<void(Value, bool)> visit) {
  for (Value operand : op->getOperands()) {
    auto at = operand.getDefiningOp<AtOp>();
    if (at || isa<MemRefType>(operand.getType()))
      visit(at ? at.getBuffer() : operand,
            hasEffect<MemoryEffects::Write>(op, operand));
    if (at && at.isListed())
      visit(at.getList(), /*isWritten=*/false);
  }
}

bool nsacc::nsatile::isScalarCode(Operation *op) {
  auto isScalar = [](Type type) {
    return type.isIntOrIndexOrFloat() || isa<PlaceType>(type);
  };
  bool reads = isa<memref::LoadOp, LookupOp>(op);
  return op->getNumRegions() == 0 && !op->hasTrait<OpTrait::IsTerminator>() &&
         (isMemoryEffectFree(op) ||
          (reads && !isStoredTo(op->getOperand(0)))) &&
         llvm::all_of(op->getResultTypes(), isScalar) &&
         llvm::all_of(op->getOperandTypes(), [&](Type type) {
           return isScalar(type) || isa<MemRefType>(type);
         });
}

WalkResult
nsacc::nsatile::walkSources(Value value,
                            llvm::function_ref<WalkResult(Value)> visit) {
  llvm::SmallDenseSet<Value> seen = {value};
  SmallVector<Value> open = {value};
  while (!open.empty()) {
    Value next = open.pop_back_val();
    WalkResult result = visit(next);
    if (result.wasInterrupted())
      return result;
    Operation *op = next.getDefiningOp();
    if (!op || result.wasSkipped())
      continue;
    for (Value operand : op->getOperands())
      if (seen.insert(operand).second)
        open.push_back(operand);
  }
  return WalkResult::advance();
}

bool nsacc::nsatile::hasLoop(Operation *op) {
  return op->walk([](LoopLikeOpInterface) { return WalkResult::interrupt(); })
      .wasInterrupted();
}
