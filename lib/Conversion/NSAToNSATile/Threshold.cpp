//===- Threshold.cpp - Selections by a threshold --------------------------===//

#include "Selecting.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "nsacc/Schedule/PartCounts.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// Creates lists of twice as many candidates as are chosen. Cutting such a list
/// costs each key that got in about as much as looking at it some ten times, in
/// whatever order keys come. There is room for `columns` keys at once.
Value Selecting::createLists(int64_t columns) {
  int64_t keep = type.getTop();
  auto lists = nsatile::CandidatesType::get(
      builder.getContext(), sharing.getUnits(), keep,
      /*room=*/keep + std::max(keep, columns));
  return nsatile::CandidatesOp::create(builder, loc, lists, kLeastPresent);
}

/// Offers the blocks of a part, or all. They come in the order of their blocks,
/// as in a list.
void Selecting::offerBlocks(Value lists, const Part *part) {
  IndexMath m = program.math();
  Value first = m.constant(0), end = m.ceilDiv(getLastBlock(), chunk);
  if (part) {
    Value all = end;
    first = m.floorDiv(m.mul(part->number, all), part->count);
    end = m.floorDiv(m.mul(m.add(part->number, 1), all), part->count);
  }
  foldColumnTiles(program, first, end, chunk, {}, [&](Value first, ValueRange) {
    Tile keys = getKeys({first, chunk});
    nsatile::OfferOp::create(builder, loc, math.toMatrix(keys), lists);
    return SmallVector<Value>();
  });
}

void Selecting::forEachChosen(
    Value lists, llvm::function_ref<void(Value first, Tile keys)> body) {
  constexpr int64_t columns = 64; // of a store
  IndexMath m = program.math();
  int64_t keep = type.getTop(), width = std::min(keep, columns);
  auto keysType =
      RankedTensorType::get({sharing.getUnits(), width}, builder.getI64Type());
  scf::ForOp::create(
      builder, loc, m.constant(0), m.constant(keep), m.constant(width),
      ValueRange(), [&](OpBuilder &, Location, Value first, ValueRange) {
        Value keys =
            nsatile::ChosenOp::create(builder, loc, keysType, lists, first);
        body(first, {keys, TileAxes::Matrix});
        scf::YieldOp::create(builder, loc);
      });
}

/// Cuts each row's candidates to its number, and stores their blocks.
void Selecting::finish(Value lists) {
  TileMath rows(builder, loc, sharing.getUnits(), /*columns=*/1);
  IntegerAttr beside;
  if (op.getPlus())
    beside = builder.getI64IntegerAttr(kLeastForced);
  nsatile::ChooseOp::create(builder, loc, rows.toRow(getNumbers(rows)), lists,
                            beside);
  forEachChosen(lists, [&](Value first, Tile keys) {
    int64_t width = cast<RankedTensorType>(keys.value.getType()).getDimSize(1);
    TileMath entries(builder, loc, sharing.getUnits(), width);
    Tile isNone = entries.compare(arith::CmpIPredicate::slt, keys, i64(0));
    Tile none = math.integer(builder.getI32Type(), -1);
    store(entries.select(isNone, none, getBlock(entries, keys)).value, first);
  });
}

void Selecting::raiseThreshold() {
  Value lists = createLists(chunk);
  offerBlocks(lists, /*part=*/nullptr);
  finish(lists);
}

//===----------------------------------------------------------------------===//
// Parts of the blocks
//===----------------------------------------------------------------------===//

/// Place of the program's lists in the buffer of all programs. A row has the
/// lists of its parts behind each other.
SmallVector<Value> Selecting::getPlaceOfLists(Value column) {
  Value zero = program.math().constant(0);
  return {program.programId(0), program.programId(1),
          tile.dims.batch ? place.batchRow : zero, zero, column};
}

LogicalResult Selecting::buildPart(const PartialLists &partial) {
  if (failed(tiles.prepare(importance())))
    return failure();
  IndexMath m = program.math();
  Part part = {place.part, program.importNumber(partial.parts)};
  Value lists = createLists(chunk), buffer = program.import(partial.keys);
  offerBlocks(lists, &part);
  int64_t keep = type.getTop(), units = sharing.getUnits();
  TileMath rows(builder, loc, units, /*columns=*/1);
  nsatile::ChooseOp::create(builder, loc, rows.toRow(i64(keep)), lists,
                            /*beside=*/IntegerAttr());
  Value start = m.mul(part.number, keep);
  SmallVector<Value> limits = {m.constant(units), m.add(start, keep)};
  forEachChosen(lists, [&](Value first, Tile keys) {
    nsatile::storeTile(builder, loc, keys.value, buffer,
                       {.offsets = getPlaceOfLists(m.add(start, first)),
                        .limits = limits,
                        .dims = {3, 4}});
  });
  return success();
}

