//===- TopK.cpp - Programs that select key blocks -------------------------===//

#include "Importance.h"
#include "QueryProgram.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <limits>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

static constexpr double kAbsent = -std::numeric_limits<double>::infinity();

/// A sort key orders blocks totally: its class, then the score, then the lower
/// index, from the highest bits down.
static constexpr int64_t kIndexBits = 29;
static constexpr int64_t kIndexMask = (int64_t{1} << kIndexBits) - 1;
static constexpr int64_t kClassShift = kIndexBits + 32;
enum SortClass : int64_t {
  kAbsentClass = 0,
  kNaN = 1,
  kNumber = 2,
  kForced = 3
};

namespace {

/// Which rows select together. A tile has `tokens` tokens of `heads` heads; a
/// unit is `shareTokens` of the tokens times `shareHeads` of the heads, in the
/// tiles of `keyHeads` key heads.
struct Sharing {
  int64_t tokens, heads;
  int64_t shareTokens, shareHeads, keyHeads;

  int64_t getGroups() const { return tokens / shareTokens; }
  int64_t getUnitHeads() const { return heads / shareHeads; }
  int64_t getUnits() const { return getGroups() * getUnitHeads(); }
  bool isShared() const { return shareTokens * shareHeads * keyHeads > 1; }
};

/// The program of one topk.
class Selecting {
public:
  Selecting(ProgramBuilder &program, const QueryShape &shape, TopKOp op,
            nsatile::ScheduleAttr schedule, Sharing sharing);

  LogicalResult build();

private:
  /// The row of each unit that speaks for it where a position is needed.
  struct Speaker {
    Tile token, head;
  };
  QueryTile getTile(Value keyHead);
  Speaker getSpeaker();

  /// Importance of blocks for each unit; -inf where absent.
  Tile getScores(const Columns &columns);
  /// The same for the rows of one key head's tile.
  Tile reduceTokens(const QueryTile &from, Tile scores, int64_t count);
  Tile keepHead(Tile scores, int64_t head, int64_t count);
  Tile getBlocks(const Columns &columns);
  Tile isAllowed(const Columns &columns, Tile exists, Tile block,
                 Tile position);
  Tile isSpeaking();
  void requireCount(TileMath &entries, Tile count);
  Tile getKeys(const Columns &columns);
  Value getLastBlock();
  Tile loadCount(TileMath &entries);
  Tile trim(Value list);
  void store(Value indices);
  void storeShared(Value indices);

  Tile real(double value) {
    return {math.constant(Spread::Scalar, value), Spread::Scalar};
  }
  Tile i64(int64_t value) { return math.integer(builder.getI64Type(), value); }
  Tile index(Value value) { return {value, Spread::Scalar}; }
  Value importance() { return op.getImportance(); }

  ProgramBuilder &program;
  OpBuilder &builder;
  Location loc;
  const QueryShape &shape;
  TopKOp op;
  nsatile::ScheduleAttr schedule;
  Sharing sharing;
  SelectionType type;
  QueryPlace place;
  Value firstKeyHead, shift, numBlocks;
  QueryTile tile;
  ImportanceTiles tiles;
  int64_t chunk;
  TileMath math;
  Speaker speaker;
};

} // namespace

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

static NamedDimAttr getTokenDim(ProgramBuilder &program, SelectionType type) {
  bool ragged =
      static_cast<bool>(program.getPlan().getOffsetsInput(type.getOf()));
  return NamedDimAttr::get(type.getContext(), type.getOf(), ragged);
}

/// Positions of a batch row's tokens count from `shift`, and rows that share
/// are neighbours by position: tiles start at a multiple of what shares.
static QueryPlace getAlignedPlace(ProgramBuilder &program,
                                  const QueryShape &shape, SelectionType type,
                                  int64_t shareTokens) {
  IndexMath m = program.math();
  QueryPlace place = getProgramPlace(program);
  if (shareTokens == 1)
    return place;
  Value shift =
      m.sub(program.getRow(getTokenDim(program, type), place.batchRow).size,
            program.getRow(shape.dims.token, place.batchRow).size);
  place.origin =
      m.sub(m.mul(m.floorDiv(shift, shareTokens), shareTokens), shift);
  return place;
}

