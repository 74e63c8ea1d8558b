//===- DeclaredSelection.cpp - Programs that order handed-in selections ---===//

#include "NSA/IR/NSANames.h"
#include "SelectionLists.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

/// Lists of a width that one program orders: registers have room for so many
/// indices. Wide ones are spread over all threads, as tiles of few rows are.
static int64_t countLists(int64_t width) {
  constexpr int64_t narrow = 128, most = 16, wide = 512, mostWide = 4;
  return width <= narrow ? most
         : width <= wide ? mostWide
                         : std::max<int64_t>(1, mostWide * wide / width);
}

/// Indices of lists that exist are -1 or a block of the batch row's keys.
static void assertBlocks(ProgramBuilder &program, DeclareSelectionOp op,
                         Tile indices, TileMath &math, ArrayRef<Value> offsets,
                         Value batchRow, const ProgramBuilder::Row &row) {
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  IndexMath m = program.math();
  auto type = op.getResult().getType();
  NamedDimAttr keys = program.getPlan().getNamedDim(type.getOf());
  Value tokens = program.getRow(keys, batchRow).size;
  Value blocks = m.ceilDiv(tokens, type.getBlock());
  auto scalar = [](Value value) -> Tile { return {value, TileAxes::Scalar}; };
  auto iota = [&](TileAxes axes, Value start) -> Tile {
    auto shape =
        cast<RankedTensorType>(math.getType(axes, builder.getIndexType()));
    return {nsatile::IotaOp::create(builder, loc, shape, start), axes};
  };
  Tile value =
      math.convert<arith::IndexCastOp>(indices, builder.getIndexType());
  Tile list = iota(TileAxes::Row, offsets[offsets.size() - 3]);
  Tile fits = math.apply<arith::AndIOp>(
      math.compare(arith::CmpIPredicate::sge, value, scalar(m.constant(-1))),
      math.compare(arith::CmpIPredicate::slt, value, scalar(blocks)));
  Tile isBehind = math.compare(arith::CmpIPredicate::sge, list,
                               scalar(m.add(row.start, row.size)));
  fits = math.apply<arith::OrIOp>(fits, isBehind);

  SmallVector<Tile> values = {scalar(m.constant(getOpNumber(op)))};
  if (offsets.size() == 4)
    values.push_back(scalar(batchRow));
  values.append({list, scalar(offsets[offsets.size() - 2]),
                 iota(TileAxes::Column, m.constant(0)), value,
                 scalar(m.add(blocks, -1)), scalar(tokens), scalar(batchRow),
                 scalar(blocks)});
  // {n} counted from the element's position on.
  bool dense = offsets.size() == 4;
  auto place = [&](unsigned index) {
    return "{" + std::to_string(index + (dense ? 5 : 4)) + "}";
  };
  auto require = [&](Tile holds, const std::string &range) {
    std::string message =
        "selection " + describeTensor(op.getIndices()) + " at " +
        describeElement(op.getIndices(), /*first=*/1) + " is " + place(0) +
        "; expected -1" + range + ": " + type.getOf().str() + " has " +
        place(2) + " tokens in batch row " + place(3) + ", " + place(4) +
        " blocks of " + std::to_string(type.getBlock());
    SmallVector<Value> operands;
    for (Tile each : values)
      operands.push_back(each.axes == TileAxes::Scalar ? each.value
                                                       : math.toMatrix(each));
    nsatile::AssertOp::create(builder, op.getLoc(), math.toMatrix(holds),
                              builder.getStringAttr(message), operands);
  };
  Tile any =
      scalar(m.compare(arith::CmpIPredicate::sgt, blocks, m.constant(0)));
  Tile none =
      scalar(m.compare(arith::CmpIPredicate::sle, blocks, m.constant(0)));
  require(math.apply<arith::OrIOp>(fits, none), " or 0 to " + place(1));
  require(math.apply<arith::OrIOp>(fits, any), "");
}

