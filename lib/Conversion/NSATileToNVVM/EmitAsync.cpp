//===- EmitAsync.cpp - Rings, products in flight, roles -------------------===//

#include "BulkStore.h"
#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

/// Those that wait for a turn and those that give it.
static constexpr int64_t kTurnThreads = 2 * kGroupThreads;

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

Value KernelEmitter::getSharedAddress(int64_t offset) {
  Value base = make<LLVM::PtrToIntOp>(builder.getI32Type(), sharedBase);
  return add(base, i32(offset));
}

/// Barriers of all rings stand side by side.
int64_t KernelEmitter::allocateBarriers(int64_t count) {
  constexpr int64_t regionBytes = 1024;
  int64_t bytes = count * kBarrierBytes;
  if (barriers.left < bytes) {
    barriers.left = std::max(regionBytes, bytes);
    barriers.next = shared.allocate(barriers.left);
  }
  int64_t place = barriers.next;
  barriers.next += bytes;
  barriers.left -= bytes;
  return place;
}

void KernelEmitter::createVariables(Ring &ring) {
  for (Value *variable : {&ring.index, &ring.parity}) {
    *variable =
        make<LLVM::AllocaOp>(LLVM::LLVMPointerType::get(builder.getContext()),
                             builder.getI32Type(), i32(1));
    LLVM::StoreOp::create(builder, loc, i32(0), *variable);
  }
}

void KernelEmitter::emitRing(RingOp op) {
  RingType type = op.getRing().getType();
  Ring ring;
  ring.stages = type.getStages();
  ring.tileBytes = SharedTile::get(type.getTile()).bytes;
  ring.full = allocateBarriers(2 * ring.stages);
  ring.empty = ring.full + ring.stages * kBarrierBytes;
  ring.tiles = shared.allocate(ring.stages * ring.tileBytes);
  createVariables(ring);
  rings[op.getRing()] = ring;
}

KernelEmitter::RingPlace KernelEmitter::getPlace(const Ring &ring) {
  RingPlace place;
  place.index = make<LLVM::LoadOp>(builder.getI32Type(), ring.index);
  place.parity = make<LLVM::LoadOp>(builder.getI32Type(), ring.parity);
  Value barrier = mul(place.index, i32(kBarrierBytes));
  place.full = add(getSharedAddress(ring.full), barrier);
  place.empty = add(getSharedAddress(ring.empty), barrier);
  place.tile = make<arith::MulIOp>(place.index, i32(ring.tileBytes),
                                   arith::IntegerOverflowFlags::nuw);
  return place;
}

void KernelEmitter::advance(const Ring &ring, const RingPlace &place) {
  Value next, isAround;
  if (ring.stages <= 2) {
    // One instruction each.
    isAround = ring.stages == 2 ? place.index : i32(1);
    next = make<arith::XOrIOp>(place.index, i32(ring.stages - 1));
  } else {
    next = add(place.index, i32(1));
    Value isEnd =
        make<arith::CmpIOp>(arith::CmpIPredicate::eq, next, i32(ring.stages));
    next = select(isEnd, i32(0), next);
    isAround = make<arith::ExtUIOp>(builder.getI32Type(), isEnd);
  }
  LLVM::StoreOp::create(builder, loc, next, ring.index);
  LLVM::StoreOp::create(
      builder, loc, make<arith::XOrIOp>(place.parity, isAround), ring.parity);
}

TensorMapAttr nsacc::getTensorMap(BlockArgument buffer, ArrayRef<int64_t> of,
                                  ArrayRef<int64_t> sizes) {
  int64_t rank = cast<MemRefType>(buffer.getType()).getRank();
  SmallVector<int64_t> box(rank, 1), dims;
  for (auto [size, dim] : llvm::zip_equal(sizes, of))
    box[dim] = size;
  std::reverse(box.begin(), box.end());
  for (int64_t dim = rank - 1; dim >= 0; --dim)
    dims.push_back(dim);
  Builder builder(buffer.getContext());
  return TensorMapAttr::get(buffer.getContext(), buffer.getArgNumber(),
                            builder.getDenseI64ArrayAttr(dims),
                            builder.getDenseI64ArrayAttr(box),
                            SharedMatrix::rowBytes);
}

