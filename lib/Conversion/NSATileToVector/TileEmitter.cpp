//===- TileEmitter.cpp - Writes a program as loops over vectors -----------===//

#include "TileEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

TileEmitter::TileEmitter(const TilePlacement &placement,
                         const LiveRows &liveRows, Block *entry,
                         ValueRange gridIds, int64_t lanes, int64_t registers)
    : placement(placement), liveRows(liveRows),
      builder(OpBuilder::atBlockEnd(entry)),
      loc(entry->getParentOp()->getLoc()), scratch(entry), gridIds(gridIds),
      lanes(lanes), registers(registers) {}

LogicalResult TileEmitter::emitBlock(Block &block,
                                     llvm::function_ref<void()> atEnd) {
  scratch.enter();
  for (BlockArgument argument : block.getArguments())
    if (isTile(argument.getType()))
      emitForms(argument);
  for (Operation &op : block.without_terminator()) {
    emitPendingBefore(&op);
    loc = op.getLoc();
    if (failed(emit(&op)))
      return failure();
  }
  emitPending();
  loc = block.getTerminator()->getLoc();
  atEnd();
  scratch.leave();
  return success();
}

static bool hasTiles(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), isTile) ||
         llvm::any_of(op->getResultTypes(), isTile);
}

LogicalResult TileEmitter::emit(Operation *op) {
  if (canWait(op) && !isa<GatherOp>(op))
    return defer(op), success();
  LogicalResult done =
      llvm::TypeSwitch<Operation *, LogicalResult>(op)
          .Case([&](GatherOp gather) { return emitGather(gather); })
          .Case([&](LookupOp lookup) { return emitLookup(lookup); })
          .Case([&](ProgramIdOp id) {
            values.map(id.getId(), gridIds[id.getAxis()]);
            return success();
          })
          .Case([&](RowRangeOp range) {
            // A program is one thread, which has all rows.
            values.map(range.getOwnFirst(), lookup(range.getFirst()));
            values.map(range.getOwnEnd(), lookup(range.getEnd()));
            return success();
          })
          .Case([&](scf::ForOp loop) { return emitFor(loop); })
          .Case([&](scf::IfOp ifOp) { return emitIf(ifOp); })
          // Accesses compute their addresses.
          .Case([&](AtOp) { return success(); })
          .Case([&](LoadOp load) { return emitLoad(load); })
          .Case([&](StoreOp store) { return emitStore(store); })
          .Case(
              [&](AccumulateOp sum) { return emitAccumulate(sum), success(); })
          .Case([&](DotOp dot) { return emitDot(dot), success(); })
          .Case([&](CircularBufferOp buffer) {
            return emitCircularBuffer(buffer), success();
          })
          .Case([&](ConsumerStoreOp store) {
            return emitConsumerStore(store), success();
          })
          .Case([&](ConsumerWaitOp wait) {
            return emitConsumerWait(wait), success();
          })
          .Case([&](ConsumerReleaseOp release) {
            return emitConsumerRelease(release), success();
          })
          .Case([&](ReduceOp reduce) { return emitReduce(reduce), success(); })
          .Case([&](ExchangeOp exchange) {
            return emitExchange(exchange), success();
          })
          .Case([&](ShiftOp shift) { return emitShift(shift), success(); })
          .Case([&](SortOp sort) { return emitSort(sort), success(); })
          .Case([&](TopOp top) { return emitTop(top), success(); })
          .Case([&](memref::AllocaOp memory) {
            values.map(memory.getResult(), allocateScratch(memory.getType()));
            return success();
          })
          .Case([&](ScatterOp scatter) {
            return emitScatter(scatter), success();
          })
          .Case([&](EnumerateOp enumerate) {
            return emitEnumerate(enumerate), success();
          })
          .Case([&](ScanOp scan) { return emitScan(scan), success(); })
          .Case([&](CandidatesOp lists) {
            return emitCandidates(lists), success();
          })
          .Case([&](OfferOp offer) { return emitOffer(offer), success(); })
          .Case([&](ChooseOp choose) { return emitChoose(choose), success(); })
          .Case([&](ChosenOp chosen) { return emitChosen(chosen), success(); })
          .Case([&](SoftmaxUpdateOp update) -> LogicalResult {
            if (update.getRows())
              return reject(update);
            return emitSoftmaxUpdate(update), success();
          })
          .Case([&](SoftmaxFinalizeOp finalize) {
            return emitSoftmaxFinalize(finalize), success();
          })
          .Case<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
              [&](Operation *reshape) {
                return emitReshape(reshape), success();
              })
          .Case([&](tensor::ExtractSliceOp slice) { return emitSlice(slice); })
          .Case(
              [&](tensor::InsertSliceOp insert) { return emitInsert(insert); })
          .Case([&](tensor::ExtractOp extract) {
            values.map(extract.getResult(),
                       VectorReader(*this, lookupAll(extract.getIndices()), 1)
                           .read(extract.getTensor()));
            return success();
          })
          .Default([&](Operation *other) { return emitScalarOp(other); });
  if (failed(done))
    return failure();
  for (Value result : op->getResults())
    if (isTile(result.getType()))
      emitForms(result);
  return success();
}

