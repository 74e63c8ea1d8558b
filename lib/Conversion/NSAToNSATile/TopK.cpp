//===- TopK.cpp - Programs that select key blocks -------------------------===//

#include "NSA/IR/NSANames.h"
#include "Selecting.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

//===----------------------------------------------------------------------===//
// Sort keys
//===----------------------------------------------------------------------===//

/// Evaluates `where` for blocks that exist.
Tile Selecting::isAllowed(const Columns &columns, Tile inSequence, Tile block,
                          Tile position) {
  SmallVector<Tile> arguments = {index(tile.batchRow), representative.head,
                                 representative.token, position, block};
  Demand demand;
  demand.places = ScalarPlaces::get(op);
  if (!needsAssertion(op.getMask(), demand.places))
    return tileRegion(op.getMask(), arguments, math, {program, tile.batchRow});
  demand.clause = "where";
  demand.op = getOpNumber(op);
  demand.active =
      math.apply<arith::AndIOp>(inSequence, exists(math, representative.token));
  demand.positions.assign(arguments.begin(), arguments.end() - 1);
  demand.key = block;
  demand.firstKey = columns.first;
  return tileRegion(op.getMask(), arguments, math,
                    {program, tile.batchRow, &demand});
}

Tile Selecting::exists(TileMath &rows, Tile token) {
  return rows.apply<arith::AndIOp>(
      rows.compare(arith::CmpIPredicate::sge, token,
                   index(program.math().constant(0))),
      rows.compare(arith::CmpIPredicate::slt, token, index(tile.numTokens)));
}

Tile Selecting::getKeys(const Columns &columns) {
  Type i32 = builder.getI32Type(), i64Type = builder.getI64Type();
  Type indexType = builder.getIndexType();
  Tile score = getScores(columns);
  Tile block = getIndices(math, columns);
  Tile blockWide = math.convert<arith::IndexCastOp>(block, i64Type);
  Tile position = math.apply<arith::AddIOp>(representative.token, index(shift));
  Tile exists =
      math.compare(arith::CmpIPredicate::slt, block, index(numBlocks));
  if (!op.getMask().empty())
    exists = math.apply<arith::AndIOp>(
        exists, isAllowed(columns, exists, block, position));

  // Bits of an IEEE number order like its value once negative ones are turned
  // over; adding 0 makes -0 into 0.
  Tile number = math.apply<arith::AddFOp>(score, real(0.0));
  Tile bits = math.convert<arith::BitcastOp>(number, i32);
  Tile turned = math.apply<arith::XOrIOp>(bits, math.integer(i32, 0x7fffffff));
  Tile negative =
      math.compare(arith::CmpIPredicate::slt, bits, math.integer(i32, 0));
  Tile ordered = math.convert<arith::ExtSIOp>(
      math.select(negative, turned, bits), i64Type);
  ordered = math.apply<arith::AddIOp>(ordered, i64(int64_t{1} << 31));
  Tile isNaN = math.compare(arith::CmpFPredicate::UNO, score, score);
  Tile isAbsent = math.compare(arith::CmpFPredicate::OEQ, score, real(kAbsent));

  auto makeKey = [&](int64_t sortClass, Tile value) {
    Tile shifted = math.apply<arith::ShLIOp>(value, i64(kKeyIndexBits));
    return math.apply<arith::OrIOp>(shifted, i64(sortClass << kClassShift));
  };
  Tile key = makeKey(kNumber, ordered);
  key = math.select(isNaN, i64(kNaN << kClassShift), key);
  key = math.select(isAbsent, i64(kAbsentClass), key);

  // Forced blocks: the first ones, then the query's own and those before it.
  if (op.getFirst() > 0) {
    Tile isFirst =
        math.compare(arith::CmpIPredicate::slt, blockWide, i64(op.getFirst()));
    Tile rank = math.apply<arith::SubIOp>(i64(0xffffffff), blockWide);
    key = math.select(isFirst, makeKey(kForced, rank), key);
  }
  if (op.getLast() > 0) {
    Tile own = math.apply<arith::FloorDivSIOp>(
        position, math.integer(indexType, type.getBlock()));
    Tile back = math.apply<arith::SubIOp>(own, block);
    Tile isLast = math.apply<arith::AndIOp>(
        math.compare(arith::CmpIPredicate::sge, back,
                     math.integer(indexType, 0)),
        math.compare(arith::CmpIPredicate::slt, back,
                     math.integer(indexType, op.getLast())));
    if (op.getFirst() > 0)
      isLast = math.apply<arith::AndIOp>(
          isLast, math.compare(arith::CmpIPredicate::sge, blockWide,
                               i64(op.getFirst())));
    Tile rank = math.apply<arith::SubIOp>(
        i64(0x7fffffff), math.convert<arith::IndexCastOp>(back, i64Type));
    key = math.select(isLast, makeKey(kForced, rank), key);
  }
  Tile tie = math.apply<arith::SubIOp>(i64(kKeyIndexMask), blockWide);
  key = math.apply<arith::OrIOp>(key, tie);
  return math.select(exists, key, i64(kAbsentClass));
}

