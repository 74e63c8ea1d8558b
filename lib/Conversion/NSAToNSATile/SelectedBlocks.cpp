//===- SelectedBlocks.cpp - Attention over selected blocks ----------------===//

#include "Attention.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

int64_t Attention::getUnitRows() {
  return selectsPerQueryHead() ? 1 : tile.group;
}

Value Attention::getToken(Value unit) {
  IndexMath m = program.math();
  return m.add(tile.firstToken,
               selectsPerQueryHead() ? m.floorDiv(unit, tile.group) : unit);
}

SmallVector<Value> Attention::forEachUnit(
    ValueRange initial,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  IndexMath m = program.math();
  Value tokens = getExistingTokens();
  Value units = selectsPerQueryHead() ? m.mul(tokens, tile.group) : tokens;
  auto loop = scf::ForOp::create(
      builder, loc, m.constant(0), units, m.constant(1), initial,
      [&](OpBuilder &, Location, Value unit, ValueRange carried) {
        scf::YieldOp::create(builder, loc, body(unit, carried));
      });
  return SmallVector<Value>(loop.getResults());
}

KeyTiling Attention::getBlockTiling() {
  return KeyTiling::ofBlocks(getSelectionType().getBlock(), schedule.getKeys());
}

/// Unit by unit: each walks its blocks.
SmallVector<Value> Attention::foldSelected(const QueryRows &rows) {
  IndexMath m = program.math();
  int64_t count = getUnitRows();
  KeyTiling tiling = getBlockTiling();
  Value list = program.getBuffer(op.getSelection());
  return forEachUnit(getInitialState(rows.count), [&](Value unit,
                                                      ValueRange carried) {
    Value firstRow = m.mul(unit, count);
    Value token = getToken(unit);
    // Tokens behind the batch row's end have no list.
    Value listed = m.min(token, m.add(tile.numTokens, -1));
    QueryRows few = scorer.slice(rows, firstRow, count, token, token);
    nsatile::FoldDomain domain = {
        .ranges = scorer.getRanges(scorer.getBounds(few), tiling),
        .list = list,
        .parts = tiling.parts};
    if (tile.dims.batch)
      domain.indices.push_back(tile.batchRow);
    domain.indices.push_back(m.add(tile.rowStart, listed));
    Value head = tile.keyHead;
    if (selectsPerQueryHead())
      head =
          m.add(m.mul(tile.keyHead, tile.group),
                m.sub(unit, m.mul(m.floorDiv(unit, tile.group), tile.group)));
    domain.indices.push_back(head);
    SmallVector<Value> state = foldTiles(few, domain, {}, [&](Value number) {
      return tiling.getTile(program.math(), number);
    });
    return insertState(state, carried, firstRow);
  });
}

/// Block by block: the units that selected it share its keys and values, which
/// come from far away otherwise, once for each of them. Each unit meets its
/// blocks in the same order as when it walks them alone.
SmallVector<Value> Attention::foldBlocks(const QueryRows &rows) {
  IndexMath m = program.math();
  int64_t count = getUnitRows();
  KeyTiling tiling = getBlockTiling();
  Value selection = loadSelection(program, tile, op.getSelection());
  SmallVector<KeyBounds> bounds = scorer.getBounds(rows);
  SmallVector<nsatile::TileRange> ranges = scorer.getRanges(bounds, tiling);
  auto foldUnits = [&](Value number, Value selecting, ValueRange state) {
    KeyTile shared = tiling.getTile(m, number);
    shared.keys = scorer.loadKeys(op.getKey(), shared);
    if (!onlyLse)
      shared.values = scorer.loadKeys(op.getValue(), shared);
    return forEachUnit(state, [&](Value unit, ValueRange carried) {
      Value selects = tensor::ExtractOp::create(builder, loc, selecting, unit);
      return when(isSet(selects), carried, [&] {
        Value firstRow = m.mul(unit, count), token = getToken(unit);
        QueryRows few = scorer.slice(rows, firstRow, count, token, token);
        SmallVector<Value> part;
        for (Value whole : carried)
          part.push_back(extractRows(builder, loc, whole, firstRow, count));
        return insertState(foldTiles(few, {.ranges = ranges, .at = number},
                                     part, [&](Value) { return shared; }),
                           carried, firstRow);
      });
    });
  };
  Value end =
      m.mul(m.ceilDiv(scorer.getLastKey(rows), tiling.block), tiling.parts);
  auto loop = scf::ForOp::create(
      builder, loc, m.constant(0), end, m.constant(1),
      getInitialState(rows.count),
      [&](OpBuilder &, Location, Value number, ValueRange carried) {
        KeyTile keys = tiling.getTile(m, number);
        Value seen =
            scorer.isSeen(bounds, keys.first, m.add(keys.first, keys.count));
        Value selecting =
            getSelectingUnits(selection, m.floorDiv(number, tiling.parts));
        Value wanted =
            arith::AndIOp::create(builder, loc, seen, isAny(selecting));
        scf::YieldOp::create(builder, loc, when(wanted, carried, [&] {
                               return foldUnits(number, selecting, carried);
                             }));
      });
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value>
Attention::when(Value condition, ValueRange state,
                llvm::function_ref<SmallVector<Value>()> then) {
  auto branch = scf::IfOp::create(
      builder, loc, condition,
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(builder, loc, then());
      },
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(builder, loc, state);
      });
  return SmallVector<Value>(branch.getResults());
}

