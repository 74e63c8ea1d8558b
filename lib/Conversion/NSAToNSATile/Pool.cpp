//===- Pool.cpp - Programs that pool keys and values ----------------------===//

#include "NSATile/IR/Remarks.h"
#include "QueryProgram.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <limits>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using nsatile::PassRemarks;

static constexpr PassRemarks kTokenRemarks = {"convert-nsa-to-nsatile",
                                              "SharedTokens"};

namespace {

/// A tile of windows (rows) times channels (columns).
class Pooling {
public:
  Pooling(ProgramBuilder &program, PoolOp op, int64_t channels)
      : program(program), builder(program.getBuilder()), loc(program.getLoc()),
        op(op), count(getWindows(op)), math(builder, loc, count, channels),
        input(cast<NamedTensorType>(op.getInput().getType())),
        result(cast<NamedTensorType>(op.getResult().getType())),
        pooled(
            cast<PooledDimAttr>(result.getDims()[input.isRagged() ? 0 : 1])) {}

  void build(const RowGrid &grid);
  /// Windows that one program pools.
  static int64_t getWindows(PoolOp op) { return getSchedule(op).getWindows(); }

private:
  /// Loads token `offset` of every window, as f32; zeros outside of the
  /// sequence.
  Tile loadTokens(Value offset);
  /// Whether token `offset` of each window exists.
  Tile isInside(Value offset);
  Tile getWeight(Value offset);
  /// Adds token `offset` of every window to the sum or maximum.
  Tile add(Tile soFar, Value offset);
  /// Adds tokens `first` to `past` of every window, each with the tokens that
  /// are `others` tokens further on.
  Tile addTokens(Tile soFar, Value first, Value past, int64_t step,
                 ArrayRef<int64_t> others);
  Tile addAll(Tile soFar);
  double getStart() {
    return op.getKind() == PoolKind::Max
               ? -std::numeric_limits<double>::infinity()
               : 0.0;
  }
  Tile finish(Tile sum);
  /// First token of each window, before `getFirstStart`.
  Tile getWindowStarts();
  /// Place of a tile in a sequence of keys, and its limits.
  nsatile::TilePlace getPlace(const ProgramBuilder::Row &row, Value first);
  bool isPartial() { return pooled.getTail() == Tail::Average; }

  ProgramBuilder &program;
  OpBuilder &builder;
  Location loc;
  PoolOp op;
  int64_t count;
  TileMath math;
  NamedTensorType input, result;
  PooledDimAttr pooled;
  Value batchRow, head, firstWindow;
  ProgramBuilder::Row tokens, windows;
};

} // namespace

Tile Pooling::getWindowStarts() {
  IndexMath m = program.math();
  auto rows = cast<RankedTensorType>(
      math.getType(TileAxes::Row, builder.getIndexType()));
  Tile window = {nsatile::IotaOp::create(builder, loc, rows, firstWindow),
                 TileAxes::Row};
  return math.apply<arith::MulIOp>(
      window, {m.constant(pooled.getStride()), TileAxes::Scalar});
}

nsatile::TilePlace Pooling::getPlace(const ProgramBuilder::Row &row,
                                     Value first) {
  IndexMath m = program.math();
  nsatile::TilePlace place = {.shape = {count, math.getColumns()}};
  if (!input.isRagged())
    place.offsets.push_back(batchRow);
  int64_t sequence = place.offsets.size();
  place.offsets.append({m.add(row.start, first), head, m.constant(0)});
  place.limits = {m.add(row.start, row.size), m.constant(math.getColumns())};
  place.dims = {sequence, sequence + 2};
  return place;
}

Tile Pooling::loadTokens(Value offset) {
  IndexMath m = program.math();
  Value first = m.add(m.mul(firstWindow, pooled.getStride()),
                      m.add(offset, pooled.getFirstStart()));
  nsatile::TilePlace place = getPlace(tokens, first);
  place.steps = {pooled.getStride(), 1};
  Value loaded =
      nsatile::loadTile(builder, loc, program.getBuffer(op.getInput()), place);
  Tile tile = {widen(builder, loc, loaded, input), TileAxes::Matrix};
  if (!input.isRagged() || pooled.getFirstStart() == 0)
    return tile;
  // In packed rows, the row before stands where the zeros on the left should
  // be.
  return math.select(isInside(offset), tile,
                     {math.constant(TileAxes::Scalar, 0.0), TileAxes::Scalar});
}

