//===- EntryReduction.cpp - Reductions over present entries ---------------===//

#include "EntryReduction.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <limits>

using namespace mlir;
using namespace nsacc;

/// Result where no entry is present. It differs from any sum or maximum of
/// entries: a sum is -0 only if all terms are, and terms of present entries
/// never are.
static double getStart(EntryReduction::Kind kind) {
  return kind == EntryReduction::Kind::Max ? kAbsent : -0.0;
}

static Tile isPresent(TileMath &math, const Entries &entries) {
  return entries.present ? *entries.present
                         : math.compare(arith::CmpFPredicate::UNE,
                                        entries.values, getReal(math, kAbsent));
}

EntryReduction::EntryReduction(TileMath &math, Kind kind)
    : math(math), kind(kind),
      value{math.constant(TileAxes::Matrix, getStart(kind)), TileAxes::Matrix} {
  if (kind == Kind::Mean)
    count = {math.constant(TileAxes::Matrix, 0.0), TileAxes::Matrix};
}

EntryReduction::EntryReduction(TileMath &math, Kind kind, ValueRange carried)
    : math(math), kind(kind), value{carried[0], TileAxes::Matrix} {
  if (kind == Kind::Mean)
    count = {carried[1], TileAxes::Matrix};
}

SmallVector<Value> EntryReduction::getCarried() {
  SmallVector<Value> carried = {math.toMatrix(value)};
  if (kind == Kind::Mean)
    carried.push_back(math.toMatrix(count));
  return carried;
}

/// Terms that are added for entries: -0 for absent ones, and 0 for entries of
/// -0.
static Tile getTerms(TileMath &math, Tile present, const Entries &entries) {
  Tile terms = entries.values;
  if (entries.mayBeNegative)
    terms = math.apply<arith::AddFOp>(terms, getReal(math, 0.0));
  return math.select(present, terms, getReal(math, -0.0));
}

static Tile getOne(TileMath &math, Tile present) {
  return math.select(present, getReal(math, 1.0), getReal(math, 0.0));
}

void EntryReduction::add(Tile entry, std::optional<Tile> factor) {
  if (kind == Kind::Max) {
    value = math.apply<arith::MaximumFOp>(value, entry);
    return;
  }
  Tile present = isPresent(math, entry);
  if (kind == Kind::Mean)
    count = math.apply<arith::AddFOp>(count, getOne(math, present));
  Tile scaled = factor ? math.apply<arith::MulFOp>(entry, *factor) : entry;
  value = math.apply<arith::AddFOp>(value, getTerms(math, present, scaled));
}

Tile EntryReduction::get() {
  if (kind == Kind::Max)
    return value;
  Type i32 = math.getBuilder().getI32Type();
  Tile bits = math.convert<arith::BitcastOp>(value, i32);
  Tile any =
      math.compare(arith::CmpIPredicate::ne, bits,
                   math.integer(i32, std::numeric_limits<int32_t>::min()));
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

void EntryReduction::addWithin(const Entries &entries, int64_t outer,
                               int64_t n) {
  OpBuilder &builder = math.getBuilder();
  Location loc = math.getLoc();
  auto type = cast<RankedTensorType>(entries.values.value.getType());
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
  if (kind == Kind::Max) {
    value = math.apply<arith::MaximumFOp>(
        value, reduce(entries.values, nsatile::ReduceKind::Max));
    return;
  }
  Tile present = isPresent(wide, entries);
  auto addTo = [&](Tile &sum, Tile terms) {
    sum =
        math.apply<arith::AddFOp>(sum, reduce(terms, nsatile::ReduceKind::Sum));
  };
  if (kind == Kind::Mean)
    addTo(count, getOne(wide, present));
  addTo(value, getTerms(wide, present, entries));
}

Tile nsacc::reduceWithin(OpBuilder &builder, Location loc,
                         const Entries &entries, EntryReduction::Kind kind,
                         int64_t outer, int64_t count) {
  if (count == 1)
    return entries.values;
  auto type = cast<RankedTensorType>(entries.values.value.getType());
  TileMath math(builder, loc, type.getDimSize(0) / count, type.getDimSize(1));
  EntryReduction reduction(math, kind);
  reduction.addWithin(entries, outer, count);
  return reduction.get();
}
