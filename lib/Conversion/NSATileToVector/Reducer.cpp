//===- Reducer.cpp - Sums and maxima of vectors ---------------------------===//

#include "Reducer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace nsacc;

Value Reducer::getNeutral(int64_t width) {
  float value =
      kind == Kind::Sum ? -0.0f : -std::numeric_limits<float>::infinity();
  return emitter.splatConstant(emitter.getBuilder().getF32FloatAttr(value),
                               width);
}

Value Reducer::combine(Value next, Value result) {
  OpBuilder &builder = emitter.getBuilder();
  Location loc = emitter.getLoc();
  switch (kind) {
  case Kind::Sum:
    return arith::AddFOp::create(builder, loc, result, next);
  case Kind::Max:
    return arith::MaximumFOp::create(builder, loc, result, next);
  case Kind::MaxIgnoringNaN: {
    Value greater = arith::CmpFOp::create(
        builder, loc, arith::CmpFPredicate::OGT, next, result);
    return arith::SelectOp::create(builder, loc, greater, next, result);
  }
  }
  llvm_unreachable("unknown reduction");
}

Value Reducer::reduce(Value vector) {
  auto type = dyn_cast<VectorType>(vector.getType());
  if (!type)
    return vector;
  OpBuilder &builder = emitter.getBuilder();
  Location loc = emitter.getLoc();
  int64_t width = type.getDimSize(0);
  auto element = [&](int64_t i) -> Value {
    return vector::ExtractOp::create(builder, loc, vector, i);
  };
  auto part = [&](int64_t from, int64_t size) -> Value {
    return vector::ExtractStridedSliceOp::create(
        builder, loc, vector, ArrayRef<int64_t>{from}, ArrayRef<int64_t>{size},
        ArrayRef<int64_t>{1});
  };
  // Combines the halves of the vector; widths are powers of two.
  while (width > 2) {
    vector = combine(part(0, width / 2), part(width / 2, width / 2));
    width /= 2;
  }
  return combine(element(1), element(0));
}