Tile Pooling::isInside(Value offset) {
  IndexMath m = program.math();
  Tile token = math.apply<arith::AddIOp>(
      getWindowStarts(),
      {m.add(offset, pooled.getFirstStart()), TileAxes::Scalar});
  return math.apply<arith::AndIOp>(
      math.compare(arith::CmpIPredicate::slt, token,
                   {tokens.size, TileAxes::Scalar}),
      math.compare(arith::CmpIPredicate::sge, token,
                   {m.constant(0), TileAxes::Scalar}));
}

Tile Pooling::getWeight(Value offset) {
  auto type = cast<NamedTensorType>(op.getWeights().getType());
  SmallVector<Value> indices;
  if (type.getRank() == 2)
    indices.push_back(head);
  indices.push_back(offset);
  Value weight = memref::LoadOp::create(
      builder, loc, program.getBuffer(op.getWeights()), indices);
  if (!type.getElementType().isF32())
    weight = arith::ExtFOp::create(builder, loc, builder.getF32Type(), weight);
  return {weight, TileAxes::Scalar};
}

Tile Pooling::add(Tile soFar, Value offset) {
  Tile token = loadTokens(offset);
  if (op.getKind() == PoolKind::Weighted)
    token = math.apply<arith::MulFOp>(token, getWeight(offset));
  // A token that doesn't exist has no weight, whatever stands in its place.
  bool isMax = op.getKind() == PoolKind::Max;
  bool isCut = op.getKind() == PoolKind::Weighted
                   ? pooled.getTail() != Tail::Drop
                   : isMax && isPartial();
  if (isCut)
    token = math.select(
        isInside(offset), token,
        {math.constant(TileAxes::Scalar, getStart()), TileAxes::Scalar});
  return isMax ? math.apply<arith::MaximumFOp>(soFar, token)
               : math.apply<arith::AddFOp>(soFar, token);
}

Tile Pooling::addTokens(Tile soFar, Value first, Value past, int64_t step,
                        ArrayRef<int64_t> others) {
  IndexMath m = program.math();
  auto loop = scf::ForOp::create(
      builder, loc, first, past, m.constant(step), soFar.value,
      [&](OpBuilder &, Location, Value offset, ValueRange carried) {
        Tile next = add({carried[0], TileAxes::Matrix}, offset);
        for (int64_t other : others)
          next = add(next, m.add(offset, other));
        scf::YieldOp::create(builder, loc, next.value);
      });
  return {loop.getResult(0), TileAxes::Matrix};
}

/// Adds all tokens. Neighbouring windows share tokens, and a step loads these
/// from memory once. Where none are shared, a step has more tokens.
Tile Pooling::addAll(Tile soFar) {
  // Short windows keep a constant number of steps.
  constexpr int64_t shortest = 4096, mostShared = 4, unrolled = 4;
  IndexMath m = program.math();
  int64_t len = pooled.getLen(), stride = pooled.getStride();
  int64_t windows = llvm::divideCeil(len, stride);
  auto decline = [&](const Twine &reason) {
    kTokenRemarks.missed(op, "each window loads its own tokens: " + reason);
  };
  if (len > shortest) {
    decline("it has more than " + Twine(shortest));
    // One more token has the zeros that a maximum may see.
    Value most = m.add(tokens.size, 1);
    return pooled.getFirstStart() == 0
               ? addTokens(soFar, m.constant(0), m.min(m.constant(len), most),
                           1, {})
               : addTokens(soFar,
                           m.max(m.constant(0), m.sub(m.constant(len), most)),
                           m.constant(len), 1, {});
  }
  Value zero = m.constant(0), past = m.constant(len);
  if (windows == 1)
    decline("windows don't overlap");
  else if (windows > mostShared)
    decline("a token is in more than " + Twine(mostShared) + " windows");
  else
    kTokenRemarks.passed(op, "a token is loaded once for " + Twine(windows) +
                                 " windows");
  if (windows == 1 && len % unrolled == 0)
    return addTokens(soFar, zero, past, unrolled, {1, 2, 3});
  if (windows == 1 || windows > mostShared)
    return addTokens(soFar, zero, past, 1, {});
  SmallVector<int64_t> others;
  for (int64_t window = 1; window < windows; ++window)
    others.push_back(window * stride);
  int64_t inLast = len - others.back();
  soFar = addTokens(soFar, zero, m.constant(inLast), 1, others);
  if (inLast == stride)
    return soFar;
  others.pop_back();
  return addTokens(soFar, m.constant(inLast), m.constant(stride), 1, others);
}

