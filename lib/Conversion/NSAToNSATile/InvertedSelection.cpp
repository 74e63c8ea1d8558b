//===- InvertedSelection.cpp - Attention block by block of a selection ----===//

#include "Attention.h"
#include "NSATile/IR/NSATileHints.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

//===----------------------------------------------------------------------===//
// Lists of blocks
//===----------------------------------------------------------------------===//

namespace {

/// Sorts the entries of a selection's lists by their blocks: chunks of tokens
/// count theirs, a sum over all counts says where each chunk's entries of a
/// block stand, and chunks write them there.
class Inversion {
public:
  Inversion(PlanBuilder &plan, const QueryShape &shape, Value selection,
            int64_t tileTokens)
      : plan(plan), selection(selection),
        type(cast<SelectionType>(selection.getType())), tileTokens(tileTokens),
        numRows(getNumBatchRows(plan, shape)),
        chunkGrid(
            {.dim = shape.dims.token, .rows = numRows, .tokens = chunkTokens}),
        blockGrid({.dim = plan.getNamedDim(type.getOf()),
                   .rows = numRows,
                   .tokens = static_cast<int64_t>(type.getBlock())}) {}

  InvertedLists build();
  /// Block and entries of the tile of a number.
  struct BlockTile {
    RowTile block;
    SmallVector<Value> place; ///< of the first entry
    Value end, firstToken, endToken;
  };
  BlockTile getTile(ProgramBuilder &program, const InvertedLists &lists,
                    Value number, Value head);
  Value getGridRows() { return isRagged() ? plan.math().constant(1) : numRows; }

private:
  static constexpr int64_t chunkTokens = 1024;

  bool isRagged() const { return chunkGrid.isRagged(); }
  Value getHeads() { return plan.getSize(type.getDims().back()); }
  Value allocate(Value size, int64_t fields = 1);
  /// Element `last` of a head's numbers, of the program's batch row.
  SmallVector<Value> getPlace(ProgramBuilder &program, Value head, Value last);
  Value loadStart(ProgramBuilder &program, Value head, Value block);
  Value getFirstTile(ProgramBuilder &program, Value start, Value block) {
    IndexMath m = program.math();
    return m.add(m.floorDiv(start, tileTokens), block);
  }

  /// What the program of a chunk walks, and where its counters are.
  struct Chunk {
    SmallVector<Value> offsets, counters;
    int64_t along;
    Value first, count, below, step;
  };
  Chunk getChunk(ProgramBuilder &program);
  void buildClearProgram();
  void buildCountProgram();
  void buildSumProgram();
  void buildTilesProgram();
  void buildSortProgram();

  PlanBuilder &plan;
  Value selection;
  SelectionType type;
  int64_t tileTokens;
  Value numRows;
  RowGrid chunkGrid, blockGrid;
  InvertedLists lists;
  Value numBlocks, numCounts;
};

} // namespace

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
                                       Value last) {
  SmallVector<Value> place;
  if (!isRagged())
    place.push_back(program.programId(2));
  place.append({head, last});
  return place;
}

InvertedLists Inversion::build() {
  IndexMath m = plan.math();
  Value entries = m.mul(plan.getSize(chunkGrid.dim), type.getTop());
  numBlocks = countTiles(plan, blockGrid);
  lists.chunks = countTiles(plan, chunkGrid);
  // Without a block nobody would say what tiles are.
  Value zero = m.constant(0);
  lists.tiles =
      m.select(m.less(zero, numBlocks),
               m.add(m.floorDiv(entries, tileTokens), numBlocks), zero);
  numCounts = m.mul(numBlocks, lists.chunks);
  lists.starts = allocate(m.add(numCounts, 1));
  lists.entries = allocate(m.add(entries, 1));
  lists.fieldsOfTiles = allocate(lists.tiles, InvertedLists::numTileFields);
  // A chunk counts the blocks of its own row.
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
  if (!isRagged())
    chunk.offsets.push_back(batchRow);
  chunk.along = chunk.offsets.size();
  chunk.offsets.append(
      {program.getRow(type.getRowDim(), batchRow).start, head, zero});
  chunk.first = m.mul(number, chunkTokens);
  chunk.count =
      m.clamp(m.sub(tokens, chunk.first), zero, m.constant(chunkTokens));
  chunk.below = m.ceilDiv(keys, type.getBlock());
  chunk.step = program.import(lists.chunks);
  Value firstBlock = nsacc::getFirstTile(program, blockGrid, batchRow);
  chunk.counters =
      getPlace(program, head,
               m.add(m.mul(firstBlock, chunk.step), program.programId(0)));
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
  nsatile::StoreOp::create(builder, program.getLoc(), zero,
                           program.import(lists.starts), place,
                           program.import(numCounts), last);
  program.launch(plan.math().ceilDiv(numCounts, count), getHeads(),
                 getGridRows());
}

