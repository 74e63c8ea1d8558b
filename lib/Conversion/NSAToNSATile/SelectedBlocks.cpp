//===- SelectedBlocks.cpp - Attention over selected blocks ----------------===//

#include "Attention.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

/// tensor<A x B> or tensor<B> to tensor<1 x AB>.
static Value toOneRow(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<ReassociationIndices> both = {{0, 1}};
  if (type.getRank() == 2)
    value = tensor::CollapseShapeOp::create(builder, loc, value, both);
  return tensor::ExpandShapeOp::create(
      builder, loc,
      RankedTensorType::get({1, type.getNumElements()}, type.getElementType()),
      value, both);
}

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

/// Unit by unit: each walks its blocks.
SmallVector<Value> Attention::foldSelected(const QueryRows &rows,
                                           ValueRange initial) {
  IndexMath m = program.math();
  SelectionType type = getSelectionType();
  int64_t count = getUnitRows();
  Value list = program.getBuffer(op.getSelection());
  return forEachUnit(initial, [&](Value unit, ValueRange carried) {
    Value firstRow = m.mul(unit, count);
    Value token = getToken(unit);
    // Tokens behind the batch row's end have no list.
    Value listed = m.min(token, m.add(tile.numTokens, -1));
    QueryRows few = scorer.slice(rows, firstRow, count, token, token);
    SmallVector<Value> prefix;
    if (tile.dims.batch)
      prefix.push_back(tile.batchRow);
    prefix.push_back(m.add(tile.rowStart, listed));
    Value head = tile.keyHead;
    if (selectsPerQueryHead())
      head =
          m.add(m.mul(tile.keyHead, tile.group),
                m.sub(unit, m.mul(m.floorDiv(unit, tile.group), tile.group)));
    prefix.push_back(head);
    auto getBlock = [&](Value entry) -> Value {
      SmallVector<Value> indices(prefix);
      indices.push_back(entry);
      Value stored = memref::LoadOp::create(builder, loc, list, indices);
      return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                        stored);
    };
    SmallVector<Value> state = scorer.foldBlocks(
        few,
        {.width = type.getTop(),
         .blockSize = type.getBlock(),
         .getBlock = getBlock},
        getInitialState(count), [&](const KeyTile &keys, ValueRange inner) {
          return step(few, keys, inner);
        });
    return insertState(state, carried, firstRow);
  });
}

/// Block by block: the units that selected it share its keys and values, which
/// come from far away otherwise, once for each of them. Each unit meets its
/// blocks in the same order as when it walks them alone.
SmallVector<Value> Attention::foldSelectedTogether(const QueryRows &rows,
                                                   ValueRange initial) {
  IndexMath m = program.math();
  SelectionType type = getSelectionType();
  int64_t count = getUnitRows();
  Value selection = loadSelection(program, tile, op.getSelection());
  SmallVector<KeyBounds> bounds = scorer.getBounds(rows);
  int64_t parts = scorer.getParts(type.getBlock());
  auto foldPart = [&](Value block, Value part, Value selecting,
                      ValueRange state) {
    auto foldUnits = [&](const KeyTile &tile, ValueRange state) {
      KeyTile keys = tile;
      keys.keys = scorer.loadKeys(op.getKey(), tile);
      if (!onlyLse)
        keys.values = scorer.loadKeys(op.getValue(), tile);
      return forEachUnit(state, [&](Value unit, ValueRange carried) {
        auto fold = [&] {
          Value firstRow = m.mul(unit, count), token = getToken(unit);
          QueryRows few = scorer.slice(rows, firstRow, count, token, token);
          SmallVector<Value> part;
          for (Value whole : carried)
            part.push_back(extractRows(builder, loc, whole, firstRow, count));
          return insertState(step(few, keys, part), carried, firstRow);
        };
        Value selects =
            tensor::ExtractOp::create(builder, loc, selecting, unit);
        return scorer.choose(isSet(selects), fold,
                             [&] { return SmallVector<Value>(carried); });
      });
    };
    return scorer.foldPart(bounds, block, type.getBlock(), part, Value(), state,
                           foldUnits);
  };
  Value end = m.mul(m.ceilDiv(scorer.getLastKey(rows), type.getBlock()), parts);
  auto loop = scf::ForOp::create(
      builder, loc, m.constant(0), end, m.constant(1), initial,
      [&](OpBuilder &, Location, Value index, ValueRange carried) {
        Value block = m.floorDiv(index, parts);
        Value part = m.sub(index, m.mul(block, parts));
        Value selecting = getSelectingUnits(selection, block);
        scf::YieldOp::create(
            builder, loc,
            scorer.choose(
                isAny(selecting),
                [&] { return foldPart(block, part, selecting, carried); },
                [&] { return SmallVector<Value>(carried); }));
      });
  return SmallVector<Value>(loop.getResults());
}

