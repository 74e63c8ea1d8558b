//===- Inversion.cpp - Lists of the entries that name a block -------------===//

#include "Inversion.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

Value Inversion::allocate(Value size, int64_t fields) {
  SmallVector<Value> sizes;
  if (!isRagged())
    sizes.push_back(numRows);
  sizes.append({getHeads(), size});
  SmallVector<int64_t> shape(sizes.size(), ShapedType::kDynamic);
  if (fields > 1)
    shape.push_back(fields);
  return plan.allocate(MemRefType::get(shape, plan.getBuilder().getI32Type()),
                       sizes);
}

SmallVector<Value> Inversion::getPlace(ProgramBuilder &program, Value head,
                                       Value last, Value row) {
  SmallVector<Value> place;
  if (!isRagged())
    place.push_back(row ? row : program.programId(2));
  place.append({head, last});
  return place;
}

InvertedLists Inversion::build() {
  IndexMath m = plan.math();
  Value tokens = plan.getSize(chunkGrid.dim);
  numBlocks = countTiles(plan, blockGrid);
  numLists = multiply(numBlocks);
  lists.chunks = cutsTokens() ? slices->chunks : countTiles(plan, chunkGrid);
  // Without a block, no program would write the fields of tiles.
  Value zero = m.constant(0);
  Value entriesOfSlice =
      m.mul(cutsTokens() ? slices->tokens : tokens, type.getTop());
  lists.tiles =
      m.select(m.less(zero, numBlocks),
               m.add(m.floorDiv(entriesOfSlice, tileTokens), numBlocks), zero);
  numCounts = m.mul(numLists, lists.chunks);
  lists.starts = allocate(m.add(numCounts, 1));
  lists.entries = allocate(m.add(m.mul(tokens, type.getTop()), 1));
  lists.fieldsOfTiles =
      allocate(multiply(lists.tiles), InvertedLists::numTileFields);
  // A chunk only counts the blocks of its row.
  if (isRagged())
    buildClearProgram();
  buildCountProgram();
  buildSumProgram();
  buildSortProgram();
  buildTilesProgram();
  return lists;
}

Inversion::Chunk Inversion::getChunk(ProgramBuilder &program) {
  IndexMath m = program.math();
  auto [batchRow, number] = getRowTile(program, chunkGrid);
  Value tokens = program.getRow(chunkGrid.dim, batchRow).size;
  Value keys = program.getRow(blockGrid.dim, batchRow).size;
  Value head = program.programId(1), zero = m.constant(0);
  Chunk chunk;
  RowLists &listed = chunk.lists;
  listed.buffer = program.getBuffer(selection);
  if (!isRagged())
    listed.offsets.push_back(batchRow);
  listed.along = listed.offsets.size();
  listed.offsets.append(
      {program.getRow(type.getRowDim(), batchRow).start, head, zero});
  listed.every = type.getTokens();
  listed.first = m.mul(number, chunkGrid.tokens);
  listed.rows =
      m.clamp(m.sub(tokens, listed.first), zero, m.constant(chunkGrid.tokens));
  chunk.below = m.ceilDiv(keys, type.getBlock());
  Value step = program.import(lists.chunks);
  Value list = nsacc::getFirstTile(program, blockGrid, batchRow),
        place = program.programId(0);
  if (cutsTokens()) {
    Value slice = m.floorDiv(place, step);
    place = m.sub(place, m.mul(slice, step));
    list = m.mul(slice, program.import(numBlocks));
  }
  chunk.counters = {
      .buffer = program.import(lists.starts),
      .place = getPlace(program, head, m.add(m.mul(list, step), place)),
      .step = step};
  return chunk;
}

void Inversion::buildClearProgram() {
  constexpr int64_t count = 1024;
  ProgramBuilder program(plan, plan.getLoc(), "clear");
  OpBuilder &builder = program.getBuilder();
  IndexMath m = program.math();
  Value zero =
      arith::ConstantOp::create(builder, program.getLoc(),
                                builder.getZeroAttr(RankedTensorType::get(
                                    {count}, builder.getI32Type())));
  SmallVector<Value> place = getPlace(program, program.programId(1),
                                      m.mul(program.programId(0), count));
  int64_t last = place.size() - 1;
  Value starts = program.import(lists.starts);
  nsatile::storeTile(builder, program.getLoc(), zero, starts,
                     {.offsets = place,
                      .limits = {program.import(numCounts)},
                      .dims = {last}});
  program.launch(plan.math().ceilDiv(numCounts, count), getHeads(),
                 getGridRows());
}