//===----------------------------------------------------------------------===//
// The running list
//===----------------------------------------------------------------------===//

/// First block past the blocks that can be candidates or forced.
Value Selecting::getLastBlock() {
  IndexMath m = program.math();
  Value end;
  if (sharing.keyHeads > 1 ||
      needsAssertion(op.getMask(), ScalarPlaces::get(op))) {
    // Masks may differ between heads, and are asked of every block.
    end = numBlocks;
  } else {
    end = tiles.getEnd(importance());
    end = m.max(end, m.constant(op.getFirst()));
  }
  if (op.getLast() > 0) {
    Value last = m.min(m.add(tile.firstToken, tile.tokens), tile.numTokens);
    Value position = m.add(m.add(last, -1), shift);
    end = m.max(end, m.add(m.floorDiv(position, type.getBlock()), 1));
  }
  return m.max(m.min(end, numBlocks), m.constant(0));
}

/// Loads the counts of rows, and asserts that each is 0 to `top` where the row
/// exists.
Tile Selecting::loadCounts(TileMath &rows, Representative at) {
  Value buffer = program.getBuffer(op.getCount());
  Tile token = rows.apply<arith::AddIOp>(at.token, index(tile.rowStart));
  SmallVector<Value> indices;
  if (tile.dims.batch)
    indices.push_back(rows.toRow(index(tile.batchRow)));
  indices.append({rows.toRow(token), rows.toRow(at.head)});
  Type elementType = cast<MemRefType>(buffer.getType()).getElementType();
  Tile counts = {nsatile::GatherOp::create(
                     builder, loc, rows.getType(TileAxes::Row, elementType),
                     buffer, indices),
                 TileAxes::Row};
  if (!elementType.isInteger(64))
    counts = rows.convert<arith::ExtSIOp>(counts, builder.getI64Type());

  Tile inside = rows.apply<arith::AndIOp>(
      rows.compare(arith::CmpIPredicate::sge, counts, i64(0)),
      rows.compare(arith::CmpIPredicate::sle, counts, i64(op.getTop())));
  Tile isAbsent = rows.apply<arith::XOrIOp>(
      exists(rows, at.token), math.integer(builder.getI1Type(), 1));
  inside = rows.apply<arith::OrIOp>(inside, isAbsent);
  SmallVector<Value> operands = {program.math().constant(getOpNumber(op))};
  operands.append(indices);
  if (tile.dims.batch)
    operands[1] = tile.batchRow;
  operands.push_back(rows.toRow(
      rows.convert<arith::IndexCastOp>(counts, builder.getIndexType())));
  std::string message = "count " + describeTensor(op.getCount()) + " at " +
                        describeElement(op.getCount(), /*first=*/1) +
                        (tile.dims.batch ? " is {4}" : " is {3}") +
                        ", but must be 0 to " + std::to_string(op.getTop()) +
                        " (top)";
  nsatile::AssertOp::create(builder, op.getLoc(), rows.toRow(inside),
                            builder.getStringAttr(message), operands);
  return counts;
}

/// Asserts all counts. A count out of range is an error even where another row
/// counts.
void Selecting::assertCounts() {
  IndexMath m = program.math();
  int64_t count = sharing.tokens * sharing.heads;
  TileMath rows(builder, loc, count, /*columns=*/1);
  Tile row = {nsatile::IotaOp::create(
                  builder, loc,
                  RankedTensorType::get({count}, builder.getIndexType()),
                  m.constant(0)),
              TileAxes::Row};
  Tile heads = index(m.constant(sharing.heads));
  Tile token = rows.apply<arith::AddIOp>(rows.apply<arith::DivUIOp>(row, heads),
                                         index(tile.firstToken));
  Tile head = rows.apply<arith::RemUIOp>(row, heads);
  scf::ForOp::create(
      builder, loc, m.constant(0), m.constant(sharing.keyHeads), m.constant(1),
      ValueRange(), [&](OpBuilder &, Location, Value member, ValueRange) {
        Value first = getFirstHead(m.add(firstKeyHead, member));
        loadCounts(rows,
                   {token, rows.apply<arith::AddIOp>(head, index(first))});
        scf::YieldOp::create(builder, loc);
      });
}