Value Attention::getSelectingUnits(Value selection, Value block) {
  auto type = cast<RankedTensorType>(selection.getType());
  TileMath math(builder, loc, type.getDimSize(0), type.getDimSize(1));
  Tile stored = {
      arith::IndexCastOp::create(builder, loc, builder.getI32Type(), block),
      Spread::Scalar};
  Tile hit = math.compare(arith::CmpIPredicate::eq, {selection, Spread::Matrix},
                          stored);
  Tile ones =
      math.select(hit, {math.constant(Spread::Scalar, 1.0), Spread::Scalar},
                  {math.constant(Spread::Scalar, 0.0), Spread::Scalar});
  return nsatile::ReduceOp::create(
      builder, loc, math.getType(Spread::Row, builder.getF32Type()),
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

Value Attention::getUnion(Value selection) {
  Value flat = toOneRow(builder, loc, selection);
  int64_t width = cast<RankedTensorType>(flat.getType()).getDimSize(1);
  TileMath math(builder, loc, 1, width);
  Type i64 = builder.getI64Type();
  Tile blocks = math.convert<arith::ExtSIOp>({flat, Spread::Matrix}, i64);
  blocks.value =
      nsatile::SortOp::create(builder, loc, blocks.value.getType(),
                              nsatile::Order::Ascending, blocks.value);
  if (width == 1)
    return blocks.value;
  // What stands behind its like is left out.
  auto attr = [&](int64_t value) -> OpFoldResult {
    return builder.getIndexAttr(value);
  };
  SmallVector<OpFoldResult> sizes = {attr(1), attr(width - 1)};
  SmallVector<OpFoldResult> ones = {attr(1), attr(1)};
  Value left = tensor::ExtractSliceOp::create(
      builder, loc, blocks.value, SmallVector<OpFoldResult>{attr(0), attr(0)},
      sizes, ones);
  Tile none = math.integer(i64, -1);
  Value before = tensor::InsertSliceOp::create(
      builder, loc, left, math.toMatrix(none),
      SmallVector<OpFoldResult>{attr(0), attr(1)}, sizes, ones);
  Tile again =
      math.compare(arith::CmpIPredicate::eq, blocks, {before, Spread::Matrix});
  return math.select(again, none, blocks).value;
}

/// All rows of the tile walk every block that one of them selected.
SmallVector<Value> Attention::foldUnion(const QueryRows &rows,
                                        ValueRange initial) {
  Value selection = loadSelection(program, tile, op.getSelection());
  Value blocks = getUnion(selection);
  auto getBlock = [&](Value entry) -> Value {
    Value zero = program.math().constant(0);
    Value block = tensor::ExtractOp::create(builder, loc, blocks,
                                            ValueRange{zero, entry});
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      block);
  };
  auto getRows = [&](Value block) {
    return isSet(getSelecting(selection, block));
  };
  return scorer.foldBlocks(
      rows,
      {.width = cast<RankedTensorType>(blocks.getType()).getDimSize(1),
       .blockSize = getSelectionType().getBlock(),
       .getBlock = getBlock,
       .getRows = getRows},
      initial, [&](const KeyTile &keys, ValueRange state) {
        return step(rows, keys, state);
      });
}
