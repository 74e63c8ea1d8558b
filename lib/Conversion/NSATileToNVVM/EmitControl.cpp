//===- EmitControl.cpp - Loops and branches that carry registers ----------===//

#include "KernelEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

/// Left operands of products: what reads them takes two in a register.
static bool isCarriedInPairs(RankedTensorType type) {
  return isa<FloatType>(type.getElementType()) &&
         type.getElementTypeBitWidth() == 16 &&
         isa_and_present<MmaLayoutAttr>(type.getEncoding());
}

/// Registers of tiles, and scalars. Padding isn't carried.
void KernelEmitter::flatten(ValueRange values, SmallVectorImpl<Value> &to) {
  for (Value value : values) {
    if (!isTile(value.getType())) {
      to.push_back(lookup(value));
      continue;
    }
    const TileLayout &layout = getLayout(getTile(value));
    ArrayRef<Value> values = getRegisters(value);
    if (isCarriedInPairs(getTile(value))) {
      for (size_t index = 0; index < values.size(); index += 2)
        to.push_back(pack(values[index], values[index + 1]));
      continue;
    }
    for (auto [index, reg] : llvm::enumerate(values))
      if (!layout.isPadding(index))
        to.push_back(reg);
  }
}

void KernelEmitter::unflatten(ValueRange old, ValueRange values) {
  for (Value value : old) {
    if (!isTile(value.getType())) {
      mapScalar(value, values.front());
      values = values.drop_front();
      continue;
    }
    RankedTensorType type = getTile(value);
    const TileLayout &layout = getLayout(type);
    SmallVector<Value> found;
    if (isCarriedInPairs(type)) {
      auto pair = VectorType::get({2}, type.getElementType());
      for (int64_t i = 0; i < layout.getNumRegisters(); i += 2) {
        Value both = make<LLVM::BitcastOp>(pair, values.front());
        values = values.drop_front();
        for (int64_t half : {0, 1})
          found.push_back(make<LLVM::ExtractElementOp>(both, i32(half)));
      }
      setRegisters(value, std::move(found));
      continue;
    }
    for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
      if (layout.isPadding(index)) {
        found.push_back(zero(getRegisterType(type.getElementType())));
        continue;
      }
      found.push_back(values.front());
      values = values.drop_front();
    }
    setRegisters(value, std::move(found));
  }
}

/// True when a place is read that no round writes: it is that of a tile from
/// outside of `loop`.
static bool isOfOuterTile(const SharedMemory::Access &access, Region &loop,
                          const llvm::MapVector<Value, SharedTile> &tiles) {
  return !access.isWrite && llvm::any_of(tiles, [&](const auto &entry) {
    Value value = entry.first;
    const SharedTile &tile = entry.second;
    return tile.offset == access.begin &&
           tile.offset + tile.bytes == access.end &&
           !loop.isAncestor(value.getParentRegion());
  });
}

LogicalResult KernelEmitter::emitRegion(Region &from, Block *to) {
  OpBuilder::InsertionGuard guard(builder);
  if (!to->empty() && to->back().hasTrait<OpTrait::IsTerminator>())
    to->back().erase();
  builder.setInsertionPointToEnd(to);
  if (failed(emitBlock(from.front())))
    return failure();
  SmallVector<Value> yielded;
  flatten(from.front().getTerminator()->getOperands(), yielded);
  // The next round would meet what this one left.
  bool isLoop = isa<scf::ForOp>(from.getParentOp());
  if (isLoop)
    commitCopies();
  bool isLeft = !globals.pending.empty() ||
                llvm::any_of(shared.getPending(), [&](const auto &access) {
                  return !isOfOuterTile(access, from, sharedTiles);
                });
  if (isLoop && (hasCopies || isLeft))
    barrier();
  scf::YieldOp::create(builder, loc, yielded);
  return success();
}

/// A loop without results of warps that have bounds of their own. What the loop
/// counts, places in rings among it, is the same for all lanes, but ptxas would
/// compute addresses of products lane by lane. So a vote and a barrier show
/// that all lanes go and end together, and LLVM can't see that the counter and
/// a count go along, and compute the latter from the former.
LogicalResult KernelEmitter::emitWarpFor(scf::ForOp op) {
  Value upper = lookup(op.getUpperBound()), step = lookup(op.getStep());
  Type index = upper.getType();
  auto loop = scf::WhileOp::create(builder, loc, TypeRange{index},
                                   lookup(op.getLowerBound()));
  OpBuilder::InsertionGuard guard(builder);
  Block *asking = builder.createBlock(&loop.getBefore(), {}, index, loc);
  Value counter = asking->getArgument(0);
  Value goesOn = holdsForLanes(
      make<arith::CmpIOp>(arith::CmpIPredicate::slt, counter, upper));
  scf::ConditionOp::create(builder, loc, goesOn, counter);
  Block *doing = builder.createBlock(&loop.getAfter(), {}, index, loc);
  counter = doing->getArgument(0);
  mapScalar(op.getInductionVar(), counter);
  PTXBuilder ptx(builder, loc);
  ptx.syncThreads(add(getGroup(), i32(namedBarriers::kResult)), kGroupThreads);
  if (failed(emitBlock(*op.getBody())))
    return failure();
  Value next =
      ptx.assemble("add.s32 $0, $1, $2;", index, {counter, step}).front();
  scf::YieldOp::create(builder, loc, next);
  return success();
}

