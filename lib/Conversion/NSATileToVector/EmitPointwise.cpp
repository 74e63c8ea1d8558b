//===- EmitPointwise.cpp - Ops that go over the same elements -------------===//
//
// Elementwise ops with results that are kept, gathers and assertions go over
// elements one by one. Ops of one shape wait for each other and share a loop: a
// formula's code has one loop for each shape, not for each op, and an op finds
// its operands in registers.
//
//===----------------------------------------------------------------------===//

#include "AssertionChecker.h"
#include "Gatherer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

static ArrayRef<int64_t> getShape(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getShape() : ArrayRef<int64_t>();
}

bool TileEmitter::canWait(Operation *op) const {
  if (isa<AssertOp>(op))
    return true;
  if (op->getNumResults() != 1)
    return false;
  Value result = op->getResult(0);
  bool isKept =
      isa<GatherOp>(op) || (isTile(result.getType()) &&
                            getTileKind(result) == TileKind::Elementwise &&
                            placement.needsNatural(result));
  return isKept && !placement.needsPacked(result) &&
         !placement.needsTransposed(result) &&
         !placement.getDestination(result);
}

bool TileEmitter::isComputedWhereRead(Value tile) const {
  if (placement.needsNatural(tile) || placement.needsPacked(tile) ||
      placement.needsTransposed(tile))
    return false;
  TileKind kind = getTileKind(tile);
  return kind == TileKind::Leaf || kind == TileKind::Broadcast ||
         kind == TileKind::Elementwise;
}

void TileEmitter::defer(Operation *op) {
  Value shaped = isa<AssertOp>(op) ? op->getOperand(0) : op->getResult(0);
  ArrayRef<int64_t> shape = getShape(shaped);
  auto *group = llvm::find_if(
      pending, [&](const auto &group) { return group.shape == shape; });
  if (group == pending.end()) {
    pending.push_back({shape, {}});
    group = &pending.back();
  }
  group->ops.push_back(op);
}

LogicalResult TileEmitter::emitGather(GatherOp op) {
  if (failed(expectBytes(op, op.getBuffer())))
    return failure();
  defer(op);
  if (!canWait(op))
    emitPending();
  return success();
}

LogicalResult TileEmitter::emitLookup(LookupOp op) {
  if (failed(expectBytes(op, op.getBuffer())))
    return failure();
  values.map(op.getResult(), Gatherer(*this, lookup(op.getBuffer()))
                                 .gather(lookupAll(op.getIndices()), 1));
  return success();
}

/// Writes the pending code that has to come before the code of `op`. A tile
/// that is computed by its readers has the shape of the tiles that it reads. So
/// a waiting op only depends on other waiting ops of its own shape: a group's
/// code comes before shapes change.
void TileEmitter::emitPendingBefore(Operation *op) {
  if (pending.empty() || canWait(op))
    return;
  bool isComputedLater = op->getNumResults() == 1 &&
                         isTile(op->getResult(0).getType()) &&
                         isComputedWhereRead(op->getResult(0));
  if (isa<tensor::ExtractOp>(op) || (isComputedLater && isa<BroadcastOp>(op)))
    return emitPendingOf(op->getOperand(0));
  bool isScalar = llvm::none_of(op->getOperandTypes(), isTile) &&
                  llvm::none_of(op->getResultTypes(), isTile) &&
                  op->getNumRegions() == 0 && isMemoryEffectFree(op);
  if (!isComputedLater && !isScalar)
    emitPending();
}

/// Writes the group that computes `tile`, or the tiles that it is computed
/// from.
void TileEmitter::emitPendingOf(Value tile) {
  ArrayRef<int64_t> shape = getShape(tile);
  auto *group = llvm::find_if(
      pending, [&](const auto &group) { return group.shape == shape; });
  if (group == pending.end() || getTileKind(tile) == TileKind::Leaf)
    return;
  PointwiseGroup ready = std::move(*group);
  pending.erase(group);
  emitGroup(ready);
}

void TileEmitter::emitPending() {
  for (const PointwiseGroup &group : std::exchange(pending, {}))
    emitGroup(group);
}

void TileEmitter::emitGroup(const PointwiseGroup &group) {
  SmallVector<AssertOp> assertions;
  llvm::MapVector<Operation *, Gatherer> gatherers;
  for (Operation *op : group.ops) {
    loc = op->getLoc();
    if (auto assertion = dyn_cast<AssertOp>(op)) {
      assertions.push_back(assertion);
      continue;
    }
    allocateResult(op->getResult(0));
    if (auto gather = dyn_cast<GatherOp>(op))
      gatherers.insert({gather, Gatherer(*this, lookup(gather.getBuffer()))});
  }
  AssertionChecker checker(*this, assertions);
  SmallVector<Value> results;
  for (Operation *op : group.ops)
    llvm::append_range(results, op->getResults());
  Value rowEnd = assertions.empty() ? getRowEnd(results) : Value();
  // Code of long formulas isn't repeated for each vector of a row.
  int64_t unrolled = group.ops.size() > 4 ? 1 : maxUnrolled;
  forEachVector(
      group.shape,
      [&](ValueRange point, int64_t width) {
        VectorReader reader(*this, point, width);
        for (Operation *op : group.ops) {
          if (isa<AssertOp>(op))
            continue;
          loc = op->getLoc();
          Value result = op->getResult(0), vector;
          if (auto gather = dyn_cast<GatherOp>(op)) {
            SmallVector<Value> indices;
            for (Value index : gather.getIndices())
              indices.push_back(reader.read(index));
            Value mask =
                gather.getMask() ? reader.read(gather.getMask()) : Value();
            vector =
                gatherers.find(gather)->second.gather(indices, width, mask);
            reader.define(result, vector);
          } else {
            vector = reader.evaluate(result);
          }
          storeVector(vector, getMemory(result), point);
        }
        checker.check(reader, width);
      },
      unrolled, rowEnd);
  checker.report(group.shape);
}
