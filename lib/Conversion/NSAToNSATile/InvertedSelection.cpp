//===- InvertedSelection.cpp - Attention block by block of a selection ----===//

#include "Attention.h"
#include "ListCode.h"
#include "NSA/Analysis/Rounding.h"
#include "NSATile/IR/NSATileHints.h"
#include "StoredStates.h"
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

/// Sorts the entries of a selection's lists by their blocks. Chunks of tokens
/// count their entries of each block. A sum over all counts gives the place of
/// each chunk's entries of a block, and chunks write them there.
class Inversion {
public:
  Inversion(PlanBuilder &plan, const QueryShape &shape, Value selection,
            int64_t tileTokens)
      : plan(plan), slices(plan.getStateSlices()), selection(selection),
        type(cast<SelectionType>(selection.getType())), tileTokens(tileTokens),
        numRows(getNumBatchRows(plan, shape)),
        chunkGrid({.dim = shape.dims.token,
                   .rows = numRows,
                   .tokens = StateSlices::chunkTokens}),
        blockGrid({.dim = plan.getNamedDim(type.getOf()),
                   .rows = numRows,
                   .tokens = static_cast<int64_t>(type.getBlock())}) {}

  InvertedLists build();
  /// Block and entries of a tile.
  struct BlockTile {
    RowTile block;
    SmallVector<Value> place; ///< place of the first entry
    Value end, firstToken, endToken;
  };
  BlockTile getTile(ProgramBuilder &program, const InvertedLists &lists,
                    Value number, Value head);
  Value getGridRows() { return isRagged() ? plan.math().constant(1) : numRows; }

private:
  bool isRagged() const { return chunkGrid.isRagged(); }
  bool cutsTokens() const { return slices && slices->tokenSlices; }
  /// Converts a number for one slice of the tokens to the number for all of
  /// them.
  Value multiply(Value ofSlice) {
    return cutsTokens() ? plan.math().mul(slices->tokenSlices, ofSlice)
                        : ofSlice;
  }
  Value getHeads() { return plan.getSize(type.getDims().back()); }
  Value allocate(Value size, int64_t fields = 1);
  /// Place of element `last` of a head's numbers, for a batch row or the
  /// program's.
  SmallVector<Value> getPlace(ProgramBuilder &program, Value head, Value last,
                              Value row = {});
  Value loadStart(ProgramBuilder &program, Value head, Value block);

  /// Lists that a chunk's program walks, the number of blocks, and the place of
  /// its counters.
  struct Chunk {
    RowLists lists;
    Value below;
    NumbersOfKeys counters;
  };
  Chunk getChunk(ProgramBuilder &program);
  void buildClearProgram();
  void buildCountProgram();
  void buildSumProgram();
  void buildTilesProgram();
  void buildSortProgram();

