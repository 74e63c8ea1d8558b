//===- EmitReduce.cpp - Reductions of tiles -------------------------------===//

#include "Reducer.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsatile;

void TileEmitter::emitReduce(ReduceOp op) {
  auto type = cast<RankedTensorType>(op.getSource().getType());
  int64_t last = type.getRank() - 1, dim = op.getDim();
  Value result = allocateResult(op.getResult());
  Reducer reducer(*this, op.getKind() == ReduceKind::Sum ? Reducer::Kind::Sum
                                                         : Reducer::Kind::Max);

  if (dim == last) {
    // One row after the other; partial results stay in memory between vectors.
    SmallVector<int64_t> outer(type.getShape().drop_back());
    SmallVector<Value> lower(outer.size(), constant(0)), upper;
    for (int64_t size : outer)
      upper.push_back(constant(size));
    if (Value rowEnd = getRowEnd(op.getResult()))
      upper.front() = rowEnd;
    forEachPoint(lower, upper, [&](ValueRange point) {
      storeVector(reducer.getNeutral(1), result, point);
      forEachVectorOfRow(
          type.getDimSize(last), [&](Value column, int64_t width) {
            SmallVector<Value> indices(point);
            indices.push_back(column);
            Value part = reducer.reduce(
                VectorReader(*this, indices, width).read(op.getSource()));
            storeVector(reducer.combine(loadVector(result, point, 1), part),
                        result, point);
          });
    });
    return;
  }

  auto resultType = cast<RankedTensorType>(op.getResult().getType());
  forEachVector(resultType.getShape(), [&](ValueRange point, int64_t width) {
    auto loop = scf::ForOp::create(builder, loc, constant(0),
                                   constant(type.getDimSize(dim)), constant(1),
                                   ValueRange{reducer.getNeutral(width)});
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(loop.getBody());
      SmallVector<Value> indices(point);
      indices.insert(indices.begin() + dim, loop.getInductionVar());
      Value part = VectorReader(*this, indices, width).read(op.getSource());
      Value sum = reducer.combine(loop.getRegionIterArgs().front(), part);
      scf::YieldOp::create(builder, loc, sum);
    }
    storeVector(loop.getResult(0), result, point);
  });
}