Selecting::Selecting(ProgramBuilder &program, const QueryShape &shape,
                     TopKOp op, nsatile::ScheduleAttr schedule, Sharing sharing)
    : program(program), builder(program.getBuilder()), loc(program.getLoc()),
      shape(shape), op(op), schedule(schedule), sharing(sharing),
      type(op.getResult().getType()),
      place(getAlignedPlace(program, shape, type, sharing.shareTokens)),
      firstKeyHead(program.math().mul(place.keyHead, sharing.keyHeads)),
      tile(getTile(firstKeyHead)),
      tiles(program, tile, shape.keyHead, schedule), chunk(schedule.getKeys()),
      math(builder, loc, sharing.getUnits(), chunk) {
  IndexMath m = program.math();
  Value tokens = program.getRow(getTokenDim(program, type), tile.batchRow).size;
  shift = m.sub(tokens, tile.numTokens);
  numBlocks = m.ceilDiv(tokens, type.getBlock());
  speaker = getSpeaker();
}

QueryTile Selecting::getTile(Value keyHead) {
  QueryPlace here = place;
  here.keyHead = keyHead;
  return createQueryTile(program, shape.dims, sharing.tokens, shape.group,
                         here);
}

Selecting::Speaker Selecting::getSpeaker() {
  IndexMath m = program.math();
  int64_t units = sharing.getUnits(), unitHeads = sharing.getUnitHeads();
  auto rows = RankedTensorType::get({units}, builder.getIndexType());
  Tile unit = {nsatile::IotaOp::create(builder, loc, rows, m.constant(0)),
               Spread::Row};
  Tile group = unit, head = index(m.constant(0));
  if (unitHeads > 1) {
    Tile heads = index(m.constant(unitHeads));
    group = math.apply<arith::DivUIOp>(unit, heads);
    head = math.apply<arith::RemUIOp>(unit, heads);
  }
  auto scale = [&](Tile tile, int64_t factor) {
    return factor == 1
               ? tile
               : math.apply<arith::MulIOp>(tile, index(m.constant(factor)));
  };
  Tile token = math.apply<arith::AddIOp>(scale(group, sharing.shareTokens),
                                         index(tile.firstToken));
  if (sharing.shareTokens > 1) {
    // Only tokens that exist.
    if (op.getShareTokensBy() == ShareBy::First) {
      token = math.apply<arith::MaxSIOp>(token, index(m.constant(0)));
    } else {
      token = math.apply<arith::AddIOp>(
          token, index(m.constant(sharing.shareTokens - 1)));
      token =
          math.apply<arith::MinSIOp>(token, index(m.add(tile.numTokens, -1)));
    }
  }
  int64_t member = op.getShareHeadsBy() == ShareBy::Last
                       ? sharing.shareHeads * sharing.keyHeads - 1
                       : 0;
  head = math.apply<arith::AddIOp>(
      scale(head, sharing.shareHeads),
      index(m.add(m.mul(firstKeyHead, sharing.heads), member)));
  return {token, head};
}

//===----------------------------------------------------------------------===//
// Importance of blocks
//===----------------------------------------------------------------------===//

static EntryReduction::Kind getKind(ShareBy by) {
  switch (by) {
  case ShareBy::First: // of one member
  case ShareBy::Last:
  case ShareBy::Sum:
    return EntryReduction::Kind::Sum;
  case ShareBy::Mean:
    return EntryReduction::Kind::Mean;
  case ShareBy::Max:
    return EntryReduction::Kind::Max;
  }
  llvm_unreachable("unknown way to share");
}