/// Blocks of keys, as i32.
Tile Selecting::getBlock(TileMath &entries, Tile keys) {
  Tile block = entries.apply<arith::SubIOp>(
      i64(kKeyIndexMask),
      entries.apply<arith::AndIOp>(keys, i64(kKeyIndexMask)));
  return entries.convert<arith::TruncIOp>(block, builder.getI32Type());
}

Tile Selecting::getNumbers(TileMath &rows) {
  Tile top = i64(op.getTop());
  if (!op.getCount())
    return top;
  if (sharing.isShared())
    assertCounts();
  return rows.apply<arith::MinSIOp>(top, loadCounts(rows, representative));
}

/// Block indices of the list: as many as asked for, ascending, padded with -1.
Tile Selecting::trim(Value list) {
  int64_t width = type.getTop();
  Type i64Type = builder.getI64Type();
  TileMath entries(builder, loc, sharing.getUnits(), width);
  Tile keys = {list, TileAxes::Matrix};
  Tile allowed = getNumbers(entries);
  if (op.getPlus()) {
    Tile forced =
        entries.compare(arith::CmpIPredicate::sge, keys, i64(kLeastForced));
    Tile ones = entries.select(forced, real(1.0), real(0.0));
    Tile sum = {nsatile::ReduceOp::create(
                    builder, loc,
                    entries.getType(TileAxes::Row, builder.getF32Type()),
                    nsatile::ReduceKind::Sum, ones.value, /*dim=*/1),
                TileAxes::Row};
    allowed = entries.apply<arith::AddIOp>(
        allowed, entries.convert<arith::FPToSIOp>(sum, i64Type));
  }
  Value zero = program.math().constant(0);
  Tile rank = {nsatile::IotaOp::create(
                   builder, loc,
                   RankedTensorType::get({width}, builder.getIndexType()),
                   zero),
               TileAxes::Column};
  rank = entries.convert<arith::IndexCastOp>(rank, i64Type);
  Tile kept = entries.apply<arith::AndIOp>(
      entries.compare(arith::CmpIPredicate::slt, rank, allowed),
      entries.compare(arith::CmpIPredicate::sge, keys, i64(kLeastPresent)));
  // Indices have fewer bits than sort keys, which halves what a sort holds.
  Type i32 = builder.getI32Type();
  Tile padding = math.integer(i32, kKeyIndexMask + 1);
  Tile indices = entries.select(kept, getBlock(entries, keys), padding);
  indices.value =
      nsatile::SortOp::create(builder, loc, indices.value.getType(),
                              nsatile::Order::Ascending, indices.value);
  Tile isPadding = entries.compare(arith::CmpIPredicate::eq, indices, padding);
  return entries.select(isPadding, math.integer(i32, -1), indices);
}

void Selecting::store(Value indices, Value first) {
  if (sharing.isShared())
    storeShared(indices, first);
  else
    storeOwn(indices, first);
}

/// Stores tensor<tokens·heads x columns>, one list for each row of the tile.
void Selecting::storeOwn(Value indices, Value first) {
  IndexMath m = program.math();
  nsatile::TilePlace place = {.offsets = tile.getBatch()};
  int64_t token = place.offsets.size();
  place.offsets.append({m.add(tile.rowStart, tile.firstToken),
                        getFirstHead(tile.keyHead), first});
  place.dims = {token, token + 1, token + 2};
  place.limits = {m.add(tile.rowStart, tile.numTokens),
                  program.getSize(type.getDims().back()),
                  m.constant(type.getTop())};
  SmallVector<ReassociationIndices> groups = {{0, 1}, {2}};
  indices = tensor::ExpandShapeOp::create(
      builder, loc,
      RankedTensorType::get(
          {tile.tokens, sharing.heads,
           cast<RankedTensorType>(indices.getType()).getDimSize(1)},
          builder.getI32Type()),
      indices, groups);
  nsatile::storeTile(builder, loc, indices, program.getBuffer(op.getResult()),
                     place);
}