TensorMapAttr nsacc::getTensorMap(FillOp op) {
  SmallVector<int64_t> sizes(op.getRing().getType().getTile().getShape());
  sizes.back() = SharedMatrix::slabColumns;
  return getTensorMap(cast<BlockArgument>(op.getBuffer()), op.getDims(), sizes);
}

void KernelEmitter::emitFill(FillOp op) {
  const Ring &ring = rings.find(op.getRing())->second;
  SharedTile tile = SharedTile::get(op.getRing().getType().getTile());
  PTXBuilder ptx(builder, loc);
  Value map = tensorMaps.lookup(getTensorMap(op));
  RingPlace place = getPlace(ring);
  ptx.waitBarrier(place.empty, make<arith::XOrIOp>(place.parity, i32(1)));
  int64_t slabs = llvm::divideCeil(tile.columns, SharedMatrix::slabColumns);
  ptx.arriveAndExpect(place.full, slabs * tile.rows * SharedMatrix::rowBytes);
  SmallVector<Value> coordinates;
  for (Value offset : llvm::reverse(op.getOffsets()))
    coordinates.push_back(lookup(offset));
  Value first = coordinates[0];
  Value address = add(getSharedAddress(ring.tiles), place.tile);
  int64_t slabBytes = tile.paddedRows * tile.pitch;
  for (int64_t slab = 0; slab < slabs; ++slab) {
    coordinates[0] = add(first, i32(slab * SharedMatrix::slabColumns));
    ptx.copyBoxToShared(add(address, i32(slab * slabBytes)), map, coordinates,
                        place.full);
  }
  advance(ring, place);
}

void KernelEmitter::emitAcquire(AcquireOp op) {
  const Ring &ring = rings.find(op.getRing())->second;
  RingPlace place = getPlace(ring);
  PTXBuilder(builder, loc).waitBarrier(place.full, place.parity);
  SharedTile tile = SharedTile::get(op.getRing().getType().getTile());
  tile.offset = ring.tiles;
  tile.place = place.tile;
  // Addresses that loops take from outside have to be seen to be the same for
  // all lanes: otherwise each step moves the descriptors to uniform registers.
  if (!op->getParentOfType<scf::ForOp>())
    tile.place = broadcastLane(place.tile);
  tile.isOwner = false;
  setShared(op.getTile(), tile);
}

/// 1 for the lane that speaks for its warp, otherwise 0.
Value KernelEmitter::isFirstLane() {
  Value leads =
      make<arith::CmpIOp>(arith::CmpIPredicate::eq, getLane(), i32(0));
  return make<arith::ExtUIOp>(builder.getI32Type(), leads);
}

void KernelEmitter::arriveOncePerWarp(Value barrier) {
  PTXBuilder(builder, loc).arrive(barrier, isFirstLane());
}

