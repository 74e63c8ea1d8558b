//===- QueryGrid.cpp - Grids over tiles of rows ---------------------------===//

#include "QueryGrid.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <numeric>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

static bool isRaggedDim(Attribute dim) {
  auto named = dyn_cast<NamedDimAttr>(dim);
  return named && named.getRagged();
}

bool RowGrid::isRagged() const { return isRaggedDim(dim); }

/// First tile of a ragged row that begins at a token. From one row's first tile
/// to the next row's, there are at least as many as the row fills. No sum over
/// rows is needed.
static Value getTileAt(IndexMath m, Value token, Value row, int64_t tokens,
                       int64_t spare) {
  return m.add(m.floorDiv(token, tokens), m.mul(row, spare));
}

//===----------------------------------------------------------------------===//
// Tiles of rows
//===----------------------------------------------------------------------===//

static int64_t getWholeTokens(const RowGrid &grid) {
  return grid.tokens * grid.parts;
}

/// Number of tiles that a ragged row may have beside the tiles that its tokens
/// fill.
static int64_t getSpare(const RowGrid &grid) { return grid.before > 0 ? 2 : 1; }

/// Counts whole tiles.
Value nsacc::countTiles(PlanBuilder &plan, const RowGrid &grid) {
  IndexMath m = plan.math();
  Value tokens = plan.getSize(grid.dim);
  if (!grid.isRagged())
    return m.ceilDiv(m.add(tokens, grid.before), getWholeTokens(grid));
  return getTileAt(m, tokens, grid.rows, getWholeTokens(grid), getSpare(grid));
}

/// Builds a program for each row, which writes the row's number for all of its
/// tiles.
static Value buildRowsOfTiles(PlanBuilder &plan, const RowGrid &grid) {
  constexpr int64_t count = 128; // tiles of a store
  Type i32 = plan.getBuilder().getI32Type();
  Value rows = plan.allocate(MemRefType::get({ShapedType::kDynamic}, i32),
                             countTiles(plan, grid));
  ProgramBuilder program(plan, plan.getLoc(), "tiles");
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  IndexMath m = program.math();
  Value number = program.programId(0);
  ProgramBuilder::Row row = program.getRow(grid.dim, number);
  auto getFirst = [&](Value token, Value row) {
    return getTileAt(m, token, row, getWholeTokens(grid), getSpare(grid));
  };
  Value first = getFirst(row.start, number);
  Value end = getFirst(m.add(row.start, row.size), m.add(number, 1));
  Value numbers = tensor::SplatOp::create(
      builder, loc, arith::IndexCastOp::create(builder, loc, i32, number),
      RankedTensorType::get({count}, i32));
  Value buffer = program.import(rows);
  scf::ForOp::create(builder, loc, first, end, m.constant(count), ValueRange(),
                     [&](OpBuilder &, Location, Value tile, ValueRange) {
                       nsatile::storeTile(
                           builder, loc, numbers, buffer,
                           {.offsets = {tile}, .limits = {end}, .dims = {0}});
                       scf::YieldOp::create(builder, loc);
                     });
  Value one = plan.math().constant(1);
  program.launch(grid.rows, one, one);
  return rows;
}

static Value getRowsOfTiles(PlanBuilder &plan, const RowGrid &grid) {
  PlanBuilder::TileKey key = {grid.dim, {getWholeTokens(grid), getSpare(grid)}};
  if (Value rows = plan.getRowsOfTiles(key))
    return rows;
  Value rows = buildRowsOfTiles(plan, grid);
  plan.setRowsOfTiles(key, rows);
  return rows;
}

Value nsacc::getFirstTile(ProgramBuilder &program, const RowGrid &grid,
                          Value batchRow) {
  IndexMath m = program.math();
  if (!grid.isRagged())
    return m.constant(0);
  return getTileAt(m, program.getRow(grid.dim, batchRow).start, batchRow,
                   getWholeTokens(grid), getSpare(grid));
}

RowTile nsacc::getRowTile(ProgramBuilder &program, const RowGrid &grid) {
  Value id = program.programId(0);
  return grid.isRagged() ? getRowTile(program, grid, id)
                         : RowTile{program.programId(2), id};
}

RowTile nsacc::getRowTile(ProgramBuilder &program, const RowGrid &grid,
                          Value id) {
  IndexMath m = program.math();
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  Value rows = program.import(getRowsOfTiles(program.getPlan(), grid));
  Value whole = m.floorDiv(id, grid.parts);
  Value row = arith::IndexCastOp::create(
      builder, loc, builder.getIndexType(),
      memref::LoadOp::create(builder, loc, rows, whole));
  Value first = getFirstTile(program, grid, row);
  return {row, m.sub(id, m.mul(first, grid.parts))};
}

void nsacc::launch(ProgramBuilder &program, const RowGrid &grid, Value y,
                   Value z) {
  PlanBuilder &plan = program.getPlan();
  IndexMath m = plan.math();
  if (grid.isRagged()) {
    program.launch(m.mul(countTiles(plan, grid), grid.parts), y,
                   z ? z : m.constant(1));
    return;
  }
  Value tokens = m.add(plan.getSize(grid.dim), grid.before);
  program.launch(m.ceilDiv(tokens, grid.tokens), y,
                 z ? m.mul(grid.rows, z) : grid.rows);
}

