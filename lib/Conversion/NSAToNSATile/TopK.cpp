//===- TopK.cpp - Programs that select key blocks -------------------------===//

#include "AttendTiles.h"
#include "QueryProgram.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <limits>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A sort key orders blocks totally: its class, then the score, then the lower
/// index, from the highest bits down.
static constexpr int64_t kIndexBits = 29;
static constexpr int64_t kIndexMask = (int64_t{1} << kIndexBits) - 1;
static constexpr int64_t kClassShift = kIndexBits + 32;
enum SortClass : int64_t { kAbsent = 0, kNaN = 1, kNumber = 2, kForced = 3 };

namespace {

/// Where the importance of blocks comes from.
struct Source {
  ImportanceOp importance;
  BlockMap map = BlockMap::Sum;
  int64_t block = 0;
  PooledDimAttr pooled;
};

/// Rows that select for themselves: tokens, or tokens times query heads.
class Selecting {
public:
  Selecting(ProgramBuilder &program, const QueryTile &tile, TopKOp op,
            Source source, nsatile::ScheduleAttr schedule, Value lse)
      : program(program), builder(program.getBuilder()), loc(program.getLoc()),
        tile(tile), op(op), source(source), lse(lse),
        scorer(program, tile,
               cast<ScoringOpInterface>(source.importance.getOperation()),
               schedule),
        rows(scorer.getAllRows()), chunk(schedule.getKeys()),
        perQueryHead(source.importance.getHeads() == HeadReduction::None),
        units(perQueryHead ? tile.getRows() : tile.tokens),
        math(builder, loc, units, chunk), type(op.getResult().getType()) {}

  void build();

private:
  /// Blocks of one entry of the block's range of pooled keys: the value of each
  /// (zero where absent) and 1 where it is present.
  struct Entry {
    Tile value, present;
  };
  Entry getEntry(Value firstBlock, int64_t residue);
  Entry reduceHeads(Tile value, Tile visible);
  /// Importance of blocks [firstBlock, + chunk); -inf where absent.
  Tile getImportance(Value firstBlock);
  Tile getKeys(Value firstBlock);
  Value getNumBlocks();
  Value getLastBlock();
  Tile trim(Value list);
  void store(Tile indices);
  Tile getTokens();
  Tile getHeads();
  Tile getPositions();
  Tile column(Value first);

  Tile real(double value) {
    return {math.constant(Spread::Scalar, value), Spread::Scalar};
  }
  Tile i64(int64_t value) { return math.integer(builder.getI64Type(), value); }
  Tile index(Value value) { return {value, Spread::Scalar}; }

  ProgramBuilder &program;
  OpBuilder &builder;
  Location loc;
  const QueryTile &tile;
  TopKOp op;
  Source source;
  Value lse;
  Scorer scorer;
  QueryRows rows;
  int64_t chunk;
  bool perQueryHead;
  int64_t units;
  TileMath math;
  SelectionType type;
};

} // namespace

//===----------------------------------------------------------------------===//
// Importance of blocks
//===----------------------------------------------------------------------===//

Selecting::Entry Selecting::reduceHeads(Tile value, Tile visible) {
  TileMath pairs(builder, loc, tile.getRows(), chunk);
  HeadReduction kind = source.importance.getHeads();
  double nothing = kind == HeadReduction::Max ? -kInfinity : 0.0;
  Tile kept = pairs.select(visible, value, real(nothing));
  Tile present = pairs.select(visible, real(1.0), real(0.0));
  if (perQueryHead)
    return {kept, {pairs.toMatrix(present), Spread::Matrix}};

  auto reduce = [&](Tile matrix, nsatile::ReduceKind how) -> Tile {
    auto grouped = RankedTensorType::get({tile.tokens, tile.group, chunk},
                                         builder.getF32Type());
    SmallVector<ReassociationIndices> groups = {{0, 1}, {2}};
    Value expanded = tensor::ExpandShapeOp::create(
        builder, loc, grouped, pairs.toMatrix(matrix), groups);
    return {nsatile::ReduceOp::create(
                builder, loc,
                math.getType(Spread::Matrix, builder.getF32Type()), how,
                expanded, /*dim=*/1),
            Spread::Matrix};
  };
  bool isMax = kind == HeadReduction::Max;
  Tile count = reduce(present, nsatile::ReduceKind::Sum);
  Tile reduced =
      reduce(kept, isMax ? nsatile::ReduceKind::Max : nsatile::ReduceKind::Sum);
  Tile any = math.compare(arith::CmpFPredicate::OGT, count, real(0.0));
  if (kind == HeadReduction::Mean)
    reduced = math.apply<arith::DivFOp>(
        reduced, math.apply<arith::MaximumFOp>(count, real(1.0)));
  return {reduced, math.select(any, real(1.0), real(0.0))};
}