void KernelEmitter::emitRelease(ReleaseOp op) {
  const Ring &ring = rings.find(op.getRing())->second;
  RingPlace place = getPlace(ring);
  arriveOncePerWarp(place.empty);
  advance(ring, place);
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

void KernelEmitter::initBarriers(RolesOp op) {
  PTXBuilder ptx(builder, loc);
  bool isPersistent = !op.getConsumers().getOps<TilesOp>().empty();
  Value isFirst =
      make<arith::CmpIOp>(arith::CmpIPredicate::eq, scope.thread, i32(0));
  auto init = [&](const Ring &ring) {
    for (int64_t i = 0; i < ring.stages; ++i) {
      int64_t offset = i * kBarrierBytes;
      ptx.initBarrier(getSharedAddress(ring.full + offset), 1);
      ptx.initBarrier(getSharedAddress(ring.empty + offset), op.getWarps());
    }
  };
  if (isPersistent)
    createTileQueue();
  when(isFirst, [&] {
    for (Operation &before : *op->getBlock())
      if (auto ring = dyn_cast<RingOp>(before))
        init(rings.find(ring.getRing())->second);
    if (isPersistent)
      init(tileQueue);
    ptx.fenceBarrierInit();
  });
  barrier();
}

/// All ops: roles have no terminator.
LogicalResult KernelEmitter::emitRole(Region &role) {
  for (Operation &op : role.front())
    if (failed(emitNext(op)))
      return failure();
  return success();
}

LogicalResult KernelEmitter::emitRoles(RolesOp op) {
  int64_t warps = op.getWarps();
  if (warps % kGroupWarps != 0)
    return op.emitOpError("expected whole warpgroups, found ")
           << warps << " warps";
  initBarriers(op);
  ThreadScope all = scope;
  PTXBuilder ptx(builder, loc);
  // The same for all lanes, which branches and descriptors can rely on.
  Value warp = broadcastLane(make<arith::ShRUIOp>(scope.thread, i32(5)));
  Value computes =
      make<arith::CmpIOp>(arith::CmpIPredicate::ult, warp, i32(warps));
  auto roles = scf::IfOp::create(builder, loc, TypeRange(), computes,
                                 /*addThenBlock=*/true, /*addElseBlock=*/true);
  RoleRegisters counts = RoleRegisters::get(warps / kGroupWarps, numRegisters);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(roles.thenBlock());
  if (counts.areMoved())
    ptx.setRegisters(counts.consumer, /*increase=*/true);
  enterScope({all.thread, warps * kWarpSize, namedBarriers::kConsumers, false});
  expressions[getAffineDimExpr(static_cast<unsigned>(ThreadDim::Warp),
                               builder.getContext())] = warp;
  openTurns(op);
  if (failed(emitRole(op.getConsumers())))
    return failure();
  if (hasBulkStores)
    ptx.waitCopiesRead(0);
  scf::YieldOp::create(builder, loc);

  builder.setInsertionPointToEnd(roles.elseBlock());
  if (counts.areMoved())
    ptx.setRegisters(counts.producer, /*increase=*/false);
  enterScope({all.thread, kWarpSize, namedBarriers::kProducer, false});
  // One thread fills; the others of its warpgroup are done.
  Value leads = make<arith::CmpIOp>(arith::CmpIPredicate::eq, all.thread,
                                    i32(warps * kWarpSize));
  LogicalResult result = success();
  when(leads, [&] { result = emitRole(op.getProducer()); });
  scf::YieldOp::create(builder, loc);
  return result;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

SharedMatrix KernelEmitter::getMatrix(Value value) {
  SharedTile tile = getShared(value);
  return {getSharedAddress(tile.offset), tile.place, tile.paddedRows};
}

LogicalResult KernelEmitter::emitDotAsync(DotAsyncOp op) {
  RankedTensorType result = op.getResult().getType().getTile();
  RankedTensorType lhs = getTile(op.getLhs());
  auto layout = dyn_cast_if_present<MmaLayoutAttr>(result.getEncoding());
  if (!layout || layout.getWarps() % kGroupWarps != 0 ||
      result.getDimSize(1) > 256 ||
      (!isShared(lhs) && lhs.getDimSize(1) % 16 != 0))
    return reject(op);
  int64_t warps = layout.getWarps();
  int64_t columns = llvm::alignTo(result.getDimSize(1), 8);
  int64_t inner = llvm::alignTo(lhs.getDimSize(1), 16);
  int64_t tiles = llvm::divideCeil(result.getDimSize(0), 16 * warps);
  int64_t perTile = columns / 2;
  ArrayRef<Value> acc;
  if (op.getAcc())
    acc = getRegisters(op.getAcc());
  // Words of the left operand's columns that are in registers.
  Value head = isShared(lhs) ? op.getHead() : op.getLhs();
  SmallVector<Value> words;
  if (head) {
    ArrayRef<Value> values = getRegisters(head);
    for (size_t i = 0; i + 1 < values.size(); i += 2)
      words.push_back(pack(values[i], values[i + 1]));
  }
  int64_t wordsPerTile = words.size() / tiles;
  PTXBuilder ptx(builder, loc);
  SharedMatrix rhs = getMatrix(op.getRhs());
  Value adds = op.getAdds() ? lookup(op.getAdds()) : Value();
  Value groupRow = mul(getGroup(), i32(kGroupRows));
  SmallVector<Value> started;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    ValueRange part = acc;
    if (!acc.empty())
      part = acc.slice(tile * perTile, perTile);
    PTXBuilder::LeftRows rows;
    rows.head = ArrayRef(words).slice(tile * wordsPerTile, wordsPerTile);
    if (isShared(lhs)) {
      rows.matrix = getMatrix(op.getLhs());
      rows.row = add(groupRow, i32(16 * warps * tile));
    }
    llvm::append_range(
        started, ptx.startProduct(rows, rhs, op.getTransposeRhs(), columns,
                                  inner, lhs.getElementType(), part, adds));
  }
  setRegisters(op.getResult(), std::move(started));
  return success();
}

Value KernelEmitter::getGroup() {
  return make<arith::ShRUIOp>(getThreadDim(ThreadDim::Warp), i32(2));
}

void KernelEmitter::emitRowRange(RowRangeOp op) {
  Value first = lookup(op.getFirst()), end = lookup(op.getEnd());
  if (std::optional<int64_t> groups = op.getGroups()) {
    int64_t share = op.getSize() / *groups;
    first = add(first, mul(getGroup(), i32(share)));
    end = make<arith::MinSIOp>(end, add(first, i32(share)));
  }
  mapScalar(op.getOwnFirst(), first);
  mapScalar(op.getOwnEnd(), end);
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

LogicalResult KernelEmitter::emitTakeTurn(TakeTurnOp op) {
  if (!op->getParentOfType<RolesOp>())
    return reject(op);
  PTXBuilder(builder, loc)
      .syncThreads(add(getGroup(), i32(namedBarriers::kTurn)), kTurnThreads);
  return success();
}

LogicalResult KernelEmitter::emitPassTurn(PassTurnOp op) {
  auto roles = op->getParentOfType<RolesOp>();
  if (!roles)
    return reject(op);
  passTurn(roles.getWarps() / kGroupWarps);
  return success();
}

/// The next warpgroup may start its products.
void KernelEmitter::passTurn(int64_t groups) {
  Value group = getGroup();
  Value isLast =
      make<arith::CmpIOp>(arith::CmpIPredicate::eq, group, i32(groups - 1));
  Value next = select(isLast, i32(0), add(group, i32(1)));
  PTXBuilder(builder, loc)
      .arriveThreads(add(next, i32(namedBarriers::kTurn)), kTurnThreads);
}

/// The first turn is the first warpgroup's.
void KernelEmitter::openTurns(RolesOp op) {
  int64_t groups = op.getWarps() / kGroupWarps;
  bool takesTurns =
      op.getConsumers()
          .walk([](TakeTurnOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (takesTurns)
    when(make<arith::CmpIOp>(arith::CmpIPredicate::eq, getGroup(),
                             i32(groups - 1)),
         [&] { passTurn(groups); });
}

//===----------------------------------------------------------------------===//
// Ends of products
//===----------------------------------------------------------------------===//

void KernelEmitter::emitDotWait(DotWaitOp op) {
  setRegisters(op.getTile(),
               PTXBuilder(builder, loc)
                   .waitProducts(op.getAllow(), getRegisters(op.getPending())));
}

void KernelEmitter::emitAllFinite(AllFiniteOp op) {
  SmallVector<Value> values;
  for (Value tile : op.getTiles()) {
    const TileLayout &layout = getLayout(getTile(tile));
    for (auto [index, value] : llvm::enumerate(getRegisters(tile)))
      if (!layout.isPadding(index))
        values.push_back(select(getInside(layout, index), value, f32(0)));
  }
  Value sum = addUpMarks(values);
  Value mine = make<arith::ExtUIOp>(
      builder.getI32Type(),
      Value(make<arith::CmpFOp>(arith::CmpFPredicate::OEQ, sum, f32(0))));
  std::string text =
      llvm::formatv("{{ .reg .pred mine, all; setp.ne.b32 mine, $1, 0; "
                    "barrier.cta.red.and.pred all, {0}, {1}, mine; "
                    "selp.b32 $0, 1, 0, all; }",
                    scope.barrier, scope.numThreads)
          .str();
  Value all =
      PTXBuilder(builder, loc).assemble(text, builder.getI32Type(), mine)[0];
  mapScalar(op.getResult(),
            make<arith::CmpIOp>(arith::CmpIPredicate::ne, all, i32(0)));
}
