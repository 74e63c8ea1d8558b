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

Value Attention::countUnits() {
  Value tokens = getExistingTokens();
  return selectsPerQueryHead() ? program.math().mul(tokens, tile.group)
                               : tokens;
}

SmallVector<Value> Attention::forEachUnit(
    ValueRange initial,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  IndexMath m = program.math();
  auto loop = scf::ForOp::create(
      builder, loc, m.constant(0), countUnits(), m.constant(1), initial,
      [&](OpBuilder &, Location, Value unit, ValueRange carried) {
        scf::YieldOp::create(builder, loc, body(unit, carried));
      });
  return SmallVector<Value>(loop.getResults());
}

KeyTiling Attention::getBlockTiling() {
  return KeyTiling::ofBlocks(getSelectionType().getBlock(), schedule.getKeys());
}

/// Counts pieces of a block that have the same keys whatever tiles a program
/// has. 1 where pieces of `keys` keys don't fill the block.
int64_t Attention::getPieces(int64_t keys) {
  int64_t block = getSelectionType().getBlock();
  return block % keys == 0 ? block / keys : 1;
}

/// Goes unit by unit: each walks its blocks.
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
    domain.indices.push_back(
        getListOfToken(program, tile, op.getSelection(), listed));
    Value head = getListHead(program, tile, op.getSelection());
    if (selectsPerQueryHead())
      head =
          m.add(m.mul(tile.keyHead, tile.group),
                m.sub(unit, m.mul(m.floorDiv(unit, tile.group), tile.group)));
    domain.indices.push_back(head);
    SmallVector<Value> state =
        foldTiles(few, domain, {}, [&](Value number, ValueRange) {
          return tiling.getTile(program.math(), number);
        });
    return insertState(state, carried, firstRow);
  });
}

/// Goes block by block: the units that selected a block share its keys and
/// values, which otherwise come from far away once for each unit. Each unit
/// meets its blocks in the same order as when it walks them alone.
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
      shared.values = scorer.loadValues(op.getValue(), shared);
    return forEachUnit(state, [&](Value unit, ValueRange carried) {
      Value selects = tensor::ExtractOp::create(builder, loc, selecting, unit);
      return when(isSet(selects), carried, [&] {
        Value firstRow = m.mul(unit, count), token = getToken(unit);
        QueryRows few = scorer.slice(rows, firstRow, count, token, token);
        SmallVector<Value> part;
        for (Value whole : carried)
          part.push_back(extractRows(builder, loc, whole, firstRow, count));
        return insertState(foldTiles(few, {.ranges = ranges, .at = number},
                                     part,
                                     [&](Value, ValueRange) { return shared; }),
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

/// Compares some units at a time, since few queries leave most of a tile empty.
Value Attention::getSelectingUnits(Value selection, Value block) {
  constexpr int64_t together = 4;
  int64_t units = cast<RankedTensorType>(selection.getType()).getDimSize(0);
  if (units <= together || units % together != 0)
    return compareEntries(selection, block);
  IndexMath m = program.math();
  auto type = RankedTensorType::get({units}, builder.getF32Type());
  Value none =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  auto loop = scf::ForOp::create(
      builder, loc, m.constant(0), countUnits(), m.constant(together), none,
      [&](OpBuilder &, Location, Value first, ValueRange selecting) {
        Value some = compareEntries(
            extractRows(builder, loc, selection, first, together), block);
        scf::YieldOp::create(
            builder, loc,
            insertRows(builder, loc, some, selecting.front(), first));
      });
  return loop.getResult(0);
}

Value Attention::compareEntries(Value selection, Value block) {
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

namespace {

/// Rows of a tile that the words of an entry name.
class MemberRows {
public:
  /// `listRows` rows have one list.
  MemberRows(OpBuilder &builder, Location loc, int64_t rows, int64_t listRows)
      : math(builder, loc, rows, /*columns=*/1) {
    auto type = cast<RankedTensorType>(
        math.getType(TileAxes::Row, builder.getIndexType()));
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Tile row = {nsatile::IotaOp::create(builder, loc, type, zero),
                TileAxes::Row};
    list = math.convert<arith::IndexCastOp>(
        math.apply<arith::DivUIOp>(
            row, math.integer(builder.getIndexType(), listRows)),
        builder.getI32Type());
    bit = math.apply<arith::RemUIOp>(list, word(kBits));
  }

  Value getRows(ValueRange words) {
    Tile own = {words.front(), TileAxes::Scalar};
    for (auto [index, next] : llvm::enumerate(words.drop_front()))
      own = math.select(math.compare(arith::CmpIPredicate::ult, list,
                                     word((index + 1) * kBits)),
                        own, {next, TileAxes::Scalar});
    Tile shifted = math.apply<arith::ShRUIOp>(own, bit);
    return math
        .compare(arith::CmpIPredicate::ne,
                 math.apply<arith::AndIOp>(shifted, word(1)), word(0))
        .value;
  }

private:
  static constexpr int64_t kBits = nsatile::UniteOp::wordBits;
  Tile word(int64_t value) {
    return math.integer(math.getBuilder().getI32Type(), value);
  }

  TileMath math;
  Tile list, bit;
};

} // namespace

/// All rows of the tile walk every block that one of them selected. A row that
/// didn't select a block sees none of its keys. With a single list, all rows
/// selected all.
SmallVector<Value> Attention::foldUnion(const QueryRows &rows,
                                        const UnionLists &lists) {
  IndexMath m = program.math();
  KeyTiling tiling = getBlockTiling();
  const StateSlices *slices =
      program.getPlan().findResultSlices(op.getSelection());
  SmallVector<Value> place = getTileIndices(program, tile, slices);
  place.push_back(tile.keyHead);
  SmallVector<Value> first(place);
  first.push_back(m.constant(0));
  Value count = arith::IndexCastOp::create(
      builder, loc, builder.getIndexType(),
      memref::LoadOp::create(builder, loc, program.import(lists.counts),
                             first));
  count = m.mul(count, tiling.parts);
  Value start;
  if (part) {
    // Parts of a list begin with a tile that all programs over the list have.
    int64_t pieces = getPieces(part->keys), tiles = tiling.parts / pieces;
    Value all = m.floorDiv(count, tiles);
    start = m.floorDiv(m.mul(part->number, all), part->count);
    Value next = m.mul(m.add(part->number, 1), all);
    count = m.mul(m.sub(m.floorDiv(next, part->count), start), tiles);
    start = m.mul(start, tiles);
  }
  nsatile::FoldDomain domain = {
      .ranges = scorer.getRanges(scorer.getBounds(rows), tiling),
      .list = program.import(lists.blocks),
      .count = count,
      .first = start,
      .members = lists.members ? program.import(lists.members) : Value(),
      .indices = place,
      .parts = tiling.parts};
  TileLists listed(getSelectionType(), tile.dims, tile.tokens, tile.group);
  std::optional<MemberRows> members;
  if (listed.count > 1)
    members.emplace(builder, loc, rows.count, listed.rows);
  return foldTiles(rows, domain, {}, [&](Value number, ValueRange words) {
    KeyTile keys = tiling.getTile(m, number);
    if (members)
      keys.rows = members->getRows(words);
    return keys;
  });
}