static bool isOfConsumers(Operation *op) {
  auto roles = op->getParentOfType<RolesOp>();
  return roles && roles.getConsumers().isAncestor(op->getParentRegion());
}

LogicalResult KernelEmitter::emitFor(scf::ForOp op) {
  if (op.getNumResults() == 0 && isOfConsumers(op))
    return emitWarpFor(op);
  Value lower = lookup(op.getLowerBound()), upper = lookup(op.getUpperBound());
  // Where lanes could leave one by one, ptxas computes addresses of products
  // and barriers from what the loop counts lane by lane.
  if (isOfConsumers(op)) {
    lower = broadcastLane(lower);
    upper = broadcastLane(upper);
  }
  SmallVector<Value> inits;
  flatten(op.getInitArgs(), inits);
  CopyState copiesBefore = enterCopyLoop();
  bool hadCopies = hasCopies;
  int64_t copiesDistance = numCopyGroups - copiesGroup;
  auto loop = scf::ForOp::create(builder, loc, lower, upper,
                                 lookup(op.getStep()), inits);
  mapScalar(op.getInductionVar(), loop.getInductionVar());
  auto before = shared.getPending();
  auto globalsBefore = globals.pending;
  // The state of the loop's rows needs the registers; what depends on the
  // thread's number is computed anew in each step, and behind the loop.
  bool isTight = !copyRings.empty() && scope.isBlock;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    unflatten(op.getRegionIterArgs(), loop.getRegionIterArgs());
    auto knownBefore = expressions;
    ThreadScope scopeBefore = scope;
    Operation *prologueBefore = prologueEnd;
    if (isTight)
      forgetThread();
    if (failed(emitRegion(op.getRegion(), loop.getBody())))
      return failure();
    expressions = std::move(knownBefore);
    scope = scopeBefore;
    prologueEnd = prologueBefore;
  }
  // It may not have run at all.
  llvm::append_range(shared.getPending(), before);
  llvm::append_range(globals.pending, globalsBefore);
  if (hadCopies) {
    hasCopies = true;
    copiesGroup = numCopyGroups - copiesDistance;
  }
  if (failed(leaveCopyLoop(op, copiesBefore)))
    return failure();
  if (isTight && isa<ProgramOp>(op->getParentOp()))
    forgetThread();
  unflatten(op.getResults(), loop.getResults());
  return success();
}

LogicalResult KernelEmitter::emitIf(scf::IfOp op) {
  SmallVector<Type> types;
  for (Value result : op.getResults()) {
    if (!isTile(result.getType())) {
      types.push_back(getRegisterType(result.getType()));
      continue;
    }
    const TileLayout &layout = getLayout(getTile(result));
    if (isCarriedInPairs(getTile(result))) {
      types.append(layout.getNumRegisters() / 2, builder.getI32Type());
      continue;
    }
    for (int64_t index = 0; index < layout.getNumRegisters(); ++index)
      if (!layout.isPadding(index))
        types.push_back(getRegisterType(getTile(result).getElementType()));
  }
  bool hasElse = !op.getElseRegion().empty();
  // What is open before is in a group that both ways have.
  commitCopies();
  auto ifOp = scf::IfOp::create(builder, loc, types, lookup(op.getCondition()),
                                /*addThenBlock=*/true, hasElse);
  auto before = shared.getPending();
  auto globalsBefore = globals.pending;
  bool hadCopies = hasCopies;
  CopyState copiesBefore = getCopyState();
  int64_t distanceBefore = numCopyGroups - copiesGroup;
  if (failed(emitRegion(op.getThenRegion(), ifOp.thenBlock())))
    return failure();
  auto afterThen = shared.getPending();
  auto globalsAfterThen = globals.pending;
  bool thenHasCopies = hasCopies;
  CopyState copiesAfterThen = getCopyState();
  bool thenHasOpen = std::exchange(hasOpenGroup, false);
  int64_t distanceThen = numCopyGroups - copiesGroup;
  setCopyState(copiesBefore);
  copiesGroup = numCopyGroups - distanceBefore;
  shared.getPending() = before;
  globals.pending = globalsBefore;
  hasCopies = hadCopies;
  if (hasElse && failed(emitRegion(op.getElseRegion(), ifOp.elseBlock())))
    return failure();
  llvm::append_range(shared.getPending(), afterThen);
  llvm::append_range(globals.pending, globalsAfterThen);
  if (thenHasCopies) {
    int64_t distance = numCopyGroups - copiesGroup;
    copiesGroup = numCopyGroups -
                  (hasCopies ? std::min(distance, distanceThen) : distanceThen);
    hasCopies = true;
  }
  setCopyState(join(getCopyState(), copiesAfterThen));
  // A group that is empty where nothing was copied.
  hasOpenGroup |= thenHasOpen;
  commitCopies();
  unflatten(op.getResults(), ifOp.getResults());
  return success();
}