/// Writes other ops. Ops on scalars and buffers stay as they are; ops on tiles
/// without an emitter are computed by their readers.
LogicalResult TileEmitter::emitScalarOp(Operation *op) {
  if (!hasTiles(op)) {
    if (op->getNumRegions() != 0 || isa<NSATileDialect>(op->getDialect()))
      return reject(op);
    builder.clone(*op, values);
    return success();
  }
  if (op->getNumResults() != 1 ||
      getTileKind(op->getResult(0)) == TileKind::Buffer)
    return reject(op);
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    if (!isa<SplatElementsAttr>(constant.getValue()))
      return op->emitOpError("with different elements isn't supported yet");
  return success();
}

LogicalResult TileEmitter::reject(Operation *op) {
  return op->emitOpError("on tiles isn't supported by the CPU target yet");
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

Value TileEmitter::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

void TileEmitter::forEach(Value lower, Value upper, int64_t step,
                          IndexBody body) {
  auto loop = scf::ForOp::create(builder, loc, lower, upper, constant(step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  body(loop.getInductionVar());
}

void TileEmitter::forEach(int64_t size, IndexBody body) {
  if (size == 1)
    return body(constant(0));
  forEach(constant(0), constant(size), 1, body);
}

void TileEmitter::forEachPoint(ValueRange lower, ValueRange upper,
                               PointBody body) {
  SmallVector<Value> point;
  auto visit = [&](auto &&self, size_t dim) -> void {
    if (dim == lower.size())
      return body(point);
    forEach(lower[dim], upper[dim], 1, [&](Value index) {
      point.push_back(index);
      self(self, dim + 1);
      point.pop_back();
    });
  };
  visit(visit, 0);
}

SmallVector<std::pair<int64_t, int64_t>>
TileEmitter::splitRest(int64_t size) const {
  SmallVector<std::pair<int64_t, int64_t>> parts;
  int64_t column = size / lanes * lanes;
  for (int64_t width = lanes / 2; width > 0; width /= 2)
    if (size & width) {
      parts.push_back({column, width});
      column += width;
    }
  return parts;
}

void TileEmitter::forEachVectorOfRow(
    int64_t size, llvm::function_ref<void(Value, int64_t)> body,
    int64_t unrolled) {
  int64_t whole = size / lanes;
  if (whole <= unrolled) {
    for (int64_t i = 0; i < whole; ++i)
      body(constant(i * lanes), lanes);
  } else {
    forEach(constant(0), constant(whole * lanes), lanes,
            [&](Value column) { body(column, lanes); });
  }
  for (auto [column, width] : splitRest(size))
    body(constant(column), width);
}

Value TileEmitter::getRowEnd(ValueRange tiles) {
  auto bound = liveRows.get(tiles);
  if (!bound)
    return {};
  // Values must have been written before in this region, or in one around it.
  auto find = [&](Value scalar) {
    bool isAround =
        scalar.getParentRegion()->isAncestor(tiles.front().getParentRegion());
    return isAround ? values.lookupOrNull(scalar) : Value();
  };
  Value offset = find(bound->offset), limit = find(bound->limit);
  int64_t rows = cast<RankedTensorType>(tiles.front().getType()).getDimSize(0);
  int64_t unit = getRowUnit(rows);
  Value start = bound->start ? find(bound->start) : offset;
  if (!offset || !limit || !start || rows <= unit)
    return {};
  Value live = arith::SubIOp::create(builder, loc, limit, offset);
  if (bound->scale != 1)
    live = arith::MulIOp::create(builder, loc, live, constant(bound->scale));
  if (bound->start)
    live = arith::SubIOp::create(builder, loc, live, start);
  live = arith::MaxSIOp::create(builder, loc, live, constant(0));
  live = arith::CeilDivUIOp::create(builder, loc, live, constant(unit));
  live = arith::MulIOp::create(builder, loc, live, constant(unit));
  return arith::MinUIOp::create(builder, loc, live, constant(rows));
}

void TileEmitter::forEachVector(ArrayRef<int64_t> shape, VectorBody body,
                                int64_t unrolled, Value rowEnd) {
  if (shape.empty())
    return body({}, 1);
  SmallVector<Value> point;
  auto visit = [&](auto &&self, ArrayRef<int64_t> rest) -> void {
    auto visitRest = [&](Value index) {
      point.push_back(index);
      self(self, rest.drop_front());
      point.pop_back();
    };
    if (rest.size() > 1 && rowEnd && point.empty())
      return forEach(constant(0), rowEnd, 1, visitRest);
    if (rest.size() > 1)
      return forEach(rest.front(), visitRest);
    forEachVectorOfRow(
        rest.front(),
        [&](Value column, int64_t width) {
          point.push_back(column);
          body(point, width);
          point.pop_back();
        },
        unrolled);
  };
  visit(visit, shape);
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

static Type vectorOf(Type elementType, int64_t width) {
  return width == 1 ? elementType : VectorType::get({width}, elementType);
}

Value TileEmitter::loadVector(Value memory, ValueRange indices, int64_t width) {
  Type elementType = cast<MemRefType>(memory.getType()).getElementType();
  if (width == 1)
    return memref::LoadOp::create(builder, loc, memory, indices);
  return vector::LoadOp::create(
      builder, loc, VectorType::get({width}, elementType), memory, indices);
}

void TileEmitter::storeVector(Value vector, Value memory, ValueRange indices) {
  // Vectors of i1 are packed bits; memory has a byte for each.
  if (getElementTypeOrSelf(vector.getType()).isInteger(1)) {
    Type bytes =
        isa<VectorType>(vector.getType())
            ? cast<VectorType>(vector.getType()).clone(builder.getI8Type())
            : Type(builder.getI8Type());
    vector = arith::ExtUIOp::create(builder, loc, bytes, vector);
  }
  if (isa<VectorType>(vector.getType()))
    vector::StoreOp::create(builder, loc, vector, memory, indices);
  else
    memref::StoreOp::create(builder, loc, vector, memory, indices);
}

Value TileEmitter::splat(Value scalar, int64_t width) {
  if (width == 1)
    return scalar;
  return vector::BroadcastOp::create(
      builder, loc, VectorType::get({width}, scalar.getType()), scalar);
}

Value TileEmitter::splatConstant(TypedAttr scalar, int64_t width) {
  if (width != 1)
    scalar = DenseElementsAttr::get(VectorType::get({width}, scalar.getType()),
                                    cast<Attribute>(scalar));
  return arith::ConstantOp::create(builder, loc, scalar);
}

Value VectorReader::read(Value tile) {
  if (Value value = known.lookup(tile))
    return value;
  Value value;
  if (!isTile(tile.getType())) {
    value = emitter.lookup(tile);
  } else if (Value memory = emitter.getMemory(tile)) {
    value = emitter.loadVector(memory, indices, width);
    Type elementType = cast<RankedTensorType>(tile.getType()).getElementType();
    if (elementType.isInteger(1) &&
        !getElementTypeOrSelf(value.getType()).isInteger(1))
      value = arith::TruncIOp::create(emitter.getBuilder(), emitter.getLoc(),
                                      vectorOf(elementType, width), value);
  } else {
    value = compute(tile);
  }
  return known[tile] = value;
}

Value VectorReader::readF32(Value tile) {
  Value value = read(tile);
  OpBuilder &builder = emitter.getBuilder();
  if (getElementTypeOrSelf(value.getType()).isF32())
    return value;
  return arith::ExtFOp::create(builder, emitter.getLoc(),
                               vectorOf(builder.getF32Type(), width), value);
}

Value VectorReader::compute(Value tile) {
  OpBuilder &builder = emitter.getBuilder();
  Location loc = emitter.getLoc();
  return llvm::TypeSwitch<Operation *, Value>(tile.getDefiningOp())
      .Case([&](arith::ConstantOp op) {
        auto splat = cast<SplatElementsAttr>(op.getValue());
        return emitter.splatConstant(
            cast<TypedAttr>(splat.getSplatValue<Attribute>()), width);
      })
      .Case([&](tensor::SplatOp op) {
        return emitter.splat(emitter.lookup(op.getInput()), width);
      })
      .Case([&](IotaOp op) -> Value {
        Value first = arith::AddIOp::create(
            builder, loc, emitter.lookup(op.getStart()), indices.back());
        if (width == 1)
          return first;
        auto type = VectorType::get({width}, builder.getIndexType());
        return arith::AddIOp::create(
            builder, loc, emitter.splat(first, width),
            vector::StepOp::create(builder, loc, type));
      })
      .Case([&](BroadcastOp op) { return computeBroadcast(op); })
      .Default([&](Operation *op) { return computeElementwise(op); });
}

Value VectorReader::computeElementwise(Operation *op) {
  OperationState state(emitter.getLoc(), op->getName());
  for (Value operand : op->getOperands())
    state.addOperands(read(operand));
  Type elementType = getElementTypeOrSelf(op->getResult(0).getType());
  state.addTypes(vectorOf(elementType, width));
  state.addAttributes(op->getAttrs());
  return emitter.getBuilder().create(state)->getResult(0);
}

Value VectorReader::computeBroadcast(BroadcastOp op) {
  SmallVector<Value> kept;
  int64_t last = indices.size() - 1;
  for (auto [dim, index] : llvm::enumerate(indices))
    if (!llvm::is_contained(op.getDims(), static_cast<int64_t>(dim)))
      kept.push_back(index);
  bool alongVector = llvm::is_contained(op.getDims(), last);
  VectorReader source(emitter, kept, alongVector ? 1 : width);
  Value value = source.read(op.getSource());
  return alongVector ? emitter.splat(value, width) : value;
}
