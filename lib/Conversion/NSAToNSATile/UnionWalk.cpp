//===- UnionWalk.cpp - Walk over the union of a tile's lists --------------===//

#include "KeyWalk.h"
#include "ListCode.h"
#include "QueryGrid.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

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
  static constexpr int64_t kBits = kMembersOfWord;
  Tile word(int64_t value) {
    return math.integer(math.getBuilder().getI32Type(), value);
  }

  TileMath math;
  Tile list, bit;
};

} // namespace

/// Counts pieces of a block that have the same keys whatever tiles a program
/// has. 1 where pieces of `keys` keys don't fill the block.
static int64_t getPieces(int64_t block, int64_t keys) {
  return block % keys == 0 ? block / keys : 1;
}

RowState UnionWalk::run(const QueryRows &rows) {
  IndexMath m = program.math();
  const StateSlices *slices = program.getPlan().findResultSlices(selection);
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
    int64_t tiles = tiling.parts / getPieces(tiling.block, part->keys);
    Value all = m.floorDiv(count, tiles);
    start = m.floorDiv(m.mul(part->number, all), part->count);
    Value next = m.mul(m.add(part->number, 1), all);
    count = m.mul(m.sub(m.floorDiv(next, part->count), start), tiles);
    start = m.mul(start, tiles);
  }
  nsatile::FoldDomain domain = {
      .ranges = bounds.getRanges(bounds.getBounds(rows), tiling),
      .list = program.import(lists.blocks),
      .count = count,
      .first = start,
      .members = lists.members ? program.import(lists.members) : Value(),
      .indices = place,
      .parts = tiling.parts};
  TileLists listed(type, tile.dims, tile.tokens, tile.group);
  std::optional<MemberRows> members;
  if (listed.count > 1)
    members.emplace(builder, loc, rows.count, listed.rows);
  return fold.fold(rows, domain, {}, [&](Value number, ValueRange words) {
    KeyTile keys = tiling.getTile(m, number);
    if (members)
      keys.rows = members->getRows(words);
    return keys;
  });
}
