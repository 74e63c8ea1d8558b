//===- TilePlacement.cpp - Placement of tiles' values ---------------------===//

#include "TilePlacement.h"
#include "NSATile/IR/NSATileUses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

bool nsacc::isTile(Type type) { return isa<RankedTensorType>(type); }

TileKind nsacc::getTileKind(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (!op)
    return TileKind::Buffer;
  if (isa<arith::ConstantOp, tensor::SplatOp, IotaOp>(op))
    return TileKind::Leaf;
  if (isa<LoadOp, tensor::ExtractSliceOp>(op))
    return TileKind::View;
  if (isa<BroadcastOp>(op))
    return TileKind::Broadcast;
  if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
    return TileKind::Reshape;
  return OpTrait::hasElementwiseMappableTraits(op) ? TileKind::Elementwise
                                                   : TileKind::Buffer;
}

/// The buffer at the root of a chain of views.
static Value getRoot(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  return buffer;
}

bool TilePlacement::isWritten(Value buffer) const {
  return written.contains(getRoot(buffer));
}

TilePlacement::TilePlacement(ProgramOp program) {
  SmallVector<Operation *> ops;
  program.getBody().walk<WalkOrder::PreOrder>(
      [&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops)
    if (!isa<LoadOp, GatherOp>(op) && !isMemoryEffectFree(op))
      forEachBuffer(
          op, [&](Value buffer, bool) { written.insert(getRoot(buffer)); });
  // Users come first: a tile's needs depend on the placement of its readers.
  for (Operation *op : llvm::reverse(ops)) {
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        if (isTile(argument.getType()))
          place(argument);
    for (Value result : op->getResults())
      if (isTile(result.getType()))
        place(result);
  }
  // Outer ops come first: inner ones take over their decisions.
  for (Operation *op : ops) {
    if (isa<scf::ForOp>(op))
      shareInLoop(op);
    else if (isa<scf::IfOp>(op))
      shareInIf(op);
  }
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

void TilePlacement::place(Value tile) {
  bool isF32 = cast<RankedTensorType>(tile.getType()).getElementType().isF32();
  for (OpOperand &use : tile.getUses()) {
    Operation *user = use.getOwner();
    if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp,
            tensor::ExtractSliceOp, tensor::InsertSliceOp, SortOp, TopOp,
            ExchangeOp, ShiftOp, OfferOp, ChooseOp>(user))
      natural.insert(tile);
    auto dot = dyn_cast<DotOp>(user);
    if (!dot || use.get() == dot.getAcc() || use.get() == dot.getVisible())
      continue;
    bool isTransposed = use.getOperandNumber() == 0 ? dot.getTransposeLhs()
                                                    : dot.getTransposeRhs();
    if (isTransposed)
      transposed.insert(tile);
    else if (isF32 && tile.getDefiningOp<tensor::ExtractSliceOp>())
      continue; // rows of a tile that is packed itself
    else if (isF32 && getTileKind(tile) != TileKind::View)
      natural.insert(tile);
    else
      packed.insert(tile);
  }
  TileKind kind = getTileKind(tile);
  if (kind == TileKind::Buffer || kind == TileKind::Reshape)
    natural.insert(tile);
  if (kind == TileKind::Elementwise)
    placeElementwise(tile);
}

void TilePlacement::placeElementwise(Value tile) {
  llvm::SmallPtrSet<Operation *, 4> sinks;
  collectSinks(tile, sinks);
  bool elsewhere = llvm::any_of(sinks, [&](Operation *sink) {
    return sink->getBlock() != tile.getParentBlock() ||
           isa<BroadcastOp, scf::YieldOp>(sink);
  });
  bool hasForm = needsPacked(tile) || needsTransposed(tile);
  if (sinks.size() > 1 || elsewhere || (hasForm && !sinks.empty()))
    natural.insert(tile);
  else
    sinkOf[tile] = sinks.empty() ? nullptr : *sinks.begin();
}

bool TilePlacement::isComputedWhereRead(Value tile) const {
  return getTileKind(tile) == TileKind::Elementwise && !needsNatural(tile) &&
         !needsPacked(tile) && !needsTransposed(tile);
}

/// The ops at which code that computes `tile` is written, if the tile gets no
/// memory. Operands of a dot are packed at their definition.
void TilePlacement::collectSinks(
    Value tile, llvm::SmallPtrSetImpl<Operation *> &sinks) const {
  for (OpOperand &use : tile.getUses()) {
    Operation *user = use.getOwner();
    if (isa<DotOp>(user) && use.getOperandNumber() < 2)
      continue;
    // Values of a failure are computed again when it is reported.
    if (isa<AssertOp>(user) && use.getOperandNumber() > 0)
      continue;
    if (user->getNumResults() != 1 || !isComputedWhereRead(user->getResult(0)))
      sinks.insert(user);
    else if (Operation *sink = sinkOf.lookup(user->getResult(0)))
      sinks.insert(sink);
  }
}

//===----------------------------------------------------------------------===//
// Sharing memory
//===----------------------------------------------------------------------===//

/// The ops whose code reads the memory of `tile`. With `pointwise`, each
/// element written there depends only on the element in the same place.
void TilePlacement::collectReaders(Value tile, bool pointwise,
                                   SmallVectorImpl<Reader> &readers,
                                   VisitedUses &visited) const {
  for (OpOperand &use : tile.getUses()) {
    if (!visited.insert({&use, pointwise}).second)
      continue;
    Operation *user = use.getOwner();
    auto result = user->getNumResults() == 1 ? user->getResult(0) : Value();
    if (isa<BroadcastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
            tensor::ExtractSliceOp>(user)) {
      collectReaders(result, false, readers, visited);
      // If these get separate memory, they read here.
      readers.push_back({&use, false});
    } else if (result && isComputedWhereRead(result)) {
      collectReaders(result, pointwise, readers, visited);
    } else {
      auto dot = dyn_cast<DotOp>(user);
      bool isAcc = dot && use.get() == dot.getAcc() &&
                   dot.getLhs() != use.get() && dot.getRhs() != use.get();
      bool isElementwise = result && isTile(result.getType()) &&
                           getTileKind(result) == TileKind::Elementwise;
      auto insert = dyn_cast<tensor::InsertSliceOp>(user);
      bool isTarget = insert && insert.getSource() != use.get();
      readers.push_back(
          {&use, pointwise && (isAcc || isElementwise || isTarget ||
                               isa<scf::ForOp>(user))});
    }
  }
}

SmallVector<TilePlacement::Reader>
TilePlacement::collectReaders(Value tile) const {
  SmallVector<Reader> readers;
  VisitedUses visited;
  collectReaders(tile, /*pointwise=*/true, readers, visited);
  return readers;
}

/// Whether the op of `written` may write this result over `content`.
bool TilePlacement::canOverwrite(Value content, OpResult written) const {
  Operation *writer = written.getOwner();
  SmallVector<Reader> readers = collectReaders(content);
  return llvm::all_of(readers, [&](const Reader &reader) {
    Operation *op = reader.operand->getOwner();
    if (op == writer) {
      auto loop = dyn_cast<scf::ForOp>(op);
      bool isOwn = !loop || loop.getTiedLoopResult(reader.operand) == written;
      return reader.pointwise && isOwn;
    }
    // Readers in the other branch, or before it, don't see the write.
    Operation *ancestor = writer->getBlock()->findAncestorOpInBlock(*op);
    if (!ancestor || ancestor->isBeforeInBlock(writer))
      return true;
    // Branches write last, or the ops in them are checked by themselves.
    return ancestor == writer && isa<scf::IfOp>(writer);
  });
}

/// Whether the tile's op can put its result into the memory of another tile.
static bool writesInPlace(Value tile) {
  Operation *op = tile.getDefiningOp();
  return op && (isa<DotOp, tensor::InsertSliceOp, scf::ForOp, scf::IfOp>(op) ||
                getTileKind(tile) == TileKind::Elementwise);
}

/// The tile that is in the memory of a loop argument or of a result of scf.if
/// before other tiles are written to it; null if there is none.
Value TilePlacement::getContent(Value target) const {
  if (isa<BlockArgument>(target))
    return target;
  Value outer = destinations.lookup(target);
  return outer ? getContent(outer) : takenOver.lookup(target);
}

void TilePlacement::shareYielded(Value yielded, Block *block, Value target,
                                 Value content) {
  if (writesInPlace(yielded) && yielded.getParentBlock() == block &&
      !destinations.count(yielded) &&
      (!content || canOverwrite(content, cast<OpResult>(yielded))))
    destinations[yielded] = target;
}

void TilePlacement::shareInLoop(Operation *op) {
  auto loop = cast<scf::ForOp>(op);
  for (auto [argument, yielded] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues()))
    if (isTile(argument.getType()))
      shareYielded(yielded, loop.getBody(), argument, argument);
}