Selecting::Entry Selecting::getEntry(Value firstBlock, int64_t residue) {
  IndexMath m = program.math();
  PooledDimAttr pooled = source.pooled;
  int64_t step = source.block / pooled.getStride();
  KeyTile keys = {.first = m.add(m.mul(firstBlock, step), residue),
                  .count = chunk,
                  .step = step};
  ScoreTile scored = scorer.score(rows, keys, /*rawScale=*/false);
  TileMath pairs(builder, loc, tile.getRows(), chunk);
  Tile scores = {scored.scores, Spread::Matrix};
  Tile visible = pairs.apply<arith::AndIOp>(
      {scored.visible, Spread::Matrix},
      pairs.compare(arith::CmpFPredicate::UNE, scores, real(-kInfinity)));
  if (pooled.getMemory() > 0)
    visible = pairs.apply<arith::AndIOp>(
        visible, pairs.compare(arith::CmpIPredicate::sge,
                               scorer.getKeyIndices(pairs, keys),
                               index(m.constant(pooled.getMemory()))));
  Tile value = scores;
  if (source.importance.getKind() == ImportanceKind::Prob) {
    Tile distance = pairs.apply<arith::SubFOp>(scores, {lse, Spread::Row});
    value.value = math::ExpOp::create(builder, loc, distance.value);
  } else if (source.importance.getKind() == ImportanceKind::Activation) {
    value.value = scorer.weigh(rows, scores.value, keys);
  }
  return reduceHeads(value, visible);
}

Tile Selecting::getImportance(Value firstBlock) {
  // Entry e of the pooled keys (behind memory tokens) starts at
  // first + e · stride, relative to block 0. Block n is met by the entries
  // n · step + residue whose window overlaps it.
  int64_t stride = source.pooled.getStride(), len = source.pooled.getLen();
  int64_t first = source.pooled.getFirstStart();
  auto floorDiv = [](int64_t a, int64_t b) { return a / b - (a % b < 0); };
  int64_t lowest = floorDiv(-len - first, stride) + 1;
  int64_t highest = floorDiv(source.block - 1 - first, stride);

  bool isMax = source.map == BlockMap::Max;
  Tile sum = {math.constant(Spread::Matrix, isMax ? -kInfinity : 0.0),
              Spread::Matrix};
  Tile count = {math.constant(Spread::Matrix, 0.0), Spread::Matrix};
  for (int64_t residue = lowest; residue <= highest; ++residue) {
    Entry entry = getEntry(firstBlock, residue + source.pooled.getMemory());
    count = math.apply<arith::AddFOp>(count, entry.present);
    Tile there =
        math.compare(arith::CmpFPredicate::OGT, entry.present, real(0.0));
    if (isMax) {
      Tile value = math.select(there, entry.value, real(-kInfinity));
      sum = math.apply<arith::MaximumFOp>(sum, value);
      continue;
    }
    Tile value = math.select(there, entry.value, real(0.0));
    if (source.map == BlockMap::Overlap) {
      int64_t start = first + residue * stride;
      int64_t shared =
          std::min(start + len, source.block) - std::max<int64_t>(start, 0);
      value = math.apply<arith::MulFOp>(
          value, real(static_cast<double>(shared) / stride));
    }
    sum = math.apply<arith::AddFOp>(sum, value);
  }
  Tile any = math.compare(arith::CmpFPredicate::OGT, count, real(0.0));
  if (source.map == BlockMap::Mean)
    sum = math.apply<arith::DivFOp>(
        sum, math.apply<arith::MaximumFOp>(count, real(1.0)));
  return math.select(any, sum, real(-kInfinity));
}

