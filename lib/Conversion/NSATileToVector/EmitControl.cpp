//===- EmitControl.cpp - Loops and branches that carry tiles --------------===//

#include "TileEmitter.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

/// Selects the scalars of values: tiles change in place, so loops and branches
/// carry scalars only.
static SmallVector<Value> selectScalars(ValueRange all,
                                        llvm::function_ref<Value(Value)> map) {
  SmallVector<Value> scalars;
  for (Value value : all)
    if (!isTile(value.getType()))
      scalars.push_back(map(value));
  return scalars;
}

LogicalResult TileEmitter::emitFor(scf::ForOp op) {
  SmallVector<Value> targets;
  for (auto [init, argument, result] : llvm::zip_equal(
           op.getInitArgsMutable(), op.getRegionIterArgs(), op.getResults())) {
    targets.push_back(Value());
    if (!isTile(argument.getType()))
      continue;
    Value target;
    if (Value destination = placement.getDestination(result))
      target = memory.lookup(destination);
    else if (TilePlacement::canTakeOver(init))
      target = memory.lookup(init.get());
    else
      target = allocate(cast<RankedTensorType>(argument.getType()));
    if (getMemory(init.get()) != target)
      copyTile(init.get(), target);
    // One at a time: an insertion moves the value that an earlier one returned.
    memory[argument] = target;
    memory[result] = target;
    targets.back() = target;
  }

  auto map = [&](Value value) { return lookup(value); };
  auto loop = scf::ForOp::create(
      builder, loc, lookup(op.getLowerBound()), lookup(op.getUpperBound()),
      lookup(op.getStep()), selectScalars(op.getInitArgs(), map));
  values.map(op.getInductionVar(), loop.getInductionVar());
  auto same = [](Value value) { return value; };
  for (auto [from, to] :
       llvm::zip_equal(selectScalars(op.getRegionIterArgs(), same),
                       loop.getRegionIterArgs()))
    values.map(from, to);
  for (auto [from, to] :
       llvm::zip_equal(selectScalars(op.getResults(), same), loop.getResults()))
    values.map(from, to);
  return emitRegion(op.getRegion(), loop.getBody(), targets);
}

LogicalResult TileEmitter::emitIf(scf::IfOp op) {
  SmallVector<Value> targets;
  SmallVector<Type> scalarTypes;
  for (OpResult result : op.getResults()) {
    targets.push_back(Value());
    if (!isTile(result.getType())) {
      scalarTypes.push_back(result.getType());
      continue;
    }
    if (Value destination = placement.getDestination(result))
      targets.back() = memory.lookup(destination);
    else if (Value content = placement.getTakenOver(result))
      targets.back() = memory.lookup(content);
    else
      targets.back() = allocate(cast<RankedTensorType>(result.getType()));
    memory[result] = targets.back();
  }

  bool hasElse = !op.getElseRegion().empty();
  auto ifOp =
      scf::IfOp::create(builder, loc, scalarTypes, lookup(op.getCondition()),
                        /*addThenBlock=*/true, hasElse);
  auto same = [](Value value) { return value; };
  for (auto [from, to] :
       llvm::zip_equal(selectScalars(op.getResults(), same), ifOp.getResults()))
    values.map(from, to);
  if (failed(emitRegion(op.getThenRegion(), ifOp.thenBlock(), targets)))
    return failure();
  if (!hasElse)
    return success();
  return emitRegion(op.getElseRegion(), ifOp.elseBlock(), targets);
}

LogicalResult TileEmitter::emitRegion(Region &from, Block *to,
                                      ValueRange targets) {
  OpBuilder::InsertionGuard guard(builder);
  if (!to->empty() && to->back().hasTrait<OpTrait::IsTerminator>())
    to->back().erase();
  builder.setInsertionPointToEnd(to);
  Operation *yield = from.front().getTerminator();
  return emitBlock(from.front(), [&] {
    emitYield(yield, targets);
    scf::YieldOp::create(builder, loc,
                         selectScalars(yield->getOperands(), [&](Value value) {
                           return lookup(value);
                         }));
  });
}

/// Writes yielded tiles to the memory of the results, as if all at once.
void TileEmitter::emitYield(Operation *yield, ValueRange targets) {
  SmallVector<std::pair<Value, Value>> copies;
  for (auto [tile, target] : llvm::zip_equal(yield->getOperands(), targets)) {
    if (!target || getMemory(tile) == target)
      continue;
    TileKind kind = getTileKind(tile);
    bool readsTarget = kind == TileKind::Reshape || kind == TileKind::View ||
                       kind == TileKind::Broadcast ||
                       llvm::is_contained(targets, getMemory(tile));
    if (readsTarget) {
      Value saved = allocate(cast<RankedTensorType>(tile.getType()));
      copyTile(tile, saved);
      memory[tile] = saved;
    }
    copies.push_back({tile, target});
  }
  for (auto [tile, target] : copies)
    copyTile(tile, target);
}
