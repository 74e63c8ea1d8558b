//===- ScaledF16.cpp - Results in f16 with a scale a row ------------------===//

#include "ScaledF16.h"
#include "NSATile/IR/NSATileHints.h"
#include "NSATile/IR/NSATileOps.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

static constexpr double kGreatestHalf = 1 << 14;

NamedTensorType nsacc::getScaleType(NamedTensorType output) {
  MLIRContext *context = output.getContext();
  return NamedTensorType::get(context, output.getDims().drop_back(),
                              Float32Type::get(context));
}

static Tile makeReal(TileMath &math, double value) {
  return {math.constant(TileAxes::Scalar, value), TileAxes::Scalar};
}

ScaledF16 nsacc::packScaledF16(TileMath &math, Value rows) {
  OpBuilder &builder = math.getBuilder();
  Location loc = math.getLoc();
  Tile size = {math::AbsFOp::create(builder, loc, rows), TileAxes::Matrix};
  size = math.select(
      math.compare(arith::CmpFPredicate::OLT, size, makeReal(math, kInfinity)),
      size, makeReal(math, 0.0));
  size.value.getDefiningOp()->setAttr(nsatile::kOnlyFiniteAttrName,
                                      builder.getUnitAttr());
  Tile greatest = {nsatile::ReduceOp::create(
                       builder, loc,
                       math.getType(TileAxes::Row, builder.getF32Type()),
                       nsatile::ReduceKind::Max, size.value, /*dim=*/1),
                   TileAxes::Row};
  constexpr double least = 0x1p-100; // its reciprocal is finite
  greatest = math.apply<arith::MaximumFOp>(greatest, makeReal(math, least));
  Tile factor =
      math.apply<arith::DivFOp>(makeReal(math, kGreatestHalf), greatest);
  Tile scaled = math.apply<arith::MulFOp>({rows, TileAxes::Matrix}, factor);
  Tile scale =
      math.apply<arith::MulFOp>(greatest, makeReal(math, 1.0 / kGreatestHalf));
  return {math.convert<arith::TruncFOp>(scaled, builder.getF16Type()).value,
          scale.value};
}

Tile nsacc::unpackScaledF16(TileMath &math, Tile elements, Tile scale) {
  return math.apply<arith::MulFOp>(
      math.convert<arith::ExtFOp>(elements, math.getBuilder().getF32Type()),
      scale);
}