Value Attention::getSelectingUnits(Value selection, Value block) {
  auto type = cast<RankedTensorType>(selection.getType());
  TileMath math(builder, loc, type.getDimSize(0), type.getDimSize(1));
  Tile stored = {
      arith::IndexCastOp::create(builder, loc, builder.getI32Type(), block),
      TileAxes::Scalar};
  Tile hit = math.compare(arith::CmpIPredicate::eq,
                          {selection, TileAxes::Matrix}, stored);
  Tile ones =
      math.select(hit, {math.constant(TileAxes::Scalar, 1.0), TileAxes::Scalar},
                  {math.constant(TileAxes::Scalar, 0.0), TileAxes::Scalar});
  return nsatile::ReduceOp::create(
      builder, loc, math.getType(TileAxes::Row, builder.getF32Type()),
      nsatile::ReduceKind::Max, ones.value, /*dim=*/1);
}

Value Attention::getSelecting(Value selection, Value block) {
  Value selecting = getSelectingUnits(selection, block);
  return selectsPerQueryHead() ? selecting
                               : repeatForHeads(program, tile, selecting);
}

Value Attention::isAny(Value selecting) {
  Value any = nsatile::ReduceOp::create(
      builder, loc, RankedTensorType::get({1}, builder.getF32Type()),
      nsatile::ReduceKind::Max, toOneRow(builder, loc, selecting),
      /*dim=*/1);
  return isSet(tensor::ExtractOp::create(
      builder, loc, any, ValueRange{program.math().constant(0)}));
}

Value Attention::isSet(Value selecting) {
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(selecting.getType()));
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT,
                               selecting, zero);
}

/// Each row's selected blocks, tensor<R x top x i32>. Rows that don't exist
/// have those of others.
Value Attention::loadRowSelections() {
  int64_t width = getSelectionType().getTop();
  TileMath math(builder, loc, tile.getRows(), width);
  IndexMath m = program.math();
  auto scalar = [](Value value) { return Tile{value, TileAxes::Scalar}; };
  Tile token = math.apply<arith::AddIOp>({tile.tokenOfRow, TileAxes::Row},
                                         scalar(tile.rowStart));
  Tile head = selectsPerQueryHead() ? Tile{tile.headOfRow, TileAxes::Row}
                                    : scalar(tile.keyHead);
  Tile entry = {nsatile::IotaOp::create(
                    builder, loc,
                    math.getType(TileAxes::Column, builder.getIndexType()),
                    m.constant(0)),
                TileAxes::Column};
  SmallVector<Value> indices;
  if (tile.dims.batch)
    indices.push_back(math.toMatrix(scalar(tile.batchRow)));
  for (Tile index : {token, head, entry})
    indices.push_back(math.toMatrix(index));
  return nsatile::GatherOp::create(
      builder, loc, math.getType(TileAxes::Matrix, builder.getI32Type()),
      program.getBuffer(op.getSelection()), indices);
}

/// All rows of the tile walk every block that one of them selected. A row that
/// didn't select it sees none of its keys.
SmallVector<Value> Attention::foldUnion(const QueryRows &rows,
                                        const UnionLists &lists) {
  IndexMath m = program.math();
  KeyTiling tiling = getBlockTiling();
  Value selections = loadRowSelections();
  SmallVector<Value> place = {tile.batchRow, tile.number, tile.keyHead};
  SmallVector<Value> first(place);
  first.push_back(m.constant(0));
  Value count =
      memref::LoadOp::create(builder, loc, program.import(lists.counts), first);
  nsatile::FoldDomain domain = {
      .ranges = scorer.getRanges(scorer.getBounds(rows), tiling),
      .list = program.import(lists.blocks),
      .count = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                          count),
      .indices = place,
      .parts = tiling.parts};
  return foldTiles(rows, domain, {}, [&](Value number) {
    KeyTile keys = tiling.getTile(m, number);
    keys.rows =
        isSet(getSelectingUnits(selections, m.floorDiv(number, tiling.parts)));
    return keys;
  });
}