//===----------------------------------------------------------------------===//
// Sort keys
//===----------------------------------------------------------------------===//

/// Row values of the units: with one selection for a token, the first of its
/// rows.
Tile Selecting::getTokens() {
  if (perQueryHead)
    return {tile.tokenOfRow, Spread::Row};
  return {nsatile::IotaOp::create(
              builder, loc,
              RankedTensorType::get({units}, builder.getIndexType()),
              tile.firstToken),
          Spread::Row};
}

Tile Selecting::getHeads() {
  if (perQueryHead)
    return {tile.headOfRow, Spread::Row};
  return {tile.keyHead, Spread::Scalar};
}

Tile Selecting::getPositions() {
  return math.apply<arith::AddIOp>(getTokens(), index(scorer.getShift()));
}

Tile Selecting::column(Value first) {
  return {nsatile::IotaOp::create(
              builder, loc,
              RankedTensorType::get({chunk}, builder.getIndexType()), first),
          Spread::Column};
}

Tile Selecting::getKeys(Value firstBlock) {
  Type i32 = builder.getI32Type(), i64Type = builder.getI64Type();
  Type indexType = builder.getIndexType();
  Tile score = getImportance(firstBlock);
  Tile block = column(firstBlock);
  Tile blockWide = math.convert<arith::IndexCastOp>(block, i64Type);
  Tile position = getPositions();
  Tile exists =
      math.compare(arith::CmpIPredicate::slt, block, index(getNumBlocks()));
  if (!op.getMask().empty())
    exists = math.apply<arith::AndIOp>(
        exists, tileRegion(op.getMask(),
                           {index(tile.batchRow), getHeads(), getTokens(),
                            position, block},
                           math, scorer.getContext()));

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
  Tile isAbsent =
      math.compare(arith::CmpFPredicate::OEQ, score, real(-kInfinity));

  auto makeKey = [&](int64_t sortClass, Tile value) {
    Tile shifted = math.apply<arith::ShLIOp>(value, i64(kIndexBits));
    return math.apply<arith::OrIOp>(shifted, i64(sortClass << kClassShift));
  };
  Tile key = makeKey(kNumber, ordered);
  key = math.select(isNaN, i64(kNaN << kClassShift), key);
  key = math.select(isAbsent, i64(kAbsent), key);

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
  return math.select(exists, key, i64(kAbsent));
}

//===----------------------------------------------------------------------===//
// The running list
//===----------------------------------------------------------------------===//

Value Selecting::getNumBlocks() {
  MLIRContext *context = op.getContext();
  bool ragged =
      static_cast<bool>(program.getPlan().getOffsetsInput(type.getOf()));
  auto tokens = NamedDimAttr::get(context, type.getOf(), ragged);
  IndexMath m = program.math();
  return m.ceilDiv(program.getRow(tokens, tile.batchRow).size, type.getBlock());
}

/// The end of the blocks that can be candidates or forced.
Value Selecting::getLastBlock() {
  IndexMath m = program.math();
  Value end = scorer.getLastKey(rows);
  // The block in which the last visible window ends.
  Value token = m.add(m.mul(m.sub(end, m.constant(source.pooled.getMemory())),
                            source.pooled.getStride()),
                      source.pooled.getFirstStart() + source.pooled.getLen());
  Value blocks = m.add(m.floorDiv(token, source.block), 1);
  blocks = m.max(blocks, m.constant(op.getFirst()));
  if (op.getLast() > 0)
    blocks = m.max(blocks, m.add(m.floorDiv(rows.last, source.block), 1));
  return m.max(m.min(blocks, getNumBlocks()), m.constant(0));
}

