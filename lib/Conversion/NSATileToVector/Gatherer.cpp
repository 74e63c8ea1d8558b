//===- Gatherer.cpp - Elements of buffers by vectors of indices -----------===//

#include "Gatherer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nsacc;

Gatherer::Gatherer(TileEmitter &emitter, Value buffer)
    : emitter(emitter), builder(emitter.getBuilder()), loc(emitter.getLoc()),
      type(cast<MemRefType>(buffer.getType())),
      metadata(memref::ExtractStridedMetadataOp::create(builder, loc, buffer)) {
  // All elements as one row: the distances in it are computed here.
  Value all = emitter.constant(std::numeric_limits<int64_t>::max());
  auto layout =
      StridedLayoutAttr::get(builder.getContext(), ShapedType::kDynamic, {1});
  flat = memref::ReinterpretCastOp::create(
      builder, loc,
      MemRefType::get({ShapedType::kDynamic}, type.getElementType(), layout),
      metadata.getBaseBuffer(), OpFoldResult(metadata.getOffset()),
      ArrayRef<OpFoldResult>{all},
      ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
  filled = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  for (Value size : metadata.getSizes()) {
    Value some = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt,
                                       size, emitter.constant(0));
    filled = arith::AndIOp::create(builder, loc, filled, some);
  }
}

Value Gatherer::gather(ArrayRef<Value> indices, int64_t width, Value mask) {
  auto indexType = VectorType::get({width}, builder.getIndexType());
  Value distance = repeat(emitter.constant(0), indexType);
  for (auto [given, size, stride] :
       llvm::zip_equal(indices, metadata.getSizes(), metadata.getStrides())) {
    Value index = repeat(given, indexType);
    if (!mask)
      index = clamp(index, size, indexType);
    Value part =
        arith::MulIOp::create(builder, loc, index, repeat(stride, indexType));
    distance = arith::AddIOp::create(builder, loc, distance, part);
  }
  auto resultType = VectorType::get({width}, type.getElementType());
  if (!mask && isa<FloatType>(type.getElementType()) &&
      type.getElementTypeBitWidth() < 32)
    return gatherNarrow(distance, resultType);
  Value values = gatherWide(distance, resultType, mask ? mask : filled);
  if (width != 1)
    return values;
  return vector::ExtractOp::create(builder, loc, values, 0);
}

Value Gatherer::gatherWide(Value distance, VectorType resultType, Value mask) {
  mask =
      repeat(mask, VectorType::get(resultType.getShape(), builder.getI1Type()));
  return vector::GatherOp::create(builder, loc, resultType, flat,
                                  emitter.constant(0), distance, mask,
                                  zeros(resultType));
}

/// Reads elements one by one, and keeps them integers as long as possible: LLVM
/// would build vectors of bf16 from scalars by calls of a library.
Value Gatherer::gatherNarrow(Value distance, VectorType resultType) {
  Type bits = builder.getIntegerType(resultType.getElementTypeBitWidth());
  VectorType bitsType = resultType.clone(bits);
  auto ifOp = scf::IfOp::create(builder, loc, bitsType, filled,
                                /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.elseBlock());
  scf::YieldOp::create(builder, loc, zeros(bitsType));
  builder.setInsertionPointToStart(ifOp.thenBlock());
  Value result = zeros(bitsType.clone(builder.getI32Type()));
  for (int64_t i = 0; i < resultType.getDimSize(0); ++i) {
    Value at = vector::ExtractOp::create(builder, loc, distance, i);
    Value element = memref::LoadOp::create(builder, loc, flat, at);
    element = arith::BitcastOp::create(builder, loc, bits, element);
    element =
        arith::ExtUIOp::create(builder, loc, builder.getI32Type(), element);
    result = vector::InsertOp::create(builder, loc, element, result, i);
  }
  result = arith::TruncIOp::create(builder, loc, bitsType, result);
  scf::YieldOp::create(builder, loc, result);
  builder.setInsertionPointAfter(ifOp);
  if (resultType.getDimSize(0) != 1)
    return vector::BitCastOp::create(builder, loc, resultType,
                                     ifOp.getResult(0));
  Value element = vector::ExtractOp::create(builder, loc, ifOp.getResult(0), 0);
  return arith::BitcastOp::create(builder, loc, type.getElementType(), element);
}

Value Gatherer::zeros(VectorType type) {
  return arith::ConstantOp::create(builder, loc,
                                   cast<TypedAttr>(builder.getZeroAttr(type)));
}
Value Gatherer::repeat(Value value, VectorType type) {
  if (isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(builder, loc, type, value);
}
Value Gatherer::clamp(Value index, Value size, VectorType type) {
  Value last = arith::SubIOp::create(builder, loc, size, emitter.constant(1));
  index = arith::MinSIOp::create(builder, loc, index, repeat(last, type));
  return arith::MaxSIOp::create(builder, loc, index,
                                repeat(emitter.constant(0), type));
}