Tile Selecting::reduceTokens(const QueryTile &from, Tile scores,
                             int64_t count) {
  if (sharing.shareTokens == 1)
    return scores;
  IndexMath m = program.math();
  int64_t rows = sharing.tokens * sharing.heads;
  TileMath all(builder, loc, rows, count);
  Value tokens = from.tokenOfRow;
  if (sharing.heads != from.group)
    tokens = nsatile::IotaOp::create(
        builder, loc, RankedTensorType::get({rows}, builder.getIndexType()),
        from.firstToken);
  Tile token = {tokens, Spread::Row};
  auto compare = [&](arith::CmpIPredicate predicate, Value bound) {
    return all.compare(predicate, token, index(bound));
  };
  Tile exists = all.apply<arith::AndIOp>(
      compare(arith::CmpIPredicate::sge, m.constant(0)),
      compare(arith::CmpIPredicate::slt, from.numTokens));
  if (op.getShareTokensBy() == ShareBy::First ||
      op.getShareTokensBy() == ShareBy::Last) {
    bool isFirst = op.getShareTokensBy() == ShareBy::First;
    Tile place = all.apply<arith::RemUIOp>(
        all.apply<arith::SubIOp>(token, index(from.firstToken)),
        index(m.constant(sharing.shareTokens)));
    Tile atEdge =
        all.compare(arith::CmpIPredicate::eq, place,
                    index(m.constant(isFirst ? 0 : sharing.shareTokens - 1)));
    // The edge of a group that the batch row's end cuts.
    Tile atEnd = compare(arith::CmpIPredicate::eq,
                         isFirst ? m.constant(0) : m.add(from.numTokens, -1));
    exists = all.apply<arith::AndIOp>(exists,
                                      all.apply<arith::OrIOp>(atEdge, atEnd));
  }
  scores = all.select(exists, scores, real(kAbsent));
  return reduceWithin(builder, loc, scores, getKind(op.getShareTokensBy()),
                      sharing.getGroups(), sharing.shareTokens);
}

/// Rows of other heads of a unit than `head` are absent.
Tile Selecting::keepHead(Tile scores, int64_t head, int64_t count) {
  IndexMath m = program.math();
  int64_t rows = sharing.getGroups() * sharing.heads;
  TileMath all(builder, loc, rows, count);
  Tile row = {nsatile::IotaOp::create(
                  builder, loc,
                  RankedTensorType::get({rows}, builder.getIndexType()),
                  m.constant(0)),
              Spread::Row};
  Tile member =
      all.apply<arith::RemUIOp>(row, index(m.constant(sharing.shareHeads)));
  Tile kept =
      all.compare(arith::CmpIPredicate::eq, member, index(m.constant(head)));
  return all.select(kept, scores, real(kAbsent));
}

Tile Selecting::getScores(const Columns &columns) {
  int64_t count = columns.count;
  ShareBy by = op.getShareHeadsBy();
  bool isLast = by == ShareBy::Last, isOne = isLast || by == ShareBy::First;
  auto reduceHeads = [&](EntryReduction &reduction, Tile scores) {
    if (isOne && sharing.shareHeads > 1)
      scores = keepHead(scores, isLast ? sharing.shareHeads - 1 : 0, count);
    reduction.addWithin(scores, sharing.getUnits(), sharing.shareHeads);
  };
  if (sharing.keyHeads == 1) {
    Tile scores =
        reduceTokens(tile, tiles.evaluate(importance(), columns), count);
    if (sharing.shareHeads == 1)
      return scores;
    EntryReduction reduction(math, getKind(by));
    reduceHeads(reduction, scores);
    return reduction.get();
  }

  // One key head after the other.
  IndexMath m = program.math();
  int64_t begin = isLast ? sharing.keyHeads - 1 : 0;
  int64_t end = by == ShareBy::First ? 1 : sharing.keyHeads;
  EntryReduction start(math, getKind(by));
  auto loop = scf::ForOp::create(
      builder, loc, m.constant(begin), m.constant(end), m.constant(1),
      start.getCarried(),
      [&](OpBuilder &, Location, Value member, ValueRange carried) {
        QueryTile other = getTile(m.add(firstKeyHead, member));
        ImportanceTiles others(program, other, shape.keyHead, schedule);
        // What it needs was checked with the first one's.
        (void)others.prepare(importance());
        EntryReduction reduction(math, getKind(by), carried);
        reduceHeads(
            reduction,
            reduceTokens(other, others.evaluate(importance(), columns), count));
        scf::YieldOp::create(builder, loc, reduction.getCarried());
      });
  return EntryReduction(math, getKind(by), loop.getResults()).get();
}