SmallVector<Value> nsacc::getTileSizes(PlanBuilder &plan,
                                       const QueryShape &shape, int64_t tokens,
                                       const StateSlices *slices) {
  if (slices)
    return {slices->rows, plan.math().ceilDiv(slices->tokens, tokens)};
  RowGrid grid = QueryGrid{shape, tokens}.getRows(plan);
  if (grid.isRagged())
    return {countTiles(plan, grid)};
  return {grid.rows, countTiles(plan, grid)};
}

SmallVector<Value> nsacc::getTileIndices(ProgramBuilder &program,
                                         const QueryTile &tile,
                                         const StateSlices *slices) {
  IndexMath m = program.math();
  if (slices)
    return {m.sub(tile.batchRow, program.import(slices->firstRow)),
            tile.tileOfSlice};
  if (tile.dims.batch)
    return {tile.batchRow, tile.tokenTile};
  Value first = getTileAt(m, tile.rowStart, tile.batchRow, tile.tokens,
                          /*spare=*/1);
  return {m.add(first, tile.tokenTile)};
}

//===----------------------------------------------------------------------===//
// Tiles of queries
//===----------------------------------------------------------------------===//

Value nsacc::getNumBatchRows(PlanBuilder &plan, const QueryShape &shape) {
  return shape.dims.batch
             ? plan.getSize(shape.dims.batch)
             : plan.getNumRows(cast<NamedDimAttr>(shape.dims.token).getName());
}

RowGrid QueryGrid::getRows(PlanBuilder &plan) const {
  RowGrid grid = {.dim = shape.dims.token,
                  .rows = getNumBatchRows(plan, shape),
                  .tokens = tokens};
  if (whole > 0 && whole % tokens == 0)
    grid.parts = whole / tokens;
  // Tiles of tokens that share may start before the first token.
  grid.before = shareTokens - 1;
  return grid;
}

int64_t nsacc::countHeadParts(const QueryShape &shape, int64_t heads) {
  return heads == 0 ? 1 : shape.group / std::gcd(shape.group, heads);
}

static bool hasParts(const QueryGrid &grid) { return !grid.parts.isNull(); }

/// Converts a place in the slice to the place in the whole call.
static void moveToSlice(ProgramBuilder &program, const QueryGrid &grid,
                        QueryPlace &place) {
  IndexMath m = program.math();
  const StateSlices &slices = *grid.stateSlices;
  place.stateSlices = &slices;
  if (slices.firstHead)
    place.keyHead = m.add(place.keyHead, program.import(slices.firstHead));
  if (!slices.firstToken)
    return;
  Value first = computeInLoop(program.getPlan(), slices, [&](IndexMath inLoop) {
    return inLoop.floorDiv(slices.firstToken, grid.tokens);
  });
  place.tileOfSlice = place.tokenTile;
  place.tokenTile = m.add(place.tokenTile, program.import(first));
  place.batchRow = m.add(place.batchRow, program.import(slices.firstRow));
}

QueryPlace nsacc::getPlace(ProgramBuilder &program, const QueryGrid &grid) {
  IndexMath m = program.math();
  RowGrid rows = grid.getRows(program.getPlan());
  RowTile tile = getRowTile(program, rows);
  QueryPlace place = {.tokenTile = tile.number,
                      .keyHead = program.programId(1),
                      .batchRow = tile.batchRow};
  if (grid.stateSlices)
    moveToSlice(program, grid, place);
  if (grid.headParts > 1) {
    place.firstHead = m.mul(place.keyHead, grid.shape.group / grid.headParts);
    place.keyHead = m.floorDiv(place.keyHead, grid.headParts);
  }
  if (!hasParts(grid))
    return place;
  place.part = program.programId(2);
  if (rows.isRagged())
    return place;
  Value count = program.importNumber(grid.parts);
  Value row = m.divideUnsigned(place.part, count);
  place.part = m.sub(place.part, m.mul(row, count));
  place.batchRow = grid.stateSlices
                       ? m.add(row, program.import(grid.stateSlices->firstRow))
                       : row;
  return place;
}

/// Launches the tiles, heads and batch rows of one slice. The last slice may
/// have fewer tiles.
static void launchInSlice(ProgramBuilder &program, const QueryGrid &grid,
                          Value heads, Value parts) {
  PlanBuilder &plan = program.getPlan();
  IndexMath m = plan.math();
  StateSlices &slices = *grid.stateSlices;
  RowGrid rows = grid.getRows(plan);
  Value x = rows.isRagged() ? m.mul(countTiles(plan, rows), rows.parts)
                            : m.ceilDiv(slices.tokens, grid.tokens);
  if (slices.tokensLeft)
    x = computeInLoop(plan, slices, [&](IndexMath inLoop) {
      return inLoop.min(x, inLoop.ceilDiv(slices.tokensLeft, grid.tokens));
    });
  slices.isMerged = true;
  launch(program, slices, x, heads, parts);
}

void nsacc::launch(ProgramBuilder &program, const QueryGrid &grid, Value runs) {
  PlanBuilder &plan = program.getPlan();
  Value parts;
  if (hasParts(grid))
    parts = getValueOrCreateConstantIndexOp(plan.getBuilder(), plan.getLoc(),
                                            grid.parts);
  if (grid.stateSlices && grid.stateSlices->heads)
    return launchInSlice(program, grid, grid.stateSlices->heads, parts);
  IndexMath m = plan.math();
  Value heads = m.floorDiv(
      m.mul(plan.getSize(grid.shape.keyHead), grid.headParts), grid.keyHeads);
  if (runs)
    heads = m.mul(heads, runs);
  if (grid.stateSlices)
    return launchInSlice(program, grid, heads, parts);
  launch(program, grid.getRows(plan), heads, parts);
}