void Inversion::buildCountProgram() {
  ProgramBuilder program(plan, plan.getLoc(), "count");
  Chunk chunk = getChunk(program);
  nsatile::HistogramOp::create(
      program.getBuilder(), program.getLoc(), program.getBuffer(selection),
      chunk.offsets, chunk.along, type.getTokens(), chunk.first, chunk.count,
      chunk.below, program.import(lists.starts), chunk.counters, chunk.step);
  launch(program, chunkGrid, getHeads());
}

void Inversion::buildSumProgram() {
  ProgramBuilder program(plan, plan.getLoc(), "sum");
  IndexMath m = program.math();
  nsatile::PrefixSumOp::create(
      program.getBuilder(), program.getLoc(), program.import(lists.starts),
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
  ProgramBuilder program(plan, plan.getLoc(), "sort");
  IndexMath m = program.math();
  Chunk chunk = getChunk(program);
  // Of ragged rows, a list's entries are of one row, whose tokens count from 0.
  nsatile::CountingSortOp::create(
      program.getBuilder(), program.getLoc(), program.getBuffer(selection),
      chunk.offsets, chunk.along, type.getTokens(), chunk.first, chunk.count,
      chunk.below, program.import(lists.starts), chunk.counters, chunk.step,
      program.import(lists.entries),
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
  /// The tokens of entries, some of which nobody needs.
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
    nsatile::StoreOp::create(program.getBuilder(), program.getLoc(), narrow,
                             buffer, offsets, end, dim);
  }

private:
  ProgramBuilder &program;
  TileMath math;
};

} // namespace

/// Each block's program writes what its tiles are; the last one's also that
/// tiles are nobody's which no block needs.
void Inversion::buildTilesProgram() {
  constexpr int64_t count = 128; // tiles of a store
  ProgramBuilder program(plan, plan.getLoc(), "tiles");
  OpBuilder &builder = program.getBuilder();
  IndexMath m = program.math();
  Value block = program.programId(0), head = program.programId(1);
  Value next = m.add(block, 1), tiles = program.import(lists.tiles);
  Value start = loadStart(program, head, block);
  Value end = loadStart(program, head, next);
  Value first = getFirstTile(program, start, block);
  Value isLast =
      m.compare(arith::CmpIPredicate::eq, next, program.import(numBlocks));
  Value endTile = m.select(isLast, tiles, getFirstTile(program, end, next));
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
  program.launch(numBlocks, getHeads(), getGridRows());
}

Inversion::BlockTile Inversion::getTile(ProgramBuilder &program,
                                        const InvertedLists &lists,
                                        Value number, Value head) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  IndexMath m = program.math();
  auto load = [&](InvertedLists::TileField field) -> Value {
    SmallVector<Value> place = getPlace(program, head, number);
    place.push_back(m.constant(field));
    Value stored = memref::LoadOp::create(
        builder, loc, program.import(lists.fieldsOfTiles), place);
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      stored);
  };
  BlockTile tile;
  Value block = load(InvertedLists::Block);
  tile.block = isRagged() ? getRowTile(program, blockGrid, block)
                          : RowTile{program.programId(2), block};
  tile.place = getPlace(program, head, load(InvertedLists::FirstEntry));
  tile.end = load(InvertedLists::EndEntry);
  tile.firstToken = load(InvertedLists::FirstToken);
  tile.endToken = load(InvertedLists::EndToken);
  return tile;
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// Scores of a block's keys and no others, for all rows of the tile.
SmallVector<Value> Attention::foldBlock(Value block, Value exists) {
  IndexMath m = program.math();
  QueryRows rows = scorer.getAllRows();
  KeyTiling tiling = getBlockTiling();
  Value first = m.mul(block, tiling.parts);
  Value end = m.select(exists, m.add(first, tiling.parts), first);
  nsatile::FoldDomain domain = {
      .ranges = clampRanges(m, scorer.getRanges(scorer.getBounds(rows), tiling),
                            first, end)};
  return foldTiles(rows, domain, {}, [&](Value number, ValueRange) {
    return tiling.getTile(program.math(), number);
  });
}

/// Sums of bf16 values are kept in f16, so scaled that a row's greatest is
/// 2^14: 11 bits of an element, 3 more than its result has, but for those below
/// 2^-28 of the greatest. Those of f16 values would have no bit to spare.
static constexpr double kGreatestHalf = 1 << 14;

