//===- KernelEmitter.cpp - Writes a program as code of one thread ---------===//

#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

KernelEmitter::KernelEmitter(Block *entry, ProgramOp program)
    : builder(OpBuilder::atBlockEnd(entry)), loc(program.getLoc()) {
  bool multipliesIn32Bits = false;
  sharedBase = make<LLVM::AddressOfOp>(
      LLVM::LLVMPointerType::get(builder.getContext(), 3), "nsacc_shared");
  program.walk([&](Operation *op) {
    hasRoles |= isa<RolesOp>(op);
    if (isa<DotOp, DotAsyncOp>(op))
      (getTile(op->getOperand(0)).getElementType().isF32()
           ? multipliesIn32Bits
           : multipliesIn16Bits) = true;
  });
  multipliesIn16Bits &= !multipliesIn32Bits;
}

void KernelEmitter::enterScope(const ThreadScope &next) {
  scope = next;
  expressions.clear();
  prologueEnd = i32(0).getDefiningOp();
}

LogicalResult KernelEmitter::emitNext(Operation &op) {
  loc = op.getLoc();
  if (failed(emit(&op)))
    return failure();
  releaseDead(&op);
  return success();
}

LogicalResult KernelEmitter::emitBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(emitNext(op)))
      return failure();
  loc = block.getTerminator()->getLoc();
  return success();
}

static bool hasTiles(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), isTile) ||
         llvm::any_of(op->getResultTypes(), isTile);
}

LogicalResult KernelEmitter::emit(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](ProgramIdOp id) {
        static constexpr llvm::StringLiteral names[] = {
            "llvm.nvvm.read.ptx.sreg.ctaid.x",
            "llvm.nvvm.read.ptx.sreg.ctaid.y",
            "llvm.nvvm.read.ptx.sreg.ctaid.z"};
        Value place = call(names[id.getAxis()], builder.getI32Type(), {});
        // Under a causal mask the last query tiles have the most to do: they
        // begin first.
        if (id.getAxis() == 0) {
          Value count = call("llvm.nvvm.read.ptx.sreg.nctaid.x",
                             builder.getI32Type(), {});
          place = make<arith::SubIOp>(Value(make<arith::SubIOp>(count, i32(1))),
                                      place);
        }
        mapScalar(id.getId(), place);
        return success();
      })
      .Case([&](RowRangeOp range) { return emitRowRange(range), success(); })
      .Case([&](scf::ForOp loop) { return emitFor(loop); })
      .Case([&](scf::IfOp ifOp) { return emitIf(ifOp); })
      .Case([&](LoadOp load) {
        return isShared(getTile(load.getTile())) ? emitSharedLoad(load)
                                                 : emitLoad(load);
      })
      .Case([&](StoreOp store) { return emitStore(store); })
      .Case([&](GatherOp gather) { return emitGather(gather); })
      .Case([&](DotOp dot) { return emitDot(dot); })
      .Case([&](RingOp ring) {
        hasRoles ? emitRing(ring) : emitCopyRing(ring);
        return success();
      })
      .Case([&](RolesOp roles) { return emitRoles(roles); })
      .Case([&](TilesOp tiles) { return emitTiles(tiles); })
      .Case([&](RepairOp repair) { return emitRepair(repair); })
      .Case([&](RaiseOp raise) { return emitRaise(raise), success(); })
      .Case([&](FillOp fill) {
        return hasRoles ? (emitFill(fill), success()) : emitCopyFill(fill);
      })
      .Case([&](AcquireOp acquire) {
        return hasRoles ? (emitAcquire(acquire), success())
                        : emitCopyAcquire(acquire);
      })
      .Case([&](ReleaseOp release) {
        hasRoles ? emitRelease(release) : emitCopyRelease(release);
        return success();
      })
      .Case([&](FragmentOp fragment) { return emitFragment(fragment); })
      .Case([&](DotAsyncOp dot) { return emitDotAsync(dot); })
      .Case([&](DotWaitOp wait) { return emitDotWait(wait), success(); })
      .Case([&](TakeTurnOp turn) { return emitTakeTurn(turn); })
      .Case([&](PassTurnOp turn) { return emitPassTurn(turn); })
      .Case([&](AllFiniteOp all) { return emitAllFinite(all), success(); })
      .Case([&](ReduceOp reduce) { return emitReduce(reduce); })
      .Case([&](RequireOp require) { return emitRequire(require); })
      .Case([&](ExchangeOp exchange) {
        return emitExchange(exchange), success();
      })
      .Case([&](SoftmaxUpdateOp update) { return emitSoftmaxUpdate(update); })
      .Case([&](SoftmaxFinalizeOp finalize) {
        return emitSoftmaxFinalize(finalize);
      })
      .Case([&](ConvertLayoutOp convert) { return emitConvert(convert); })
      .Case([&](ReshapeOp reshape) { return emitReshape(reshape), success(); })
      .Case([&](IotaOp iota) { return emitIota(iota), success(); })
      .Case([&](BroadcastOp broadcast) {
        return emitBroadcast(broadcast), success();
      })
      .Case([&](tensor::EmptyOp empty) { return emitEmpty(empty), success(); })
      .Case([&](tensor::ExtractOp extract) { return emitExtract(extract); })
      .Case(
          [&](tensor::ExtractSliceOp slice) { return emitExtractSlice(slice); })
      .Case(
          [&](tensor::InsertSliceOp insert) { return emitInsertSlice(insert); })
      .Case([&](memref::LoadOp load) { return emitScalarLoad(load); })
      .Case([&](memref::StoreOp store) { return emitScalarStore(store); })
      .Case([&](memref::DimOp dim) {
        std::optional<int64_t> index = dim.getConstantIndex();
        if (!index)
          return reject(op);
        mapScalar(dim.getResult(), getBuffer(dim.getSource()).sizes[*index]);
        return success();
      })
      .Default([&](Operation *other) {
        if (other->getNumRegions() != 0 ||
            isa<NSATileDialect>(other->getDialect()))
          return reject(other);
        if (isa<arith::ConstantOp, tensor::SplatOp>(other))
          return emitConstant(other);
        return hasTiles(other) ? emitElementwise(other) : emitScalar(other);
      });
}

