//===- EntryReduction.cpp - Reductions over what is present ---------------===//

#include "EntryReduction.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace nsacc;

static double getStart(EntryReduction::Kind kind) {
  return kind == EntryReduction::Kind::Max ? kAbsent : 0.0;
}

EntryReduction::EntryReduction(TileMath &math, Kind kind)
    : math(math), kind(kind),
      value{math.constant(TileAxes::Matrix, getStart(kind)), TileAxes::Matrix},
      count{math.constant(TileAxes::Matrix, 0.0), TileAxes::Matrix} {}

void EntryReduction::add(Tile entry, std::optional<Tile> factor) {
  Tile present =
      math.compare(arith::CmpFPredicate::UNE, entry, getReal(math, kAbsent));
  count = math.apply<arith::AddFOp>(
      count, math.select(present, getReal(math, 1.0), getReal(math, 0.0)));
  Tile term = math.select(present, entry, getReal(math, getStart(kind)));
  if (factor)
    term = math.apply<arith::MulFOp>(term, *factor);
  value = kind == Kind::Max ? math.apply<arith::MaximumFOp>(value, term)
                            : math.apply<arith::AddFOp>(value, term);
}

Tile EntryReduction::get() {
  Tile any = math.compare(arith::CmpFPredicate::OGT, count, getReal(math, 0.0));
  Tile result = value;
  if (kind == Kind::Mean)
    result = math.apply<arith::DivFOp>(
        result, math.apply<arith::MaximumFOp>(count, getReal(math, 1.0)));
  return math.select(any, result, getReal(math, kAbsent));
}

/// tensor<R x C> as tensor<outer x count x R·C/(outer·count)>.
static Value toThree(OpBuilder &builder, Location loc, Value matrix,
                     int64_t outer, int64_t count) {
  auto type = cast<RankedTensorType>(matrix.getType());
  int64_t inner = type.getNumElements() / (outer * count);
  SmallVector<ReassociationIndices> both = {{0, 1}}, all = {{0, 1, 2}};
  Value flat = tensor::CollapseShapeOp::create(builder, loc, matrix, both);
  return tensor::ExpandShapeOp::create(
      builder, loc,
      RankedTensorType::get({outer, count, inner}, type.getElementType()), flat,
      all);
}

void EntryReduction::addWithin(Tile entries, int64_t outer, int64_t n) {
  OpBuilder &builder = math.getBuilder();
  Location loc = math.getLoc();
  auto type = cast<RankedTensorType>(entries.value.getType());
  TileMath wide(builder, loc, type.getDimSize(0), type.getDimSize(1));
  auto reduce = [&](Tile from, nsatile::ReduceKind how) -> Tile {
    Value three = toThree(builder, loc, wide.toMatrix(from), outer, n);
    auto threeType = cast<RankedTensorType>(three.getType());
    Value reduced = nsatile::ReduceOp::create(
        builder, loc,
        RankedTensorType::get({outer, threeType.getDimSize(2)},
                              builder.getF32Type()),
        how, three, /*dim=*/1);
    SmallVector<ReassociationIndices> both = {{0, 1}};
    auto result = cast<RankedTensorType>(
        math.getType(TileAxes::Matrix, builder.getF32Type()));
    if (result != reduced.getType())
      reduced = tensor::ExpandShapeOp::create(
          builder, loc, result,
          tensor::CollapseShapeOp::create(builder, loc, reduced, both), both);
    return {reduced, TileAxes::Matrix};
  };
  Tile present =
      wide.compare(arith::CmpFPredicate::UNE, entries, getReal(wide, kAbsent));
  Tile terms = wide.select(present, entries, getReal(wide, getStart(kind)));
  Tile ones = wide.select(present, getReal(wide, 1.0), getReal(wide, 0.0));
  count =
      math.apply<arith::AddFOp>(count, reduce(ones, nsatile::ReduceKind::Sum));
  if (kind == Kind::Max)
    value = math.apply<arith::MaximumFOp>(
        value, reduce(terms, nsatile::ReduceKind::Max));
  else
    value = math.apply<arith::AddFOp>(value,
                                      reduce(terms, nsatile::ReduceKind::Sum));
}

Tile nsacc::reduceWithin(OpBuilder &builder, Location loc, Tile entries,
                         EntryReduction::Kind kind, int64_t outer,
                         int64_t count) {
  if (count == 1)
    return entries;
  auto type = cast<RankedTensorType>(entries.value.getType());
  TileMath math(builder, loc, type.getDimSize(0) / count, type.getDimSize(1));
  EntryReduction reduction(math, kind);
  reduction.addWithin(entries, outer, count);
  return reduction.get();
}