static Type getElementType(Value tensor) {
  return cast<NamedTensorType>(tensor.getType()).getElementType();
}

/// Whether all that is made of the tensor is rounded to bf16.
static bool isRoundedToBF16(Value tensor) {
  return llvm::all_of(tensor.getUsers(), [](Operation *user) {
    return isa<MapOp, MergeOp>(user) &&
           llvm::all_of(user->getResults(), [](Value result) {
             return getElementType(result).isBF16() || isRoundedToBF16(result);
           });
  });
}

/// A result of f32 has more bits than a half.
bool Attention::keepsHalves() {
  return getElementType(op.getValue()).isBF16() &&
         isRoundedToBF16(op.getOutput());
}

/// What isn't finite stays so, and has no part in its row's scale.
SmallVector<Value> Attention::packSums(Value sums) {
  if (!keepsHalves())
    return {sums};
  TileMath math(builder, loc, tile.getRows(), channels);
  auto real = [&](double value) {
    return Tile{math.constant(TileAxes::Scalar, value), TileAxes::Scalar};
  };
  Tile all = {sums, TileAxes::Matrix};
  Tile size = {math::AbsFOp::create(builder, loc, sums), TileAxes::Matrix};
  size = math.select(
      math.compare(arith::CmpFPredicate::OLT, size, real(kInfinity)), size,
      real(0.0));
  size.value.getDefiningOp()->setAttr(nsatile::kOnlyFiniteAttrName,
                                      builder.getUnitAttr());
  Tile greatest = {nsatile::ReduceOp::create(
                       builder, loc,
                       math.getType(TileAxes::Row, builder.getF32Type()),
                       nsatile::ReduceKind::Max, size.value, /*dim=*/1),
                   TileAxes::Row};
  constexpr double least = 0x1p-100; // whose reciprocal is finite
  greatest = math.apply<arith::MaximumFOp>(greatest, real(least));
  Tile scaled = math.apply<arith::MulFOp>(
      all, math.apply<arith::DivFOp>(real(kGreatestHalf), greatest));
  Tile scale = math.apply<arith::MulFOp>(greatest, real(1.0 / kGreatestHalf));
  return {arith::TruncFOp::create(
              builder, loc,
              math.getType(TileAxes::Matrix, builder.getF16Type()),
              scaled.value),
          scale.value};
}

Value Attention::unpackSums(Value stored, Value scale) {
  TileMath math(builder, loc, tile.getRows(), channels);
  Tile wide = {arith::ExtFOp::create(
                   builder, loc,
                   math.getType(TileAxes::Matrix, builder.getF32Type()),
                   stored),
               TileAxes::Matrix};
  return math.apply<arith::MulFOp>(wide, {scale, TileAxes::Row}).value;
}

SmallVector<Value> Attention::packState(ValueRange state) {
  SmallVector<Value> packed;
  for (Value part : state) {
    if (cast<RankedTensorType>(part.getType()).getRank() == 2)
      packed.append(packSums(part));
    else
      packed.push_back(part);
  }
  return packed;
}

/// What a block left for the rows that have it. All others have what no key
/// leaves.
SmallVector<Value> Attention::loadEntry(const PartialStates &partial,
                                        Value entry) {
  TileMath math(builder, loc, tile.getRows(), channels);
  int64_t top = cast<SelectionType>(partial.selection.getType()).getTop();
  Tile exists = {hasEntry(program, tile, partial.selection, entry),
                 TileAxes::Row};
  SmallVector<Value> stored, state;
  for (Value buffer : partial.buffers)
    stored.push_back(
        loadListedState(program, tile, program.import(buffer), entry, top));
  ArrayRef<Value> rest = stored;
  for (Value initial : getInitialState(tile.getRows())) {
    Value part = rest.front();
    rest = rest.drop_front();
    TileAxes axes = TileAxes::Row;
    if (cast<RankedTensorType>(part.getType()).getRank() == 2) {
      axes = TileAxes::Matrix;
      if (keepsHalves()) {
        part = unpackSums(part, rest.front());
        rest = rest.drop_front();
      }
    }
    state.push_back(math.select(exists, {part, axes}, {initial, axes}).value);
  }
  return state;
}