LogicalResult KernelEmitter::reject(Operation *op) {
  return op->emitOpError("isn't supported by GPU targets yet");
}

/// Gives places back that no later op of the block reads. Uses in nested
/// regions count as those of the op of this block that they stand in.
void KernelEmitter::releaseDead(Operation *op) {
  Block *block = op->getBlock();
  SmallVector<Value> dead;
  for (auto &[tile, place] : sharedTiles) {
    if (tile.getParentBlock() != block)
      continue;
    bool isUsed = false;
    SmallVector<Value> aliases = {tile};
    while (!aliases.empty() && !isUsed)
      for (Operation *user : aliases.pop_back_val().getUsers()) {
        Operation *ancestor = block->findAncestorOpInBlock(*user);
        isUsed |= !ancestor || op->isBeforeInBlock(ancestor);
        if (auto reshape = dyn_cast<ReshapeOp>(user))
          aliases.push_back(reshape.getResult());
      }
    if (!isUsed)
      dead.push_back(tile);
  }
  for (Value tile : dead) {
    // A reshape's place is its source's.
    if (!tile.getDefiningOp<ReshapeOp>())
      release(getShared(tile));
    sharedTiles.erase(tile);
  }
  releaseDeadRings(op);
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

Value KernelEmitter::i32(int64_t value) {
  return make<arith::ConstantOp>(builder.getI32IntegerAttr(value));
}

Value KernelEmitter::i64(int64_t value) {
  return make<arith::ConstantOp>(builder.getI64IntegerAttr(value));
}

Value KernelEmitter::f32(float value) {
  return make<arith::ConstantOp>(builder.getF32FloatAttr(value));
}

Value KernelEmitter::zero(Type type) {
  return make<arith::ConstantOp>(builder.getZeroAttr(type));
}

Value KernelEmitter::add(Value lhs, Value rhs) {
  if (isa<FloatType>(lhs.getType()))
    return make<arith::AddFOp>(lhs, rhs);
  return make<arith::AddIOp>(lhs, rhs);
}

Value KernelEmitter::mul(Value lhs, Value rhs) {
  if (isa<FloatType>(lhs.getType()))
    return make<arith::MulFOp>(lhs, rhs);
  return make<arith::MulIOp>(lhs, rhs);
}

Value KernelEmitter::fma(Value a, Value b, Value c) {
  return make<LLVM::FMAOp>(a, b, c);
}

Value KernelEmitter::both(Value lhs, Value rhs) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  return make<arith::AndIOp>(lhs, rhs);
}

Value KernelEmitter::select(Value condition, Value yes, Value no) {
  return condition ? make<arith::SelectOp>(condition, yes, no) : yes;
}

