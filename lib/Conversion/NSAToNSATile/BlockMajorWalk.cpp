//===- BlockMajorWalk.cpp - Walk over blocks that units share -------------===//

#include "KeyWalk.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

RowState BlockMajorWalk::foldUnits(const QueryRows &rows,
                                   ArrayRef<nsatile::TileRange> ranges,
                                   Value number, Value selecting,
                                   ValueRange state) {
  IndexMath m = program.math();
  int64_t count = getUnitRows();
  KeyTile shared = tiling.getTile(m, number);
  fold.loadShared(shared);
  nsatile::FoldDomain domain = {
      .ranges = SmallVector<nsatile::TileRange>(ranges), .at = number};
  return forEachUnit(state, [&](Value unit, ValueRange carried) {
    Value selects = tensor::ExtractOp::create(builder, loc, selecting, unit);
    return when(isSet(selects), carried, [&] {
      Value firstRow = m.mul(unit, count), token = getToken(unit);
      QueryRows few = scorer.slice(rows, firstRow, count, token, token);
      RowState part;
      for (Value whole : carried)
        part.push_back(extractRows(builder, loc, whole, firstRow, count));
      return insert(fold.fold(few, domain, part,
                              [&](Value, ValueRange) { return shared; }),
                    carried, firstRow);
    });
  });
}

RowState BlockMajorWalk::run(const QueryRows &rows) {
  IndexMath m = program.math();
  Value lists = loadSelection(program, tile, selection);
  SmallVector<KeyBounds> seen = bounds.getBounds(rows);
  SmallVector<nsatile::TileRange> ranges = bounds.getRanges(seen, tiling);
  Value end =
      m.mul(m.ceilDiv(bounds.getLastKey(rows), tiling.block), tiling.parts);
  auto loop = scf::ForOp::create(
      builder, loc, m.constant(0), end, m.constant(1),
      fold.getInitialState(rows.count),
      [&](OpBuilder &, Location, Value number, ValueRange carried) {
        KeyTile keys = tiling.getTile(m, number);
        Value isSeen =
            bounds.isSeen(seen, keys.first, m.add(keys.first, keys.count));
        Value selecting =
            getSelectingUnits(lists, m.floorDiv(number, tiling.parts));
        Value wanted =
            arith::AndIOp::create(builder, loc, isSeen, isAny(selecting));
        scf::YieldOp::create(builder, loc, when(wanted, carried, [&] {
                               return foldUnits(rows, ranges, number, selecting,
                                                carried);
                             }));
      });
  return RowState(loop.getResults());
}

RowState BlockMajorWalk::when(Value condition, ValueRange state,
                              llvm::function_ref<RowState()> then) {
  auto branch = scf::IfOp::create(
      builder, loc, condition,
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(builder, loc, then());
      },
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(builder, loc, state);
      });
  return RowState(branch.getResults());
}

/// Compares some units at a time, since few queries leave most of a tile empty.
Value BlockMajorWalk::getSelectingUnits(Value lists, Value block) {
  constexpr int64_t together = 4;
  int64_t units = cast<RankedTensorType>(lists.getType()).getDimSize(0);
  if (units <= together || units % together != 0)
    return compareEntries(lists, block);
  IndexMath m = program.math();
  auto type = RankedTensorType::get({units}, builder.getF32Type());
  Value none =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  auto loop = scf::ForOp::create(
      builder, loc, m.constant(0), countUnits(), m.constant(together), none,
      [&](OpBuilder &, Location, Value first, ValueRange selecting) {
        Value some = compareEntries(
            extractRows(builder, loc, lists, first, together), block);
        scf::YieldOp::create(
            builder, loc,
            insertRows(builder, loc, some, selecting.front(), first));
      });
  return loop.getResult(0);
}

Value BlockMajorWalk::compareEntries(Value lists, Value block) {
  auto type = cast<RankedTensorType>(lists.getType());
  TileMath math(builder, loc, type.getDimSize(0), type.getDimSize(1));
  Tile stored = {
      arith::IndexCastOp::create(builder, loc, builder.getI32Type(), block),
      TileAxes::Scalar};
  Tile hit =
      math.compare(arith::CmpIPredicate::eq, {lists, TileAxes::Matrix}, stored);
  Tile ones =
      math.select(hit, {math.constant(TileAxes::Scalar, 1.0), TileAxes::Scalar},
                  {math.constant(TileAxes::Scalar, 0.0), TileAxes::Scalar});
  return nsatile::ReduceOp::create(
      builder, loc, math.getType(TileAxes::Row, builder.getF32Type()),
      nsatile::ReduceKind::Max, ones.value, /*dim=*/1);
}

Value BlockMajorWalk::isAny(Value selecting) {
  Value any = nsatile::ReduceOp::create(
      builder, loc, RankedTensorType::get({1}, builder.getF32Type()),
      nsatile::ReduceKind::Max, toOneRow(builder, loc, selecting),
      /*dim=*/1);
  return isSet(tensor::ExtractOp::create(
      builder, loc, any, ValueRange{program.math().constant(0)}));
}

Value BlockMajorWalk::isSet(Value selecting) {
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(selecting.getType()));
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT,
                               selecting, zero);
}