//===----------------------------------------------------------------------===//
// Sort keys
//===----------------------------------------------------------------------===//

Tile Selecting::getBlocks(const Columns &columns) {
  IndexMath m = program.math();
  auto type = RankedTensorType::get({columns.count}, builder.getIndexType());
  if (columns.step == 1)
    return {nsatile::IotaOp::create(builder, loc, type, columns.first),
            Spread::Column};
  Tile count = {nsatile::IotaOp::create(builder, loc, type, m.constant(0)),
                Spread::Column};
  return math.apply<arith::AddIOp>(
      math.apply<arith::MulIOp>(count, index(m.constant(columns.step))),
      index(columns.first));
}

/// `where`, asked of blocks that exist.
Tile Selecting::isAllowed(const Columns &columns, Tile exists, Tile block,
                          Tile position) {
  SmallVector<Tile> arguments = {index(tile.batchRow), speaker.head,
                                 speaker.token, position, block};
  Demand demand;
  demand.places = ScalarPlaces::get(op);
  if (!mayFault(op.getMask(), demand.places))
    return tileRegion(op.getMask(), arguments, math, {program, tile.batchRow});
  demand.clause = "where";
  demand.op = getOpNumber(op);
  demand.active = math.apply<arith::AndIOp>(exists, isSpeaking());
  demand.positions.assign(arguments.begin(), arguments.end() - 1);
  demand.key = block;
  demand.firstKey = columns.first;
  return tileRegion(op.getMask(), arguments, math,
                    {program, tile.batchRow, &demand});
}

/// Units whose speaker is a row that exists.
Tile Selecting::isSpeaking() {
  return math.apply<arith::AndIOp>(
      math.compare(arith::CmpIPredicate::sge, speaker.token,
                   index(program.math().constant(0))),
      math.compare(arith::CmpIPredicate::slt, speaker.token,
                   index(tile.numTokens)));
}

Tile Selecting::getKeys(const Columns &columns) {
  Type i32 = builder.getI32Type(), i64Type = builder.getI64Type();
  Type indexType = builder.getIndexType();
  Tile score = getScores(columns);
  Tile block = getBlocks(columns);
  Tile blockWide = math.convert<arith::IndexCastOp>(block, i64Type);
  Tile position = math.apply<arith::AddIOp>(speaker.token, index(shift));
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
    Tile shifted = math.apply<arith::ShLIOp>(value, i64(kIndexBits));
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
  Tile tie = math.apply<arith::SubIOp>(i64(kIndexMask), blockWide);
  key = math.apply<arith::OrIOp>(key, tie);
  return math.select(exists, key, i64(kAbsentClass));
}

//===----------------------------------------------------------------------===//
// The running list
//===----------------------------------------------------------------------===//