namespace {

/// A buffer for each tensor of a state, with the states of all list entries.
PartialStates allocateStates(PlanBuilder &plan, const QueryShape &shape,
                             int64_t group, Value selection,
                             ArrayRef<Value> state) {
  int64_t top = cast<SelectionType>(selection.getType()).getTop();
  IndexMath m = plan.math();
  PartialStates partial;
  partial.selection = selection;
  partial.splits = plan.getBuilder().getIndexAttr(top);
  for (Value part : state) {
    SmallVector<Value> sizes;
    if (shape.dims.batch)
      sizes.push_back(plan.getSize(shape.dims.batch));
    sizes.push_back(plan.getSize(group == 1 ? shape.dims.head : shape.keyHead));
    sizes.push_back(m.mul(plan.getSize(shape.dims.token), top));
    SmallVector<int64_t> dims(sizes.size(), ShapedType::kDynamic);
    dims.push_back(group);
    auto type = cast<RankedTensorType>(part.getType());
    if (type.getRank() == 2)
      dims.push_back(type.getDimSize(1));
    partial.buffers.push_back(
        plan.allocate(MemRefType::get(dims, type.getElementType()), sizes));
  }
  return partial;
}

/// The program of a tile of a block's list. Buffers for states are made by the
/// first one.
nsatile::ProgramOp buildBlockProgram(PlanBuilder &plan, const QueryShape &shape,
                                     AttendOp op, bool isExact,
                                     PartialStates &partial) {
  nsatile::ScheduleAttr fast = getSchedule(op),
                        schedule = isExact ? fast.getExact() : fast;
  Value selection = op.getSelection();
  auto type = cast<SelectionType>(selection.getType());
  bool perQueryHead = isPerQueryHead(type, shape.dims, shape.group);
  // Rows of heads with lists of their own are tokens.
  int64_t group = perQueryHead ? 1 : shape.group;
  auto getTokens = [&](nsatile::ScheduleAttr each) {
    return each.getTokens() * shape.group / group;
  };
  int64_t tokens = getTokens(schedule), whole = getTokens(fast);
  Inversion inversion(plan, shape, selection, whole);
  const InvertedLists *lists = plan.getInvertedLists(selection, whole);
  if (!lists) {
    plan.setInvertedLists(selection, whole, inversion.build());
    lists = plan.getInvertedLists(selection, whole);
  }

  ProgramBuilder program(plan, op.getLoc(), "partial", schedule);
  IndexMath m = program.math();
  // An exact program's tiles are parts of those whose marks it reads.
  int64_t parts = whole / tokens;
  Value id = program.programId(0), head = program.programId(1);
  Value number = m.floorDiv(id, parts);
  bool isShared = plan.getStaticSize(type.getDims().back()) == 1;
  Inversion::BlockTile found = inversion.getTile(
      program, *lists, number, isShared ? m.constant(0) : head);
  Value skipped = m.mul(m.sub(id, m.mul(number, parts)), tokens);
  Value first = m.min(m.add(found.place.back(), skipped), found.end);
  Value exists = m.less(first, found.end);
  found.place.back() = first;
  QueryPlace place = {
      .tokenTile = id, .keyHead = head, .batchRow = found.block.batchRow};
  if (perQueryHead) {
    place.keyHead = m.floorDiv(head, shape.group);
    place.firstHead = head;
  }
  ListedTokens listed = {.entries = program.import(lists->entries),
                         .place = found.place,
                         .end = found.end,
                         .top = static_cast<int64_t>(type.getTop()),
                         .firstToken = found.firstToken,
                         .endToken = found.endToken};
  QueryTile tile = createListedTile(program, shape.dims, tokens, group, place,
                                    std::move(listed));
  bool onlyLse = op.isSoftmax() && op.getOutput().use_empty();
  Attention attention(program, tile, op, schedule, onlyLse);
  SmallVector<Value> state =
      attention.packState(attention.foldBlock(found.block.number, exists));
  if (partial.buffers.empty())
    partial = allocateStates(plan, shape, group, selection, state);
  for (auto [buffer, rows] : llvm::zip_equal(partial.buffers, state))
    storeListedState(program, tile, rows, program.import(buffer));
  program.setOps(op.getOperation());
  program.launch(plan.math().mul(lists->tiles, parts),
                 plan.getSize(perQueryHead ? shape.dims.head : shape.keyHead),
                 inversion.getGridRows());
  return program.getProgram();
}

} // namespace

void nsacc::buildInvertedPrograms(PlanBuilder &plan, const QueryShape &shape,
                                  AttendOp op) {
  PartialStates partial;
  nsatile::ProgramOp program =
      buildBlockProgram(plan, shape, op, /*isExact=*/false, partial);
  if (getSchedule(op).getExactTokens() > 0 && looksAtPairs(program)) {
    nsatile::ProgramOp exact =
        buildBlockProgram(plan, shape, op, /*isExact=*/true, partial);
    program->setAttr(nsatile::kExactProgramAttrName,
                     FlatSymbolRefAttr::get(exact.getSymNameAttr()));
  }
  plan.setPartialStates(op, partial);
}