/// Block indices of the list: as many as asked for, ascending, padded with -1.
Tile Selecting::trim(Value list) {
  int64_t width = type.getTop();
  Type i64Type = builder.getI64Type();
  TileMath entries(builder, loc, units, width);
  Tile keys = {list, Spread::Matrix};
  Tile allowed = i64(op.getTop());
  if (op.getCount()) {
    TileMath single(builder, loc, tile.getRows(), 1);
    Tile count = loadQueryTile(program, tile, op.getCount(), single);
    allowed = entries.apply<arith::MinSIOp>(
        allowed, entries.convert<arith::IndexCastOp>(count, i64Type));
  }
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

void Selecting::store(Tile indices) {
  IndexMath m = program.math();
  Value buffer = program.getBuffer(op.getResult());
  SmallVector<Value> offsets;
  if (tile.dims.batch)
    offsets.push_back(tile.batchRow);
  int64_t token = offsets.size();
  offsets.push_back(m.add(tile.rowStart, tile.firstToken));
  offsets.push_back(perQueryHead ? m.mul(tile.keyHead, tile.group)
                                 : tile.keyHead);
  offsets.push_back(m.constant(0));
  SmallVector<int64_t> dims = {token, token + 2};
  SmallVector<Value> limits = {m.add(tile.rowStart, tile.numTokens),
                               m.constant(type.getTop())};
  Value value = indices.value;
  if (perQueryHead) {
    dims.insert(dims.begin() + 1, token + 1);
    limits.insert(limits.begin() + 1, program.getSize(tile.dims.head));
    SmallVector<ReassociationIndices> groups = {{0, 1}, {2}};
    value = tensor::ExpandShapeOp::create(
        builder, loc,
        RankedTensorType::get({tile.tokens, tile.group, type.getTop()},
                              builder.getI32Type()),
        value, groups);
  }
  nsatile::StoreOp::create(builder, loc, value, buffer, offsets, limits, dims);
}

void Selecting::build() {
  IndexMath m = program.math();
  auto listType =
      RankedTensorType::get({units, type.getTop()}, builder.getI64Type());
  Value empty =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(listType));
  auto loop = scf::ForOp::create(
      builder, loc, m.constant(0), getLastBlock(), m.constant(chunk), empty,
      [&](OpBuilder &, Location, Value firstBlock, ValueRange carried) {
        Tile keys = getKeys(firstBlock);
        scf::YieldOp::create(
            builder, loc,
            ValueRange{nsatile::TopOp::create(
                builder, loc, listType, carried[0], math.toMatrix(keys))});
      });
  store(trim(loop.getResult(0)));
}

//===----------------------------------------------------------------------===//
// What can be compiled
//===----------------------------------------------------------------------===//

static FailureOr<Source> getSource(TopKOp op) {
  auto refuse = [&](const Twine &what) {
    InFlightDiagnostic error = op.emitError() << what << " isn't compiled yet";
    error.attachNote() << "run the program with --target oracle";
    return failure();
  };
  if (op.getShareTokens() != 1 || op.getShareHeads() != 1)
    return refuse("a selection shared between neighbours");
  Source source;
  source.block = op.getResult().getType().getBlock();
  Value importance = op.getImportance();
  if (auto blocks = importance.getDefiningOp<BlocksOp>()) {
    source.map = blocks.getMap();
    importance = blocks.getImportance();
  }
  source.importance = importance.getDefiningOp<ImportanceOp>();
  if (!source.importance)
    return refuse("a selection by scores that are handed in");
  if (source.importance.getSelection())
    return refuse("importance within a selection");
  auto type = cast<NamedTensorType>(importance.getType());
  source.pooled = dyn_cast<PooledDimAttr>(type.getDims().back());
  if (!source.pooled)
    return refuse("importance of single tokens");
  if (source.block % source.pooled.getStride() != 0)
    return refuse("a selection block that the pooling stride doesn't divide");
  return source;
}

LogicalResult nsacc::buildTopKProgram(PlanBuilder &plan,
                                      const QueryShape &shape, TopKOp op,
                                      nsatile::ScheduleAttr schedule) {
  FailureOr<Source> source = getSource(op);
  if (failed(source))
    return failure();
  ProgramBuilder program(plan, "select", schedule);
  QueryTile tile = createQueryTile(program, shape.dims, schedule.getTokens(),
                                   shape.group, getProgramPlace(program));
  Value lse;
  if (Value wanted = source->importance.getLse()) {
    auto attend = wanted.getDefiningOp<AttendOp>();
    if (!attend)
      return op.emitError("needs the log-sum-exp of an attention, found ")
             << wanted;
    lse = attendTile(program, tile, attend, schedule, /*onlyLse=*/true).lse;
  }
  Selecting(program, tile, op, *source, schedule, lse).build();
  launchQueryProgram(program, shape, schedule.getTokens());
  return success();
}