/// The end of the blocks that can be candidates or forced.
Value Selecting::getLastBlock() {
  IndexMath m = program.math();
  Value end;
  if (sharing.keyHeads > 1 || mayFault(op.getMask(), ScalarPlaces::get(op))) {
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

/// The count of each unit's speaker.
Tile Selecting::loadCount(TileMath &entries) {
  IndexMath m = program.math();
  Value buffer = program.getBuffer(op.getCount());
  SmallVector<Value> indices;
  if (tile.dims.batch)
    indices.push_back(entries.toRow(index(tile.batchRow)));
  indices.push_back(entries.toRow(
      entries.apply<arith::AddIOp>(speaker.token, index(tile.rowStart))));
  indices.push_back(entries.toRow(speaker.head));
  Type elementType = cast<MemRefType>(buffer.getType()).getElementType();
  Tile count = {nsatile::GatherOp::create(
                    builder, loc, entries.getType(Spread::Row, elementType),
                    buffer, indices),
                Spread::Row};
  if (!elementType.isInteger(64))
    count = entries.convert<arith::ExtSIOp>(count, builder.getI64Type());
  requireCount(entries, count);
  return count;
}

/// 0 to `top`, for rows that exist.
void Selecting::requireCount(TileMath &entries, Tile count) {
  Tile inside = entries.apply<arith::AndIOp>(
      entries.compare(arith::CmpIPredicate::sge, count, i64(0)),
      entries.compare(arith::CmpIPredicate::sle, count, i64(op.getTop())));
  Tile absent = entries.apply<arith::XOrIOp>(
      isSpeaking(), math.integer(builder.getI1Type(), 1));
  inside = entries.apply<arith::OrIOp>(inside, absent);
  Tile token =
      entries.apply<arith::AddIOp>(speaker.token, index(tile.rowStart));
  auto input = cast<BlockArgument>(op.getCount());
  std::string name =
      program.getPlan().getKernel().getArgumentName(input.getArgNumber());
  SmallVector<Tile> values = {index(program.math().constant(getOpNumber(op)))};
  if (tile.dims.batch)
    values.push_back(index(tile.batchRow));
  values.append(
      {token, speaker.head,
       entries.convert<arith::IndexCastOp>(count, builder.getIndexType())});
  std::string message =
      "count '" + name + "' at [" +
      (tile.dims.batch ? "{1}, {2}, {3}] is {4}" : "{1}, {2}] is {3}") +
      ", but must be 0 to " + std::to_string(op.getTop()) + " (top)";
  SmallVector<Value> operands;
  for (Tile value : values)
    operands.push_back(value.spread == Spread::Scalar ? value.value
                                                      : entries.toRow(value));
  nsatile::RequireOp::create(builder, op.getLoc(), entries.toRow(inside),
                             builder.getStringAttr(message), operands);
}

/// Block indices of the list: as many as asked for, ascending, padded with -1.
Tile Selecting::trim(Value list) {
  int64_t width = type.getTop();
  Type i64Type = builder.getI64Type();
  TileMath entries(builder, loc, sharing.getUnits(), width);
  Tile keys = {list, Spread::Matrix};
  Tile allowed = i64(op.getTop());
  if (op.getCount())
    allowed = entries.apply<arith::MinSIOp>(allowed, loadCount(entries));
  if (op.getPlus()) {
    Tile forced = entries.compare(arith::CmpIPredicate::sge, keys,
                                  i64(kForced << kClassShift));
    Tile ones = entries.select(forced, real(1.0), real(0.0));
    Tile sum = {nsatile::ReduceOp::create(
                    builder, loc,
                    entries.getType(Spread::Row, builder.getF32Type()),
                    nsatile::ReduceKind::Sum, ones.value, /*dim=*/1),
                Spread::Row};
    allowed = entries.apply<arith::AddIOp>(
        allowed, entries.convert<arith::FPToSIOp>(sum, i64Type));
  }
  Value zero = program.math().constant(0);
  Tile rank = {nsatile::IotaOp::create(
                   builder, loc,
                   RankedTensorType::get({width}, builder.getIndexType()),
                   zero),
               Spread::Column};
  rank = entries.convert<arith::IndexCastOp>(rank, i64Type);
  Tile kept = entries.apply<arith::AndIOp>(
      entries.compare(arith::CmpIPredicate::slt, rank, allowed),
      entries.compare(arith::CmpIPredicate::sge, keys,
                      i64(kNaN << kClassShift)));
  Tile block = entries.apply<arith::SubIOp>(
      i64(kIndexMask), entries.apply<arith::AndIOp>(keys, i64(kIndexMask)));
  Tile padding = i64(kIndexMask + 1);
  Tile indices = entries.select(kept, block, padding);
  indices.value =
      nsatile::SortOp::create(builder, loc, indices.value.getType(),
                              nsatile::Order::Ascending, indices.value);
  Tile isPadding = entries.compare(arith::CmpIPredicate::eq, indices, padding);
  indices = entries.select(isPadding, i64(-1), indices);
  return entries.convert<arith::TruncIOp>(indices, builder.getI32Type());
}

/// tensor<tokens·heads x top>, one list for each row of the tile.
void Selecting::store(Value indices) {
  IndexMath m = program.math();
  SmallVector<Value> offsets;
  if (tile.dims.batch)
    offsets.push_back(tile.batchRow);
  int64_t token = offsets.size();
  offsets.append({m.add(tile.rowStart, tile.firstToken),
                  m.mul(tile.keyHead, sharing.heads), m.constant(0)});
  SmallVector<int64_t> dims = {token, token + 1, token + 2};
  SmallVector<Value> limits = {m.add(tile.rowStart, tile.numTokens),
                               program.getSize(type.getDims().back()),
                               m.constant(type.getTop())};
  SmallVector<ReassociationIndices> groups = {{0, 1}, {2}};
  indices = tensor::ExpandShapeOp::create(
      builder, loc,
      RankedTensorType::get({tile.tokens, sharing.heads, type.getTop()},
                            builder.getI32Type()),
      indices, groups);
  nsatile::StoreOp::create(builder, loc, indices,
                           program.getBuffer(op.getResult()), offsets, limits,
                           dims);
}

/// Each token that exists gets the list of its group, for all heads of a unit.
void Selecting::storeShared(Value indices) {
  IndexMath m = program.math();
  int64_t top = type.getTop(), unitHeads = sharing.getUnitHeads();
  auto attr = [&](int64_t value) -> OpFoldResult {
    return builder.getIndexAttr(value);
  };
  auto loopOver = [&](Value begin, Value end,
                      llvm::function_ref<void(Value)> body) {
    scf::ForOp::create(builder, loc, begin, end, m.constant(1), ValueRange(),
                       [&](OpBuilder &, Location, Value index, ValueRange) {
                         body(index);
                         scf::YieldOp::create(builder, loc);
                       });
  };
  Value first = m.max(tile.firstToken, m.constant(0));
  Value end = m.min(m.add(tile.firstToken, tile.tokens), tile.numTokens);
  loopOver(first, end, [&](Value token) {
    Value group =
        m.floorDiv(m.sub(token, tile.firstToken), sharing.shareTokens);
    Value lists = tensor::ExtractSliceOp::create(
        builder, loc, indices,
        SmallVector<OpFoldResult>{m.mul(group, unitHeads), attr(0)},
        SmallVector<OpFoldResult>{attr(unitHeads), attr(top)},
        SmallVector<OpFoldResult>{attr(1), attr(1)});
    Value repeated = nsatile::BroadcastOp::create(
        builder, loc,
        RankedTensorType::get({unitHeads, sharing.shareHeads, top},
                              builder.getI32Type()),
        lists, ArrayRef<int64_t>{1});
    SmallVector<ReassociationIndices> groups = {{0, 1}, {2}};
    repeated = tensor::CollapseShapeOp::create(builder, loc, repeated, groups);
    loopOver(m.constant(0), m.constant(sharing.keyHeads), [&](Value member) {
      SmallVector<Value> offsets;
      if (tile.dims.batch)
        offsets.push_back(tile.batchRow);
      int64_t dim = offsets.size();
      Value keyHead = m.add(firstKeyHead, member);
      offsets.append({m.add(tile.rowStart, token),
                      m.mul(keyHead, sharing.heads), m.constant(0)});
      SmallVector<Value> limits = {program.getSize(type.getDims().back()),
                                   m.constant(top)};
      nsatile::StoreOp::create(builder, loc, repeated,
                               program.getBuffer(op.getResult()), offsets,
                               limits, SmallVector<int64_t>{dim + 1, dim + 2});
    });
  });
}

LogicalResult Selecting::build() {
  if (failed(tiles.prepare(importance())))
    return failure();
  IndexMath m = program.math();
  auto listType = RankedTensorType::get({sharing.getUnits(), type.getTop()},
                                        builder.getI64Type());
  Value empty =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(listType));
  int64_t period = ImportanceTiles::getPeriod(importance());
  auto loop = scf::ForOp::create(
      builder, loc, m.constant(0), getLastBlock(), m.constant(chunk * period),
      empty, [&](OpBuilder &, Location, Value firstBlock, ValueRange carried) {
        Value list = carried[0];
        auto merge = [&](Value first, Value list) -> Value {
          Tile keys = getKeys({first, chunk, period});
          return nsatile::TopOp::create(builder, loc, listType, list,
                                        math.toMatrix(keys));
        };
        if (period == 1) {
          list = merge(firstBlock, list);
        } else {
          auto phases = scf::ForOp::create(
              builder, loc, m.constant(0), m.constant(period), m.constant(1),
              list,
              [&](OpBuilder &, Location, Value phase, ValueRange carried) {
                scf::YieldOp::create(builder, loc,
                                     merge(arith::AddIOp::create(
                                               builder, loc, firstBlock, phase),
                                           carried[0]));
              });
          list = phases.getResult(0);
        }
        scf::YieldOp::create(builder, loc, list);
      });
  Value indices = trim(loop.getResult(0)).value;
  if (sharing.isShared())
    storeShared(indices);
  else
    store(indices);
  return success();
}

//===----------------------------------------------------------------------===//
// What can be compiled
//===----------------------------------------------------------------------===//

static FailureOr<Sharing> getSharing(PlanBuilder &plan, const QueryShape &shape,
                                     TopKOp op,
                                     nsatile::ScheduleAttr schedule) {
  Attribute head = op.getResult().getType().getDims().back();
  Sharing sharing;
  sharing.shareTokens = op.getShareTokens();
  sharing.tokens = llvm::alignTo(schedule.getTokens(), sharing.shareTokens);
  sharing.heads = head == shape.dims.head ? shape.group : 1;
  int64_t share = op.getShareHeads();
  int64_t heads = *plan.getStaticSize(head);
  if (heads % share != 0)
    return op.emitError("share heads ") << share << " doesn't divide the "
                                        << heads << " heads of the importance";
  if (share % sharing.heads != 0 && sharing.heads % share != 0) {
    InFlightDiagnostic error = op.emitError("a selection that ")
                               << share << " query heads share of groups of "
                               << sharing.heads << " isn't compiled yet";
    error.attachNote() << "run the program with --target oracle";
    return error;
  }
  sharing.shareHeads = std::min(share, sharing.heads);
  sharing.keyHeads = share / sharing.shareHeads;
  return sharing;
}

/// Log-sum-exps that the importance needs, which several key heads' tiles read.
static LogicalResult materializeLses(PlanBuilder &plan, const QueryShape &shape,
                                     Value importance,
                                     nsatile::ScheduleAttr schedule) {
  Operation *op = importance.getDefiningOp();
  if (!op || plan.isMaterialized(importance))
    return success();
  if (auto source = dyn_cast<ImportanceOp>(op)) {
    Value lse = source.getLse();
    if (!lse || plan.isMaterialized(lse))
      return success();
    return materializeLse(plan, shape, lse, schedule);
  }
  for (Value operand : op->getOperands())
    if (isa<BlocksOp, MapOp>(op) &&
        failed(materializeLses(plan, shape, operand, schedule)))
      return failure();
  return success();
}

LogicalResult nsacc::buildTopKProgram(PlanBuilder &plan,
                                      const QueryShape &shape, TopKOp op,
                                      nsatile::ScheduleAttr schedule) {
  FailureOr<Sharing> sharing = getSharing(plan, shape, op, schedule);
  if (failed(sharing))
    return failure();
  if (sharing->keyHeads > 1 &&
      failed(materializeLses(plan, shape, op.getImportance(), schedule)))
    return failure();
  ProgramBuilder program(plan, "select", schedule);
  if (failed(Selecting(program, shape, op, schedule, *sharing).build()))
    return failure();
  IndexMath m = plan.math();
  // Aligned tiles may start before the first token.
  Value tokens =
      m.add(plan.getSize(shape.dims.token), sharing->shareTokens - 1);
  Value rows =
      shape.dims.batch
          ? plan.getSize(shape.dims.batch)
          : plan.getNumRows(cast<NamedDimAttr>(shape.dims.token).getName());
  program.launch(m.ceilDiv(tokens, sharing->tokens),
                 m.floorDiv(plan.getSize(shape.keyHead), sharing->keyHeads),
                 rows);
  return success();
}