/// Merges each tile's keys with a sorted list.
void Selecting::sortTiles() {
  IndexMath m = program.math();
  auto listType = RankedTensorType::get({sharing.getUnits(), type.getTop()},
                                        builder.getI64Type());
  Value empty =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(listType));
  int64_t period = ImportanceTiles::getPeriod(importance());
  Value end = getLastBlock();
  SmallVector<Value> inits = {empty};
  if (schedule.getHalo() == nsatile::Halo::Carry && period == 1) {
    tiles.startCarrying(importance(), chunk);
    inits.append(tiles.getCarried());
  }
  auto body = [&](Value firstBlock, ValueRange state) -> SmallVector<Value> {
    tiles.setCarried(state.drop_front());
    auto merge = [&](Value first, Value list) -> Value {
      Tile keys = getKeys({first, chunk, period});
      return nsatile::TopOp::create(builder, loc, listType, list,
                                    math.toMatrix(keys),
                                    /*insert=*/IntegerAttr());
    };
    if (period == 1) {
      SmallVector<Value> next = {merge(firstBlock, state[0])};
      next.append(tiles.getCarried());
      return next;
    }
    // With a long stride, blocks stand alike again only after more than there
    // are.
    constexpr int64_t shortest = 64;
    Value past = m.constant(period);
    if (period >= shortest)
      past = m.min(past, m.sub(end, firstBlock));
    auto phases = scf::ForOp::create(
        builder, loc, m.constant(0), past, m.constant(1), state,
        [&](OpBuilder &, Location, Value phase, ValueRange carried) {
          scf::YieldOp::create(
              builder, loc,
              merge(arith::AddIOp::create(builder, loc, firstBlock, phase),
                    carried[0]));
        });
    return {phases.getResult(0)};
  };
  auto fold = foldColumns(program, end, chunk * period, inits, body);
  store(trim(fold.getResult(0)).value, m.constant(0));
}

LogicalResult Selecting::build() {
  if (failed(tiles.prepare(importance())))
    return failure();
  if (schedule.getMethod() == nsatile::SelectMethod::Threshold)
    raiseThreshold();
  else
    sortTiles();
  return success();
}

//===----------------------------------------------------------------------===//
// Building programs
//===----------------------------------------------------------------------===//

/// Computes log-sum-exps that the importance needs, for tiles of several key
/// heads.
static LogicalResult materializeLses(PlanBuilder &plan, const QueryShape &shape,
                                     Value importance,
                                     nsatile::ScheduleAttr schedule,
                                     llvm::DenseSet<Value> &visited) {
  Operation *op = importance.getDefiningOp();
  if (!op || plan.isMaterialized(importance) ||
      !visited.insert(importance).second)
    return success();
  if (auto source = dyn_cast<ImportanceOp>(op)) {
    Value lse = source.getLse();
    if (!lse || plan.isMaterialized(lse))
      return success();
    return materializeLse(plan, shape, lse, schedule);
  }
  for (Value operand : op->getOperands())
    if (isa<BlocksOp, MapOp>(op) &&
        failed(materializeLses(plan, shape, operand, schedule, visited)))
      return failure();
  return success();
}

LogicalResult nsacc::buildTopKProgram(PlanBuilder &plan,
                                      const QueryShape &shape, TopKOp op) {
  nsatile::ScheduleAttr schedule = getSchedule(op);
  FailureOr<Sharing> sharing = getSharing(plan, shape, op, schedule);
  if (failed(sharing))
    return failure();
  llvm::DenseSet<Value> visited;
  if (sharing->keyHeads > 1 &&
      failed(
          materializeLses(plan, shape, op.getImportance(), schedule, visited)))
    return failure();
  QueryGrid grid = {.shape = shape,
                    .tokens = sharing->tokens,
                    .shareTokens = sharing->shareTokens,
                    .keyHeads = sharing->keyHeads,
                    .headParts = sharing->parts,
                    .stateSlices = plan.findResultSlices(op.getResult())};
  if (schedule.getSplits() != 1)
    return buildSplitSelection(plan, grid, op, schedule, *sharing);
  ProgramBuilder program(plan, op.getLoc(), "select", schedule);
  program.setOps(op.getOperation());
  if (failed(Selecting(program, grid, op, schedule, *sharing).build()))
    return failure();
  launch(program, grid);
  return success();
}