/// A mean divides by the number of existing tokens, or by the length.
Tile Pooling::finish(Tile sum) {
  if (op.getKind() != PoolKind::Mean)
    return sum;
  if (!isPartial())
    return math.apply<arith::DivFOp>(
        sum,
        {math.constant(TileAxes::Scalar, pooled.getLen()), TileAxes::Scalar});
  IndexMath m = program.math();
  Tile left = math.apply<arith::SubIOp>({tokens.size, TileAxes::Scalar},
                                        getWindowStarts());
  left = math.apply<arith::MinSIOp>(
      left, {m.constant(pooled.getLen()), TileAxes::Scalar});
  left = math.apply<arith::MaxSIOp>(left, {m.constant(1), TileAxes::Scalar});
  Value integers = arith::IndexCastOp::create(
      builder, loc, math.getType(TileAxes::Row, builder.getI64Type()),
      left.value);
  Tile count = {
      arith::SIToFPOp::create(builder, loc,
                              math.getType(TileAxes::Row, builder.getF32Type()),
                              integers),
      TileAxes::Row};
  return math.apply<arith::DivFOp>(sum, count);
}

void Pooling::build(const RowGrid &grid) {
  IndexMath m = program.math();
  head = program.programId(1);
  RowTile tile = getRowTile(program, grid);
  batchRow = tile.batchRow;
  firstWindow = m.mul(tile.number, count);
  Attribute sequence = input.getDims()[input.isRagged() ? 0 : 1];
  tokens = program.getRow(sequence, batchRow);
  windows = program.getRow(pooled, batchRow);

  Tile start = {math.constant(TileAxes::Matrix, getStart()), TileAxes::Matrix};
  Value value = finish(addAll(start)).value;
  if (!result.getElementType().isF32())
    value = arith::TruncFOp::create(
        builder, loc, math.getType(TileAxes::Matrix, result.getElementType()),
        value);

  nsatile::TilePlace place = getPlace(windows, firstWindow);
  nsatile::storeTile(builder, loc, value, program.getBuffer(op.getResult()),
                     place);
}

LogicalResult nsacc::buildPoolProgram(PlanBuilder &plan, PoolOp op) {
  auto type = cast<NamedTensorType>(op.getInput().getType());
  std::optional<int64_t> channels = plan.getStaticSize(type.getDims().back());
  if (!channels)
    return op.emitOpError("needs the size of dimension '")
           << toString(type.getDims().back()) << "' to be compiled";
  ProgramBuilder program(plan, op.getLoc(), "pool");
  program.setOps(op.getOperation());
  bool ragged = type.isRagged();
  auto result = cast<NamedTensorType>(op.getResult().getType());
  auto pooled = cast<PooledDimAttr>(result.getDims()[ragged ? 0 : 1]);
  int64_t windows = Pooling::getWindows(op);
  RowGrid grid = {.dim = pooled,
                  .rows = ragged ? plan.getNumRows(pooled.getBase())
                                 : plan.getSize(type.getDims().front()),
                  .tokens = windows};
  if (ragged) {
    // Rows have at most one window more than strides.
    grid.dim = type.getDims().front();
    grid.tokens *= pooled.getStride();
    grid.before = 1;
  }
  Pooling(program, op, *channels).build(grid);
  launch(program, grid, plan.getSize(type.getDims()[ragged ? 1 : 2]));
  return success();
}
