//===- SelectionLists.cpp - Lists of selected blocks in memory ------------===//

#include "SelectionLists.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

static Tile sort(TileMath &math, Tile rows) {
  return {nsatile::SortOp::create(math.getBuilder(), math.getLoc(),
                                  rows.value.getType(),
                                  nsatile::Order::Ascending, rows.value),
          TileAxes::Matrix};
}

/// Each row moved by one column, with -1 in front.
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
  // Repetitions become padding, which a second sort takes behind the others.
  Tile again = math.compare(arith::CmpIPredicate::eq, indices,
                            getColumnsBefore(math, indices));
  return sort(math, math.select(again, padding, indices));
}

LogicalResult nsacc::buildUnionLists(PlanBuilder &plan, const QueryShape &shape,
                                     AttendOp op) {
  int64_t tokens = getSchedule(op).getTokens();
  Value selection = op.getSelection();
  if (plan.getUnionLists(selection, tokens))
    return success();
  auto type = cast<SelectionType>(selection.getType());
  TileLists tileLists(type, shape.dims, tokens, shape.group);
  int64_t width = tileLists.count * static_cast<int64_t>(type.getTop());
  if (width > kMostListed)
    return op.emitError("a query tile of ")
           << tokens << " tokens may select " << width
           << " blocks, and order=union lists at most " << kMostListed
           << "; set tokens="
           << std::max<int64_t>(1, tokens * kMostListed / width);

  OpBuilder &outside = plan.getBuilder();
  SmallVector<Value> sizes = getTileSizes(plan, shape, tokens);
  sizes.push_back(plan.getSize(shape.keyHead));
  auto allocate = [&](ArrayRef<int64_t> columns) {
    SmallVector<int64_t> dims(sizes.size(), ShapedType::kDynamic);
    llvm::append_range(dims, columns);
    return plan.allocate(MemRefType::get(dims, outside.getI32Type()), sizes);
  };
  int64_t words = llvm::divideCeil(tileLists.count, nsatile::UniteOp::wordBits);
  UnionLists lists = {allocate({width}), allocate({width, words}),
                      allocate({1})};

  ProgramBuilder program(plan, op.getLoc(), "union");
  program.setOps(op.getOperation());
  IndexMath m = program.math();
  QueryGrid grid = {shape, tokens};
  QueryTile tile = createQueryTile(program, shape.dims, tokens, shape.group,
                                   getPlace(program, grid));
  Value left = m.sub(tile.numTokens, tile.firstToken);
  Value exist = m.max(m.min(left, m.constant(tokens)), m.constant(0));
  // A token has as many as heads select for themselves.
  Value listed = m.mul(m.ceilDiv(exist, tileLists.tokens),
                       tileLists.count * tileLists.tokens / tokens);
  Value keys =
      program.getRow(plan.getNamedDim(type.getOf()), tile.batchRow).size;
  SmallVector<Value> place = getTileIndices(program, tile);
  place.push_back(tile.keyHead);
  nsatile::UniteOp::create(
      program.getBuilder(), program.getLoc(),
      loadTileLists(program, tile, selection), listed,
      m.ceilDiv(keys, type.getBlock()), program.import(lists.blocks),
      program.import(lists.members), program.import(lists.counts), place);
  launch(program, grid);
  plan.setUnionLists(selection, tokens, lists);
  return success();
}