/// Parts come in the order of their blocks, so candidates still do.
void Selecting::mergeParts(const PartialLists &partial) {
  // Number of elements of a load; steps wait for memory.
  constexpr int64_t elements = 2048, least = 64, most = 512;
  IndexMath m = program.math();
  int64_t keep = type.getTop(), units = sharing.getUnits();
  int64_t width = std::clamp<int64_t>(elements / units, least, most);
  Value lists = createLists(width), buffer = program.import(partial.keys);
  Value all = m.mul(program.importNumber(partial.parts), keep);
  SmallVector<Value> limits = {m.constant(units), all};
  scf::ForOp::create(
      builder, loc, m.constant(0), all, m.constant(width), ValueRange(),
      [&](OpBuilder &, Location, Value first, ValueRange) {
        Value keys = nsatile::loadTile(builder, loc, buffer,
                                       {.offsets = getPlaceOfLists(first),
                                        .limits = limits,
                                        .dims = {3, 4},
                                        .shape = {units, width}});
        nsatile::OfferOp::create(builder, loc, keys, lists);
        scf::YieldOp::create(builder, loc);
      });
  finish(lists);
}

/// Numbers of tiles of rows, in the plan: along x, y and the batch.
static SmallVector<Value> getSizes(PlanBuilder &plan, const QueryGrid &grid) {
  IndexMath m = plan.math();
  RowGrid rows = grid.getRows(plan);
  Value heads = m.mul(plan.getSize(grid.shape.keyHead), grid.headParts);
  return {countTiles(plan, rows), m.floorDiv(heads, grid.keyHeads),
          rows.isRagged() ? m.constant(1) : rows.rows};
}

/// Number of parts of a row's blocks, which a call's sizes tell.
static Value countParts(PlanBuilder &plan, const QueryGrid &grid,
                        SelectionType type, nsatile::ScheduleAttr schedule) {
  IndexMath m = plan.math();
  Value tiles = m.constant(1);
  for (Value size : getSizes(plan, grid))
    tiles = m.mul(tiles, size);
  Value blocks =
      m.ceilDiv(plan.getSize(plan.getNamedDim(type.getOf())), type.getBlock());
  return schedule::countRankingParts(m, tiles, blocks, type.getTop(),
                                     plan.getMultiprocessors() *
                                         schedule.getBlocksPerSM());
}

LogicalResult nsacc::buildSplitSelection(PlanBuilder &plan,
                                         const QueryGrid &grid, TopKOp op,
                                         nsatile::ScheduleAttr schedule,
                                         const Sharing &sharing) {
  auto type = op.getResult().getType();
  IndexMath m = plan.math();
  auto add = [&](StringRef what, const QueryGrid &grid, Value runs,
                 llvm::function_ref<LogicalResult(Selecting &)> build) {
    ProgramBuilder program(plan, op.getLoc(), what, schedule);
    program.setOps(op.getOperation());
    Selecting selecting(program, grid, op, schedule, sharing);
    if (failed(build(selecting)))
      return failure();
    launch(program, grid, runs);
    return success();
  };

  OpFoldResult parts = plan.getBuilder().getIndexAttr(schedule.getSplits());
  Value runsParts, room = m.constant(schedule.getSplits());
  if (schedule.getSplits() == 0) {
    // A call's sizes tell which of the two ways its launches take.
    Value count = countParts(plan, grid, type, schedule);
    Value one = m.constant(1), none = m.constant(0);
    Value isSplit = m.less(one, count);
    parts = count;
    room = m.select(isSplit, count, none);
    runsParts = m.select(isSplit, one, none);
    if (failed(add("select", grid, m.select(isSplit, none, one),
                   [](Selecting &whole) { return whole.build(); })))
      return failure();
  }

  SmallVector<Value> sizes = getSizes(plan, grid);
  SmallVector<int64_t> shape(sizes.size(), ShapedType::kDynamic);
  shape.append({sharing.getUnits(), ShapedType::kDynamic});
  sizes.push_back(m.mul(room, static_cast<int64_t>(type.getTop())));
  PartialLists partial = {
      plan.allocate(MemRefType::get(shape, plan.getBuilder().getI64Type()),
                    sizes),
      parts};
  QueryGrid cut = grid;
  cut.parts = parts;
  if (failed(add("candidates", cut, runsParts,
                 [&](Selecting &part) { return part.buildPart(partial); })))
    return failure();
  return add("merge", grid, runsParts, [&](Selecting &merging) {
    return merging.mergeParts(partial), success();
  });
}