/// scf.if -> tensor { … } else { yield %s }: if %s has no other reader, the
/// result is %s, changed in place.
Value TilePlacement::findContentToTakeOver(Operation *op, unsigned index) {
  auto ifOp = cast<scf::IfOp>(op);
  for (Block *block : {ifOp.elseBlock(), ifOp.thenBlock()}) {
    Value content = block->getTerminator()->getOperand(index);
    if (content.getParentBlock() != op->getBlock() || !needsNatural(content) ||
        getTileKind(content) == TileKind::Reshape)
      continue;
    SmallVector<Reader> readers = collectReaders(content);
    bool onlyHere = llvm::all_of(readers, [&](const Reader &reader) {
      Operation *ancestor =
          op->getBlock()->findAncestorOpInBlock(*reader.operand->getOwner());
      return ancestor && (ancestor == op || ancestor->isBeforeInBlock(op));
    });
    bool once =
        llvm::count(block->getTerminator()->getOperands(), content) == 1;
    bool taken = llvm::any_of(
        takenOver, [&](auto &each) { return each.second == content; });
    if (onlyHere && once && !taken)
      return content;
  }
  return Value();
}

void TilePlacement::shareInIf(Operation *op) {
  auto ifOp = cast<scf::IfOp>(op);
  for (OpResult result : ifOp.getResults()) {
    if (!isTile(result.getType()))
      continue;
    if (!destinations.count(result))
      if (Value content = findContentToTakeOver(op, result.getResultNumber()))
        takenOver[result] = content;
    for (Block *block : {ifOp.thenBlock(), ifOp.elseBlock()})
      shareYielded(block->getTerminator()->getOperand(result.getResultNumber()),
                   block, result, getContent(result));
  }
}

bool TilePlacement::canTakeOver(OpOperand &init) {
  Value value = init.get();
  TileKind kind = getTileKind(value);
  // The memory of a loop's argument belongs to that loop, unless the argument
  // has no other use; the same holds for results.
  return kind == TileKind::Buffer && value.hasOneUse() &&
         value.getParentBlock() == init.getOwner()->getBlock();
}