Value KernelEmitter::extend(Value index) {
  return make<arith::ExtSIOp>(builder.getI64Type(), index);
}

Value KernelEmitter::materialize(const IndexSum &sum) {
  if (!sum.base)
    return i32(sum.offset);
  if (sum.offset == 0)
    return sum.base;
  Value value = add(sum.base, i32(sum.offset));
  sums[value] = sum;
  return value;
}

Value KernelEmitter::call(StringRef intrinsic, Type result,
                          ValueRange operands) {
  auto name = builder.getStringAttr(intrinsic);
  if (!result)
    return LLVM::CallIntrinsicOp::create(builder, loc, name, operands), Value();
  return LLVM::CallIntrinsicOp::create(builder, loc, result, name, operands)
      .getResult(0);
}

Value KernelEmitter::shuffleXor(Value value, int64_t mask) {
  Type type = value.getType();
  if (type.isInteger(64)) {
    Type half = builder.getI32Type();
    Value low = make<arith::TruncIOp>(half, value);
    Value high =
        make<arith::TruncIOp>(half, make<arith::ShRUIOp>(value, i64(32)));
    low = make<arith::ExtUIOp>(type, shuffleXor(low, mask));
    high = make<arith::ExtUIOp>(type, shuffleXor(high, mask));
    return make<arith::OrIOp>(make<arith::ShLIOp>(high, i64(32)), low);
  }
  StringRef name = type.isF32() ? "llvm.nvvm.shfl.sync.bfly.f32"
                                : "llvm.nvvm.shfl.sync.bfly.i32";
  return call(name, type, {i32(-1), value, i32(mask), i32(31)});
}

Value KernelEmitter::element(Value aggregate, int64_t index) {
  if (isa<VectorType>(aggregate.getType()))
    return make<LLVM::ExtractElementOp>(aggregate, i32(index));
  return make<LLVM::ExtractValueOp>(aggregate, index);
}