/// Each batch row has as many lists as the tokens of attentions ask for.
static void assertLists(ProgramBuilder &program, DeclareSelectionOp op,
                        Value batchRow, const ProgramBuilder::Row &row) {
  OpBuilder &builder = program.getBuilder();
  IndexMath m = program.math();
  int64_t group = op.getResult().getType().getTokens();
  llvm::SmallSetVector<Attribute, 1> queries;
  for (Operation *user : op.getResult().getUsers())
    if (auto scoring = dyn_cast<ScoringOpInterface>(user))
      queries.insert(
          QueryDims::get(cast<NamedTensorType>(scoring.getQuery().getType()))
              .token);
  for (Attribute tokens : queries) {
    Value size = program.getRow(tokens, batchRow).size;
    Value expected = m.ceilDiv(size, group);
    Value holds = m.compare(arith::CmpIPredicate::eq, row.size, expected);
    std::string message =
        describeTensor(op.getIndices()) +
        " has {2} rows of indices in batch row {1}, expected {3}: " +
        toString(tokens) + " has {4} tokens, and each " +
        std::to_string(group) + " of them have one";
    nsatile::AssertOp::create(builder, op.getLoc(), holds,
                              builder.getStringAttr(message),
                              ValueRange{m.constant(getOpNumber(op)), batchRow,
                                         row.size, expected, size});
  }
}

/// A handed-in selection is a set: each list is sorted and stripped of
/// repetitions once, so that programs can walk it.
LogicalResult nsacc::buildDeclaredSelectionProgram(PlanBuilder &plan,
                                                   DeclareSelectionOp op) {
  auto type = op.getResult().getType();
  auto input = cast<NamedTensorType>(op.getIndices().getType());
  int64_t width = type.getTop();
  ProgramBuilder program(plan, op.getLoc(), "order");
  OpBuilder &builder = program.getBuilder();
  Location loc = program.getLoc();
  IndexMath m = program.math();
  int64_t lists = countLists(width);
  TileMath math(builder, loc, lists, width);
  Type i32 = builder.getI32Type();

  bool ragged = input.isRagged();
  int64_t tokenDim = ragged ? 0 : 1;
  Attribute token = input.getDims()[tokenDim];
  Attribute head = input.getDims()[tokenDim + 1];
  RowGrid grid = {
      .dim = token,
      .rows = ragged ? plan.getNumRows(cast<NamedDimAttr>(token).getName())
                     : plan.getSize(input.getDims().front()),
      .tokens = lists};
  auto [batchRow, number] = getRowTile(program, grid);
  ProgramBuilder::Row row = program.getRow(token, batchRow);
  Value firstList = m.mul(number, lists);
  SmallVector<Value> offsets;
  if (!ragged)
    offsets.push_back(batchRow);
  offsets.push_back(m.add(row.start, firstList));
  offsets.push_back(program.programId(1));
  offsets.push_back(m.constant(0));
  SmallVector<Value> limits = {m.add(row.start, row.size), m.constant(width)};
  SmallVector<int64_t> dims = {tokenDim, tokenDim + 2};
  Type stored = input.getElementType();
  Value loaded = nsatile::LoadOp::create(
      builder, loc,
      cast<RankedTensorType>(math.getType(TileAxes::Matrix, stored)),
      program.getBuffer(op.getIndices()), offsets, limits, dims,
      DenseI64ArrayAttr());
  Tile indices = {loaded, TileAxes::Matrix};

  if (ragged && type.getTokens() > 1)
    assertLists(program, op, batchRow, row);
  assertBlocks(program, op, indices, math, offsets, batchRow, row);
  if (stored.isInteger(64))
    indices = math.convert<arith::TruncIOp>(indices, i32);

  indices = sortDistinct(math, indices);
  Tile padding = math.integer(i32, kListPadding);
  Tile isPadding = math.compare(arith::CmpIPredicate::eq, indices, padding);
  indices = math.select(isPadding, math.integer(i32, -1), indices);
  nsatile::StoreOp::create(builder, loc, indices.value,
                           program.getBuffer(op.getResult()), offsets, limits,
                           dims);

  launch(program, grid, plan.getSize(head));
  return success();
}
