//===- EmitReduce.cpp - Sums and maxima along a dimension -----------------===//

#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include <limits>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

Value KernelEmitter::combine(ReduceKind kind, Value lhs, Value rhs,
                             bool ignoresNaN) {
  if (kind == ReduceKind::Sum)
    return make<arith::AddFOp>(lhs, rhs);
  // The hardware has both; upstream writes arith's as comparisons.
  if (ignoresNaN)
    return make<LLVM::MaxNumOp>(lhs, rhs);
  return make<LLVM::MaximumOp>(lhs, rhs);
}

static float getNeutral(ReduceKind kind) {
  return kind == ReduceKind::Sum ? 0.0f
                                 : -std::numeric_limits<float>::infinity();
}

Value KernelEmitter::combineAll(ReduceKind kind, ArrayRef<Value> values,
                                bool ignoresNaN) {
  if (values.empty())
    return f32(getNeutral(kind));
  constexpr size_t numChains = 4;
  SmallVector<Value, numChains> chains(values.take_front(numChains));
  for (size_t i = numChains; i < values.size(); ++i)
    chains[i % numChains] =
        combine(kind, chains[i % numChains], values[i], ignoresNaN);
  while (chains.size() > 1) {
    Value last = chains.pop_back_val();
    size_t other = chains.size() == 1 ? 0 : chains.size() - 2;
    chains[other] = combine(kind, chains[other], last, ignoresNaN);
  }
  return chains.front();
}

Value KernelEmitter::addUpMarks(ArrayRef<Value> values) {
  SmallVector<Value> sums(4, f32(0));
  for (auto [index, value] : llvm::enumerate(values)) {
    Value &sum = sums[index % sums.size()];
    sum = fma(value, f32(0), sum);
  }
  return combineAll(ReduceKind::Sum, sums);
}

Value KernelEmitter::combineRow(ReduceKind kind, Value value, bool ignoresNaN) {
  for (int64_t mask : {1, 2})
    value = combine(kind, value, shuffleXor(value, mask), ignoresNaN);
  return value;
}

/// The x of a sum of 0 · x, which is 0 for finite numbers and NaN for others.
/// Null for other sums.
static Value getMarked(ReduceOp op) {
  auto product = op.getSource().getDefiningOp<arith::MulFOp>();
  bool isMark = product && op.getKind() == ReduceKind::Sum &&
                matchPattern(product.getRhs(), m_AnyZeroFloat());
  return isMark ? product.getLhs() : Value();
}

/// Rows of a matrix of tensor cores: registers first, then four lanes.
static void reduceRows(KernelEmitter &emitter, ReduceOp op) {
  const TileLayout &layout = emitter.getLayout(getTile(op.getSource()));
  const TileLayout &rows = emitter.getLayout(getTile(op.getResult()));
  Value marked = getMarked(op);
  ArrayRef<Value> values =
      emitter.getRegisters(marked ? marked : Value(op.getSource()));
  Value neutral = emitter.f32(getNeutral(op.getKind()));
  SmallVector<Value> results;
  for (int64_t row = 0; row < rows.getNumRegisters(); ++row) {
    SmallVector<Value> parts;
    for (int64_t index = 0; index < layout.getNumRegisters(); ++index)
      if (layout.getCoordinates(index)[0] == rows.getCoordinates(row)[0] &&
          !layout.isPadding(index))
        parts.push_back(emitter.select(emitter.getInside(layout, index),
                                       values[index], neutral));
    Value sum = marked ? emitter.addUpMarks(parts)
                       : emitter.combineAll(op.getKind(), parts);
    results.push_back(emitter.combineRow(op.getKind(), sum));
  }
  emitter.setRegisters(op.getResult(), std::move(results));
}

LogicalResult KernelEmitter::emitReduce(ReduceOp op) {
  RankedTensorType source = getTile(op.getSource());
  RankedTensorType result = getTile(op.getResult());
  int64_t dim = op.getDim();
  if (isa<PartialLayoutAttr>(source.getEncoding()))
    return reject(op);
  if (isa<MmaLayoutAttr>(source.getEncoding()) && dim == 1 &&
      TileLayout::getSlice(source.getEncoding(), 1) == result.getEncoding()) {
    reduceRows(*this, op);
    return success();
  }
  // Through shared memory, in the order of the elements.
  bool isInPlace = isShared(source);
  SharedTile tile =
      isInPlace ? getShared(op.getSource()) : spill(op.getSource());
  if (isInPlace)
    beforeRead(tile);
  if (isShared(result))
    return reject(op);
  const TileLayout &layout = getLayout(result);
  SmallVector<Value> values;
  for (int64_t index = 0; index < layout.getNumRegisters(); ++index) {
    Value neutral = f32(getNeutral(op.getKind()));
    if (layout.isPadding(index)) {
      values.push_back(neutral);
      continue;
    }
    SmallVector<Value> coordinates;
    for (AffineExpr expr : layout.getCoordinates(index))
      coordinates.push_back(materialize(getCoordinate(expr)));
    auto addUp = [&] {
      auto loop =
          scf::ForOp::create(builder, loc, i32(0), i32(source.getDimSize(dim)),
                             i32(1), ValueRange{neutral});
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(loop.getBody());
      SmallVector<Value> place(coordinates);
      place.insert(place.begin() + dim, loop.getInductionVar());
      Value next = combine(op.getKind(), loop.getRegionIterArgs().front(),
                           loadElement(tile, place));
      scf::YieldOp::create(builder, loc, next);
      return SmallVector<Value>{loop.getResult(0)};
    };
    values.push_back(branch(getInside(layout, index), builder.getF32Type(),
                            addUp,
                            [&] { return SmallVector<Value>{neutral}; })[0]);
  }
  if (!isInPlace)
    release(tile);
  setRegisters(op.getResult(), std::move(values));
  return success();
}
