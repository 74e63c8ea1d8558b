//===- EmitLists.cpp - Elements by keys, and sums of neighbours -----------===//

#include "TileEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

/// Visits the elements of a tile one by one, in order. Calls `body` where the
/// mask, if there is one, is true.
void TileEmitter::forEachElement(
    ArrayRef<int64_t> shape, Value mask,
    llvm::function_ref<void(VectorReader &, ValueRange)> body) {
  SmallVector<Value> first(shape.size(), constant(0)), end;
  for (int64_t size : shape)
    end.push_back(constant(size));
  forEachPoint(first, end, [&](ValueRange point) {
    VectorReader reader(*this, point, /*width=*/1);
    if (!mask)
      return body(reader, point);
    auto branch = scf::IfOp::create(builder, loc, reader.read(mask),
                                    /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(branch.thenYield());
    body(reader, point);
  });
}

void TileEmitter::emitScatter(ScatterOp op) {
  Value buffer = lookup(op.getBuffer());
  auto combine = [&](Value value, ValueRange indices) -> Value {
    if (op.getKind() == Combine::Set)
      return value;
    Value old = memref::LoadOp::create(builder, loc, buffer, indices);
    if (op.getKind() == Combine::Add)
      return arith::AddIOp::create(builder, loc, old, value);
    return arith::OrIOp::create(builder, loc, old, value);
  };
  auto type = cast<RankedTensorType>(op.getValues().getType());
  forEachElement(
      type.getShape(), op.getMask(), [&](VectorReader &reader, ValueRange) {
        auto indices = llvm::map_to_vector(
            op.getIndices(), [&](Value tile) { return reader.read(tile); });
        Value value = combine(reader.read(op.getValues()), indices);
        memref::StoreOp::create(builder, loc, value, buffer, indices);
      });
}

void TileEmitter::emitEnumerate(EnumerateOp op) {
  Value counters = lookup(op.getCounters());
  Value numbers = allocateResult(op.getNumbers());
  auto type = cast<RankedTensorType>(op.getNumbers().getType());
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, /*width=*/32);
  Value one = arith::ConstantIntOp::create(builder, loc, 1, /*width=*/32);
  if (op.getMask())
    forEachVector(type.getShape(), [&](ValueRange point, int64_t width) {
      storeVector(splat(zero, width), numbers, point);
    });
  forEachElement(
      type.getShape(), op.getMask(),
      [&](VectorReader &reader, ValueRange point) {
        Value key = reader.read(op.getKeys());
        Value number = memref::LoadOp::create(builder, loc, counters, key);
        memref::StoreOp::create(builder, loc, number, numbers, point);
        Value next = arith::AddIOp::create(builder, loc, number, one);
        memref::StoreOp::create(builder, loc, next, counters, key);
      });
}

void TileEmitter::emitScan(ScanOp op) {
  Value before = allocateResult(op.getBefore());
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, /*width=*/32);
  int64_t size = cast<RankedTensorType>(op.getBefore().getType()).getDimSize(0);
  auto loop = scf::ForOp::create(builder, loc, constant(0), constant(size),
                                 constant(1), zero);
  values.map(op.getSum(), loop.getResult(0));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value index = loop.getInductionVar(), sum = loop.getRegionIterArg(0);
  Value element = VectorReader(*this, index, /*width=*/1).read(op.getSource());
  memref::StoreOp::create(builder, loc, sum, before, index);
  Value next = arith::AddIOp::create(builder, loc, sum, element);
  scf::YieldOp::create(builder, loc, next);
}