void Inversion::buildCountProgram() {
  constexpr int64_t warps = 4;
  ProgramBuilder program(
      plan, plan.getLoc(), "count",
      getListSchedule(type.getContext(), chunkGrid.tokens, warps));
  Chunk chunk = getChunk(program);
  ListCode(program, chunk.lists, chunk.below, chunkGrid.tokens, warps)
      .count(chunk.counters);
  // The last slice may have chunks without tokens.
  if (cutsTokens())
    program.launch(multiply(lists.chunks), getHeads(), getGridRows());
  else
    launch(program, chunkGrid, getHeads());
}

void Inversion::buildSumProgram() {
  ProgramBuilder program(
      plan, plan.getLoc(), "sum",
      getListSchedule(type.getContext(), /*tokens=*/1, kSumWarps));
  IndexMath m = program.math();
  replaceBySums(program, program.import(lists.starts),
                getPlace(program, program.programId(1), m.constant(0)),
                program.import(numCounts));
  program.launch(plan.math().constant(1), getHeads(), getGridRows());
}

Value Inversion::loadStart(ProgramBuilder &program, Value head, Value block) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  Value counter = program.math().mul(block, program.import(lists.chunks));
  Value start =
      memref::LoadOp::create(builder, loc, program.import(lists.starts),
                             getPlace(program, head, counter));
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    start);
}

void Inversion::buildSortProgram() {
  // A warp's lanes number entries in order.
  constexpr int64_t warps = 1;
  ProgramBuilder program(
      plan, plan.getLoc(), "sort",
      getListSchedule(type.getContext(), chunkGrid.tokens, warps));
  IndexMath m = program.math();
  Chunk chunk = getChunk(program);
  // With ragged rows, a list's entries are in one row, where tokens count from
  // 0.
  ListCode(program, chunk.lists, chunk.below, chunkGrid.tokens, warps)
      .sort(chunk.counters, program.import(lists.entries),
            getPlace(program, program.programId(1), m.constant(0)));
  launch(program, chunkGrid, getHeads());
}

namespace {

/// The fields of some neighbouring tiles of a block.
class TileFields {
public:
  TileFields(ProgramBuilder &program, int64_t tiles)
      : program(program), math(program.getBuilder(), program.getLoc(), tiles,
                               /*columns=*/1) {}

  Tile index(Value value) { return {value, TileAxes::Scalar}; }
  Tile count(Value from) {
    auto type = cast<RankedTensorType>(
        math.getType(TileAxes::Row, program.getBuilder().getIndexType()));
    return {nsatile::IotaOp::create(program.getBuilder(), program.getLoc(),
                                    type, from),
            TileAxes::Row};
  }
  template <typename OpTy> Tile apply(Tile lhs, Tile rhs) {
    return math.apply<OpTy>(lhs, rhs);
  }
  /// Tokens of entries. Some of them may not be needed.
  Tile getTokens(Value entries, ArrayRef<Value> place, Tile entry,
                 int64_t top) {
    SmallVector<Value> indices;
    for (Value each : place.drop_back())
      indices.push_back(math.toRow(index(each)));
    indices.push_back(math.toRow(entry));
    Tile named = {
        nsatile::GatherOp::create(
            program.getBuilder(), program.getLoc(),
            math.getType(TileAxes::Row, program.getBuilder().getI32Type()),
            entries, indices),
        TileAxes::Row};
    return apply<arith::DivUIOp>(
        math.convert<arith::IndexCastOp>(named,
                                         program.getBuilder().getIndexType()),
        index(program.math().constant(top)));
  }
  void store(Tile value, InvertedLists::TileField field, Value buffer,
             ArrayRef<Value> place, Value end) {
    SmallVector<Value> offsets(place);
    int64_t dim = offsets.size() - 1;
    offsets.push_back(program.math().constant(field));
    Tile rows = {math.toRow(value), TileAxes::Row};
    Value narrow = math.convert<arith::IndexCastOp>(
                           rows, program.getBuilder().getI32Type())
                       .value;
    nsatile::storeTile(program.getBuilder(), program.getLoc(), narrow, buffer,
                       {.offsets = offsets, .limits = {end}, .dims = {dim}});
  }

private:
  ProgramBuilder &program;
  TileMath math;
};

} // namespace

