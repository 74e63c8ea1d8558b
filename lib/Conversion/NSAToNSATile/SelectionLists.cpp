//===- SelectionLists.cpp - Lists of selected blocks in memory ------------===//

#include "SelectionLists.h"
#include "ListCode.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

static Tile sort(TileMath &math, Tile rows) {
  return {nsatile::SortOp::create(math.getBuilder(), math.getLoc(),
                                  rows.value.getType(),
                                  nsatile::Order::Ascending, rows.value),
          TileAxes::Matrix};
}

/// Moves each row by one column, with -1 in front.
static Tile getColumnsBefore(TileMath &math, Tile rows) {
  OpBuilder &builder = math.getBuilder();
  Location loc = math.getLoc();
  auto attr = [&](int64_t value) -> OpFoldResult {
    return builder.getIndexAttr(value);
  };
  SmallVector<OpFoldResult> sizes = {attr(math.getRows()),
                                     attr(math.getColumns() - 1)};
  SmallVector<OpFoldResult> ones = {attr(1), attr(1)};
  Value left = tensor::ExtractSliceOp::create(
      builder, loc, rows.value, SmallVector<OpFoldResult>{attr(0), attr(0)},
      sizes, ones);
  Value none = math.toMatrix(math.integer(builder.getI32Type(), -1));
  return {tensor::InsertSliceOp::create(
              builder, loc, left, none,
              SmallVector<OpFoldResult>{attr(0), attr(1)}, sizes, ones),
          TileAxes::Matrix};
}

Tile nsacc::sortDistinct(TileMath &math, Tile indices) {
  Type i32 = math.getBuilder().getI32Type();
  Tile padding = math.integer(i32, kListPadding);
  Tile negative =
      math.compare(arith::CmpIPredicate::slt, indices, math.integer(i32, 0));
  indices = sort(math, math.select(negative, padding, indices));
  if (math.getColumns() == 1)
    return indices;
  // Repetitions become padding, which a second sort moves behind the others.
  Tile again = math.compare(arith::CmpIPredicate::eq, indices,
                            getColumnsBefore(math, indices));
  return sort(math, math.select(again, padding, indices));
}

/// Most entries of a tile's union: the entries of its lists, but no more than
/// the blocks of the keys.
static OpFoldResult countListed(PlanBuilder &plan, const QueryShape &shape,
                                SelectionType type, const TileLists &lists,
                                int64_t tokens) {
  int64_t top = type.getTop(), width = lists.count * top;
  if (width <= kMostListed)
    return plan.getBuilder().getIndexAttr(width);
  IndexMath m = plan.math();
  // Few queries don't fill a tile.
  Value there = m.min(plan.getSize(shape.dims.token), m.constant(tokens));
  Value listed = m.mul(m.ceilDiv(m.mul(there, lists.count), tokens), top);
  Value keys = plan.getSize(plan.getNamedDim(type.getOf()));
  return m.max(m.min(listed, m.ceilDiv(keys, type.getBlock())), m.constant(1));
}

void nsacc::buildUnionLists(PlanBuilder &plan, const QueryShape &shape,
                            ScoringOpInterface op) {
  int64_t tokens = getSchedule(op).getTokens();
  Value selection = op.getSelection();
  if (plan.getUnionLists(selection, tokens))
    return;
  auto type = cast<SelectionType>(selection.getType());
  TileLists tileLists(type, shape.dims, tokens, shape.group);
  OpFoldResult width = countListed(plan, shape, type, tileLists, tokens);

  OpBuilder &outside = plan.getBuilder();
  StateSlices *slices = plan.findResultSlices(selection);
  auto allocate = [&](ArrayRef<OpFoldResult> columns) {
    SmallVector<Value> sizes = getTileSizes(plan, shape, tokens, slices);
    sizes.push_back(plan.getSize(shape.keyHead));
    SmallVector<int64_t> dims(sizes.size(), ShapedType::kDynamic);
    for (OpFoldResult size : columns) {
      std::optional<int64_t> known = getConstantIntValue(size);
      dims.push_back(known.value_or(ShapedType::kDynamic));
      if (!known)
        sizes.push_back(cast<Value>(size));
    }
    return plan.allocate(MemRefType::get(dims, outside.getI32Type()), sizes);
  };
  OpFoldResult one = outside.getIndexAttr(1),
               words = outside.getIndexAttr(
                   llvm::divideCeil(tileLists.count, kMembersOfWord));
  UnionLists lists = {allocate(width), {}, allocate(one)};
  // A tile's only list has all of the tile's entries.
  if (tileLists.count > 1)
    lists.members = allocate({width, words});

  int64_t warps = countUnionWarps(tileLists.count * type.getTop());
  ProgramBuilder program(plan, op.getLoc(), "union",
                         getListSchedule(outside.getContext(), tokens, warps));
  program.setOps(op.getOperation());
  IndexMath m = program.math();
  QueryGrid grid = {.shape = shape, .tokens = tokens, .stateSlices = slices};
  QueryTile tile = createQueryTile(program, shape.dims, tokens, shape.group,
                                   getPlace(program, grid));
  Value left = m.sub(tile.numTokens, tile.firstToken);
  Value exist = m.max(m.min(left, m.constant(tokens)), m.constant(0));
  // A token has a list for each head that selects for itself.
  Value listed = m.mul(m.ceilDiv(exist, tileLists.tokens),
                       tileLists.count * tileLists.tokens / tokens);
  Value keys =
      program.getRow(plan.getNamedDim(type.getOf()), tile.batchRow).size;
  SmallVector<Value> place = getTileIndices(program, tile, slices);
  place.push_back(tile.keyHead);
  ListsOfTile of = getListsOfTile(program, tile, selection);
  RowLists rows = {.buffer = program.getBuffer(selection),
                   .offsets = of.offsets,
                   .along = of.along,
                   .every = static_cast<int64_t>(type.getTokens()),
                   .step = tileLists.tokens,
                   .heads = of.heads,
                   .first = tile.firstToken,
                   .rows = listed,
                   .end = of.end};
  UnionBuffers to = {.blocks = program.import(lists.blocks),
                     .members = lists.members ? program.import(lists.members)
                                              : Value(),
                     .counts = program.import(lists.counts),
                     .place = place};
  ListCode(program, rows, m.ceilDiv(keys, type.getBlock()), tileLists.count,
           warps)
      .unite(to);
  launch(program, grid);
  plan.setUnionLists(selection, tokens, lists);
}

static bool takesSets(Operation *reader) {
  if (isa<UnionOp>(reader))
    return true;
  auto scoring = dyn_cast<ScoringOpInterface>(reader);
  if (!scoring || !scoring.getValue())
    return false;
  // Exact programs with other tiles have no unions.
  nsatile::ScheduleAttr schedule = getSchedule(reader);
  return schedule && schedule.getOrder() == nsatile::LoopOrder::Union &&
         (schedule.getExactTokens() == 0 ||
          schedule.getExactTokens() == schedule.getTokens());
}

Operation *nsacc::findOrderedReader(Value selection) {
  auto readers = selection.getUsers();
  auto found = llvm::find_if_not(readers, takesSets);
  return found == readers.end() ? nullptr : *found;
}