SmallVector<Value>
KernelEmitter::branch(Value condition, TypeRange types,
                      llvm::function_ref<SmallVector<Value>()> body,
                      llvm::function_ref<SmallVector<Value>()> other) {
  if (!condition)
    return body();
  auto ifOp = scf::IfOp::create(builder, loc, types, condition,
                                /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(ifOp.thenBlock());
  scf::YieldOp::create(builder, loc, body());
  builder.setInsertionPointToEnd(ifOp.elseBlock());
  scf::YieldOp::create(builder, loc, other());
  return ifOp.getResults();
}

void KernelEmitter::when(Value condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto ifOp = scf::IfOp::create(builder, loc, TypeRange(), condition,
                                /*addThenBlock=*/true, /*addElseBlock=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(ifOp.thenBlock());
  body();
  scf::YieldOp::create(builder, loc);
}

void KernelEmitter::forEach(int64_t count, int64_t unrolled,
                            llvm::function_ref<void(Value)> body) {
  if (count <= unrolled) {
    for (int64_t i = 0; i < count; ++i)
      body(i32(i));
    return;
  }
  auto loop = scf::ForOp::create(builder, loc, i32(0), i32(count), i32(1));
  // The assembler would unroll what was left as a loop.
  auto off = LLVM::LoopUnrollAttr::get(
      builder.getContext(), builder.getBoolAttr(true), {}, {}, {}, {}, {}, {});
  loop->setAttr("loop_annotation",
                LLVM::LoopAnnotationAttr::get(builder.getContext(), {}, {}, {},
                                              off, {}, {}, {}, {}, {}, {}, {},
                                              {}, {}, {}, {}));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  body(loop.getInductionVar());
}

Type KernelEmitter::getRegisterType(Type elementType) {
  if (elementType.isIndex())
    return IntegerType::get(elementType.getContext(), 32);
  return elementType;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

Value KernelEmitter::getThreadDim(ThreadDim dim) {
  auto position = static_cast<unsigned>(dim);
  return materialize(
      getCoordinate(getAffineDimExpr(position, builder.getContext())));
}

/// The first lane's value, which ptxas knows to be the same for the warp.
Value KernelEmitter::broadcastLane(Value value) {
  return call("llvm.nvvm.shfl.sync.idx.i32", builder.getI32Type(),
              {i32(-1), value, i32(0), i32(31)});
}

/// A condition that all lanes have alike, which ptxas knows of a vote.
Value KernelEmitter::holdsForLanes(Value condition) {
  return call("llvm.nvvm.vote.any.sync", builder.getI1Type(),
              {i32(-1), condition});
}

Value KernelEmitter::getLane() {
  AffineExpr thread = getAffineDimExpr(static_cast<unsigned>(ThreadDim::Thread),
                                       builder.getContext());
  return materialize(getCoordinate(thread % 32));
}

IndexSum KernelEmitter::getCoordinate(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return {Value(), constant.getValue()};
  if (auto sum = dyn_cast<AffineBinaryOpExpr>(expr))
    if (sum.getKind() == AffineExprKind::Add)
      if (auto constant = dyn_cast<AffineConstantExpr>(sum.getRHS())) {
        IndexSum result = getCoordinate(sum.getLHS());
        result.offset += constant.getValue();
        return result;
      }
  if (Value known = expressions.lookup(expr))
    return {known, 0};
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(prologueEnd);
  Value value;
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    Value thread = scope.thread;
    switch (static_cast<ThreadDim>(dim.getPosition())) {
    case ThreadDim::Warp:
      value = make<arith::ShRUIOp>(thread, i32(5));
      break;
    case ThreadDim::Group:
      value = make<arith::ShRUIOp>(Value(make<arith::AndIOp>(thread, i32(31))),
                                   i32(2));
      break;
    case ThreadDim::InGroup:
      value = make<arith::AndIOp>(thread, i32(3));
      break;
    case ThreadDim::Thread:
      value = thread;
      break;
    }
  } else {
    auto binary = cast<AffineBinaryOpExpr>(expr);
    Value lhs = materialize(getCoordinate(binary.getLHS()));
    Value rhs = materialize(getCoordinate(binary.getRHS()));
    switch (expr.getKind()) {
    case AffineExprKind::Add:
      value = add(lhs, rhs);
      break;
    case AffineExprKind::Mul:
      value = mul(lhs, rhs);
      break;
    case AffineExprKind::FloorDiv:
      value = make<arith::DivUIOp>(lhs, rhs);
      break;
    default:
      value = make<arith::RemUIOp>(lhs, rhs);
      break;
    }
  }
  expressions[expr] = value;
  return {value, 0};
}

Value KernelEmitter::getInside(const TileLayout &layout, int64_t index) {
  Value inside;
  for (const TileLayout::Condition &condition : layout.getConditions(index)) {
    IndexSum sum = getCoordinate(condition.expr);
    Value bound = i32(condition.bound - sum.offset);
    Value base = sum.base ? sum.base : i32(0);
    inside = both(inside,
                  make<arith::CmpIOp>(arith::CmpIPredicate::slt, base, bound));
  }
  return inside;
}

Value KernelEmitter::getOwned(const TileLayout &layout, int64_t index) {
  Value owned = getInside(layout, index);
  for (ThreadDim dim : layout.getCopies())
    owned = both(owned, make<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                            getThreadDim(dim), i32(0)));
  return owned;
}

Value KernelEmitter::readThread() {
  return PTXBuilder(builder, loc)
      .assemble("mov.u32 $0, %tid.x;", builder.getI32Type(), {})[0];
}

void KernelEmitter::forgetThread() {
  ThreadScope next = scope;
  next.thread = readThread();
  enterScope(next);
}

void KernelEmitter::barrier() {
  if (hasCopies)
    call("llvm.nvvm.cp.async.wait.all", {}, {});
  hasCopies = false;
  for (auto &[value, ring] : copyRings)
    ring.mustMeet = false;
  shared.getPending().clear();
  globals.pending.clear();
  if (scope.isBlock) {
    call("llvm.nvvm.barrier.cta.sync.aligned.all", {}, {i32(scope.barrier)});
    return;
  }
  call("llvm.nvvm.barrier.cta.sync.aligned.count", {},
       {i32(scope.barrier), i32(scope.numThreads)});
}

void KernelEmitter::syncWarp() {
  call("llvm.nvvm.bar.warp.sync", {}, {i32(-1)});
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

const TileLayout &KernelEmitter::getLayout(RankedTensorType tile) {
  const void *key = tile.getAsOpaquePointer();
  auto place = layouts.find(key);
  if (place == layouts.end())
    place = layouts.try_emplace(key, *TileLayout::get(tile)).first;
  return place->second;
}

bool KernelEmitter::isShared(RankedTensorType tile) {
  Attribute layout = tile.getEncoding();
  if (auto reshape = dyn_cast_if_present<ReshapeLayoutAttr>(layout))
    layout = reshape.getOf();
  return isa_and_present<SharedLayoutAttr>(layout);
}