/// Each block's program writes the fields of its tiles. The last block's
/// program also writes tiles that no block needs, without entries.
void Inversion::buildTilesProgram() {
  constexpr int64_t count = 128; // tiles of a store
  ProgramBuilder program(plan, plan.getLoc(), "tiles");
  OpBuilder &builder = program.getBuilder();
  IndexMath m = program.math();
  Value list = program.programId(0), head = program.programId(1);
  Value start = loadStart(program, head, list);
  Value end = loadStart(program, head, m.add(list, 1));
  Value block = list, tiles = program.import(lists.tiles);
  Value firstEntry = m.constant(0), firstTile = firstEntry;
  if (cutsTokens()) {
    Value blocks = program.import(numBlocks), slice = m.floorDiv(list, blocks);
    Value firstList = m.mul(slice, blocks);
    block = m.sub(list, firstList);
    firstEntry = loadStart(program, head, firstList);
    firstTile = m.mul(slice, tiles);
  }
  auto getTile = [&](Value entry, Value block) {
    Value before = m.floorDiv(m.sub(entry, firstEntry), tileTokens);
    return m.add(firstTile, m.add(before, block));
  };
  Value next = m.add(block, 1), first = getTile(start, block);
  Value isLast =
      m.compare(arith::CmpIPredicate::eq, next, program.import(numBlocks));
  Value endTile = m.select(isLast, m.add(firstTile, tiles), getTile(end, next));
  Value buffer = program.import(lists.fieldsOfTiles),
        entries = program.import(lists.entries);
  TileFields fields(program, count);
  scf::ForOp::create(
      builder, program.getLoc(), first, endTile, m.constant(count),
      ValueRange(), [&](OpBuilder &, Location, Value tile, ValueRange) {
        auto skipped =
            fields.apply<arith::MulIOp>(fields.count(m.sub(tile, first)),
                                        fields.index(m.constant(tileTokens)));
        auto limit = [&](Tile entry) {
          return fields.apply<arith::MinSIOp>(entry, fields.index(end));
        };
        Tile from =
            limit(fields.apply<arith::AddIOp>(skipped, fields.index(start)));
        Tile to = limit(fields.apply<arith::AddIOp>(
            from, fields.index(m.constant(tileTokens))));
        Tile last =
            fields.apply<arith::SubIOp>(to, fields.index(m.constant(1)));
        SmallVector<Value> place = getPlace(program, head, tile);
        int64_t top = type.getTop();
        Tile behind = fields.apply<arith::AddIOp>(
            fields.getTokens(entries, place, last, top),
            fields.index(m.constant(1)));
        using Field = InvertedLists::TileField;
        for (auto [field, value] :
             {std::pair(Field::Block, fields.index(block)),
              std::pair(Field::FirstEntry, from),
              std::pair(Field::EndEntry, to),
              std::pair(Field::FirstToken,
                        fields.getTokens(entries, place, from, top)),
              std::pair(Field::EndToken, behind)})
          fields.store(value, field, buffer, place, endTile);
        scf::YieldOp::create(builder, program.getLoc());
      });
  program.launch(numLists, getHeads(), getGridRows());
}

Inversion::BlockTile Inversion::getTile(ProgramBuilder &program,
                                        const InvertedLists &lists,
                                        Value number, Value head) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  IndexMath m = program.math();
  Value row;
  if (!isRagged()) {
    row = program.programId(2);
    if (slices)
      row = m.add(row, program.import(slices->firstRow));
  }
  if (cutsTokens()) {
    Value first = computeInLoop(plan, *slices, [&](IndexMath inLoop) {
      return inLoop.mul(slices->tokenSlice, lists.tiles);
    });
    number = m.add(number, program.import(first));
  }
  auto load = [&](InvertedLists::TileField field) -> Value {
    SmallVector<Value> place = getPlace(program, head, number, row);
    place.push_back(m.constant(field));
    Value stored = memref::LoadOp::create(
        builder, loc, program.import(lists.fieldsOfTiles), place);
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      stored);
  };
  BlockTile tile;
  Value block = load(InvertedLists::Block);
  tile.block =
      isRagged() ? getRowTile(program, blockGrid, block) : RowTile{row, block};
  tile.place = getPlace(program, head, load(InvertedLists::FirstEntry), row);
  tile.end = load(InvertedLists::EndEntry);
  tile.firstToken = load(InvertedLists::FirstToken);
  tile.endToken = load(InvertedLists::EndToken);
  return tile;
}