  PlanBuilder &plan;
  const StateSlices *slices;
  Value selection;
  SelectionType type;
  int64_t tileTokens;
  Value numRows;
  RowGrid chunkGrid, blockGrid;
  InvertedLists lists;
  /// Number of blocks, of lists (a block's in each slice), and of their
  /// counters. They are for a batch row, or for all ragged rows.
  Value numBlocks, numLists, numCounts;
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

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

namespace {

/// Bytes of one row's state.
int64_t getBytes(ArrayRef<Value> state) {
  int64_t bytes = 0;
  for (Value part : state) {
    auto type = cast<RankedTensorType>(part.getType());
    int64_t channels = type.getRank() == 2 ? type.getDimSize(1) : 1;
    bytes += channels * type.getElementTypeBitWidth() / 8;
  }
  return bytes;
}

/// Allocates a buffer for each tensor of a state, for all list entries or the
/// entries of a slice.
PartialStates allocateStates(PlanBuilder &plan, const QueryShape &shape,
                             int64_t group, ScoringOpInterface op,
                             ArrayRef<Value> state) {
  Value selection = op.getSelection();
  int64_t top = cast<SelectionType>(selection.getType()).getTop();
  IndexMath m = plan.math();
  PartialStates partial = {.buffers = {},
                           .splits = plan.getBuilder().getIndexAttr(top),
                           .selection = selection,
                           .areScaled = isRoundedToBF16(op)};
  SmallVector<Value> sizes;
  bool isAlone = group == 1;
  if (StateSlices *slices = plan.getStateSlices()) {
    slices->setBytes(getBytes(state) * top * shape.group);
    if (shape.dims.batch)
      sizes.push_back(slices->rows);
    sizes.append({isAlone ? slices->queryHeads : slices->heads,
                  m.mul(slices->tokens, top)});
  } else {
    if (shape.dims.batch)
      sizes.push_back(plan.getSize(shape.dims.batch));
    sizes.append({plan.getSize(isAlone ? shape.dims.head : shape.keyHead),
                  m.mul(plan.getSize(shape.dims.token), top)});
  }
  for (Value part : state) {
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

/// Builds the program of a tile of a block's list. The first such program
/// creates the buffers for states.
FailureOr<nsatile::ProgramOp> buildBlockProgram(PlanBuilder &plan,
                                                const QueryShape &shape,
                                                ScoringOpInterface op,
                                                PartialStates &partial) {
  nsatile::ScheduleAttr fast = getSchedule(op), schedule = plan.getSchedule(op);
  Value selection = op.getSelection();
  auto type = cast<SelectionType>(selection.getType());
  bool perQueryHead = isPerQueryHead(type, shape.dims, shape.group);
  // Rows of heads with separate lists count as tokens.
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
  // An exact program's tiles are parts of the tiles with the marks that it
  // reads.
  int64_t parts = whole / tokens;
  Value id = program.programId(0), head = program.programId(1);
  StateSlices *slices = plan.getStateSlices();
  if (slices)
    head = m.add(head, program.import(perQueryHead ? slices->firstQueryHead
                                                   : slices->firstHead));
  Value number = m.floorDiv(id, parts);
  bool isShared = plan.getStaticSize(type.getDims().back()) == 1;
  Inversion::BlockTile found = inversion.getTile(
      program, *lists, number, isShared ? m.constant(0) : head);
  Value skipped = m.mul(m.sub(id, m.mul(number, parts)), tokens);
  Value first = m.min(m.add(found.place.back(), skipped), found.end);
  Value exists = m.less(first, found.end);
  found.place.back() = first;
  QueryPlace place = {.tokenTile = id,
                      .keyHead = head,
                      .batchRow = found.block.batchRow,
                      .stateSlices = slices};
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
  Attention attention(program, tile, op, schedule, needsOnlyLse(op));
  RowState state = attention.walkBlock(found.block.number, exists);
  if (isRoundedToBF16(op))
    state = scaleState(program, state);
  if (partial.buffers.empty())
    partial = allocateStates(plan, shape, group, op, state);
  for (auto [buffer, rows] : llvm::zip_equal(partial.buffers, state))
    storeListedState(program, tile, rows, program.import(buffer));
  program.setOps(op.getOperation());
  Value x = plan.math().mul(lists->tiles, parts);
  if (slices)
    launch(program, *slices, x,
           perQueryHead ? slices->queryHeads : slices->heads, /*z=*/{});
  else
    program.launch(x,
                   plan.getSize(perQueryHead ? shape.dims.head : shape.keyHead),
                   inversion.getGridRows());
  return program.getProgram();
}

} // namespace

/// Whether no other attention is inverted. States of two such attentions would
/// have different slices, which one program can't merge.
static bool isOnlyInverted(ScoringOpInterface op) {
  return llvm::count_if(findAttends(op->getParentOfType<KernelOp>()),
                        [](ScoringOpInterface each) {
                          return each.getSelection() &&
                                 getSchedule(each).getOrder() ==
                                     nsatile::LoopOrder::KeyMajor;
                        }) == 1;
}

/// Numbers of tokens of the query tiles that may merge states.
static SmallVector<int64_t> getTileTokens(KernelOp kernel) {
  SmallVector<ScoringOpInterface> attends = findAttends(kernel);
  SmallVector<int64_t> tokens;
  for (ScoringOpInterface attend : attends) {
    nsatile::ScheduleAttr schedule = getSchedule(attend);
    tokens.push_back(schedule.getMerging().getTokens());
    // The program may compute another attention, too.
    if (attends.size() > 1)
      tokens.push_back(schedule.getTokens());
  }
  return tokens;
}

LogicalResult nsacc::buildInvertedPrograms(PlanBuilder &plan,
                                           const QueryShape &shape,
                                           ScoringOpInterface op) {
  int64_t chunk = getSchedule(op).getChunk();
  if (chunk > 0 && isOnlyInverted(op))
    plan.setStateSlices(createSlices(plan, shape, chunk << 20,
                                     getTileTokens(plan.getKernel())));
  PartialStates partial;
  LogicalResult built = plan.buildWithExact(
      op, [&] { return buildBlockProgram(plan, shape, op, partial); });
  plan.setPartialStates(op, partial);
  return built;
}
