//===- Evaluator.cpp - Values of one query tile, on demand ----------------===//

#include "Evaluator.h"
#include "Halves.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

/// With a column for each channel; one if there are none.
TileMath Evaluator::getMath(NamedTensorType type, const DimSet &dims) {
  int64_t channels = 1;
  if (dims.test(kChannel))
    channels = tile.slice ? tile.slice->count
                          : program.getPlan()
                                .getStaticSize(type.getDims().back())
                                .value_or(1);
  return TileMath(builder, loc, tile.getRows(), channels);
}

Tile &Evaluator::getRowTile(Value tensor) {
  return tiles[{tensor, getRowDims(cast<NamedTensorType>(tensor.getType()))}];
}

FailureOr<Tile> Evaluator::evaluate(Value tensor) {
  return evaluate(tensor, getRowDims(cast<NamedTensorType>(tensor.getType())));
}

FailureOr<Tile> Evaluator::evaluate(Value tensor, const DimSet &dims) {
  auto found = tiles.find({tensor, dims});
  if (found != tiles.end())
    return found->second;
  FailureOr<Tile> computed = compute(tensor, dims);
  if (succeeded(computed))
    tiles[{tensor, dims}] = *computed;
  return computed;
}

FailureOr<Tile> Evaluator::compute(Value tensor, const DimSet &dims) {
  auto type = cast<NamedTensorType>(tensor.getType());
  if (program.getPlan().isMaterialized(tensor)) {
    TileMath math = getMath(type, dims);
    Tile loaded = loadQueryTile(program, getTileInBuffer(program, tile, tensor),
                                type, dims, program.getBuffer(tensor), math);
    Value scale = program.getPlan().getScale(tensor);
    return scale ? unpackHalves(math, loaded, loadScale(tensor, dims)) : loaded;
  }
  Operation *op = tensor.getDefiningOp();
  if (auto map = dyn_cast<MapOp>(op))
    return computeMap(map, dims);
  if (auto merge = dyn_cast<MergeOp>(op)) {
    if (failed(computeMerge(merge)))
      return failure();
    return getRowTile(tensor);
  }
  if (auto attend = dyn_cast<AttendOp>(op)) {
    bool onlyLse = tensor == attend.getLse() && attend.getOutput().use_empty();
    this->attend(attend, onlyLse);
    return getRowTile(tensor);
  }
  InFlightDiagnostic error =
      op->emitOpError("isn't compiled yet where its value is a result or an "
                      "operand of arithmetic");
  error.attachNote() << "run the program with --target oracle";
  return error;
}

/// Of an attention's output that stands in memory as halves.
Tile Evaluator::loadScale(Value output, DimSet dims) {
  NamedTensorType type = getScaleType(cast<NamedTensorType>(output.getType()));
  dims.reset(kChannel);
  TileMath math = getMath(type, dims);
  return loadQueryTile(program, getTileInBuffer(program, tile, output), type,
                       dims, program.import(program.getPlan().getScale(output)),
                       math);
}

namespace {
/// While it lives, what is built for a program comes from the place of one of
/// its ops: programs fuse several.
class PlaceScope : public OpBuilder::Listener {
public:
  PlaceScope(OpBuilder &builder, Location program, Location op)
      : builder(builder), before(builder.getListener()), program(program),
        op(op) {
    builder.setListener(this);
  }
  ~PlaceScope() override { builder.setListener(before); }

  void notifyOperationInserted(Operation *inserted,
                               OpBuilder::InsertPoint previous) override {
    if (!previous.isSet() && inserted->getLoc() == program)
      inserted->setLoc(op);
  }

private:
  OpBuilder &builder;
  OpBuilder::Listener *before;
  Location program, op;
};
} // namespace

void Evaluator::attend(AttendOp op, bool onlyLse) {
  PlaceScope scope(builder, loc, op.getLoc());
  nsatile::ScheduleAttr own = getSchedule(op);
  if (isExact)
    own = own.getExact();
  attends.push_back(op);
  setTiles(op, attendTile(program, tile, op, own.inProgram(schedule), onlyLse));
}

void Evaluator::setTiles(AttendOp op, const AttendTiles &computed) {
  if (computed.output)
    getRowTile(op.getOutput()) = {computed.output, TileAxes::Matrix};
  if (!computed.lse)
    return;
  getRowTile(op.getLse()) = {computed.lse, TileAxes::Row};
  states[op.getLse()] = computed;
}

FailureOr<Tile> Evaluator::computeMap(MapOp op, const DimSet &dims) {
  SmallVector<Tile> operands;
  for (Value input : op.getInputs()) {
    FailureOr<Tile> operand =
        evaluate(input, compose(dims, op.getPlaces(input)));
    if (failed(operand))
      return failure();
    operands.push_back(*operand);
  }
  auto type = cast<NamedTensorType>(op.getResult().getType());
  TileMath math = getMath(type, dims);
  if (!needsAssertion(op.getBody(), ScalarPlaces()))
    return tileRegion(op.getBody(), operands, math, {program, tile.batchRow});
  Demand demand = getElementDemand(op, dims, math);
  return tileRegion(op.getBody(), operands, math,
                    {program, tile.batchRow, &demand});
}

/// Elements of rows that exist.
Demand Evaluator::getElementDemand(MapOp op, const DimSet &dims,
                                   TileMath &math) {
  Demand demand;
  demand.op = getOpNumber(op);
  demand.active =
      math.compare(arith::CmpIPredicate::slt, {tile.tokenOfRow, TileAxes::Row},
                   {tile.numTokens, TileAxes::Scalar});
  for (int dim : dims.set_bits()) {
    Tile index;
    if (dim == kBatch)
      index = {tile.batchRow, TileAxes::Scalar};
    else if (dim == kToken)
      index = math.apply<arith::AddIOp>({tile.tokenOfRow, TileAxes::Row},
                                        {tile.rowStart, TileAxes::Scalar});
    else if (dim == kHead)
      index = {tile.headOfRow, TileAxes::Row};
    else
      index = {nsatile::IotaOp::create(
                   builder, loc,
                   cast<RankedTensorType>(
                       math.getType(TileAxes::Column, builder.getIndexType())),
                   tile.slice ? tile.slice->first : program.math().constant(0)),
               TileAxes::Column};
    if (dim == kChannel && tile.slice) {
      auto type = cast<NamedTensorType>(op.getResult().getType());
      Tile size = {program.getSize(type.getDims().back()), TileAxes::Scalar};
      demand.active = math.apply<arith::AndIOp>(
          demand.active, math.compare(arith::CmpIPredicate::slt, index, size));
    }
    demand.positions.push_back(index);
  }
  return demand;
}

FailureOr<Tile> Evaluator::evaluateLse(Value lse) {
  auto found =
      tiles.find({lse, getRowDims(cast<NamedTensorType>(lse.getType()))});
  if (found != tiles.end())
    return found->second;
  if (!program.getPlan().isMaterialized(lse)) {
    Operation *op = lse.getDefiningOp();
    if (auto attend = dyn_cast<AttendOp>(op)) {
      this->attend(attend, /*onlyLse=*/true);
      return getRowTile(lse);
    }
    if (auto merge = dyn_cast<MergeOp>(op)) {
      FailureOr<SmallVector<Normalizer>> branches = evaluateBranches(merge);
      if (failed(branches))
        return failure();
      TileMath math = getMath(cast<NamedTensorType>(lse.getType()));
      setNormalizer(lse, computeShares(math, *branches).all);
      return getRowTile(lse);
    }
  }
  return evaluate(lse);
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

void Evaluator::setNormalizer(Value lse, const Normalizer &normalizer) {
  getRowTile(lse) = normalizer.lse;
  rests[lse] = normalizer.rest;
}

static Tile realRow(TileMath &math, double value) {
  return {math.constant(TileAxes::Row, value), TileAxes::Row};
}

/// (most - lse) + logarithm, whose difference is exact; 0 where the log-sum-exp
/// is no number.
Tile Evaluator::computeRest(TileMath &math, Tile lse, Tile most,
                            Tile logarithm) {
  Tile rest = math.apply<arith::AddFOp>(math.apply<arith::SubFOp>(most, lse),
                                        logarithm);
  Tile size = {math::AbsFOp::create(builder, loc, lse.value), lse.axes};
  Tile isFinite =
      math.compare(arith::CmpFPredicate::OLT, size,
                   realRow(math, std::numeric_limits<double>::infinity()));
  return math.select(isFinite, rest, realRow(math, 0.0));
}

FailureOr<Normalizer> Evaluator::evaluateNormalizer(Value lse) {
  FailureOr<Tile> found = evaluateLse(lse);
  if (failed(found))
    return failure();
  auto known = rests.find(lse);
  if (known != rests.end())
    return Normalizer{*found, known->second};
  auto type = cast<NamedTensorType>(lse.getType());
  TileMath math = getMath(type);
  Tile rest = realRow(math, 0.0);
  auto state = states.find(lse);
  if (state != states.end()) {
    Tile logarithm = {math::LogOp::create(builder, loc, state->second.sum),
                      TileAxes::Row};
    rest = computeRest(math, *found, {state->second.max, TileAxes::Row},
                       logarithm);
  } else if (Value buffer = program.getPlan().getRest(lse)) {
    rest = loadQueryTile(program, getTileInBuffer(program, tile, lse), type,
                         getRowDims(type), program.import(buffer), math);
  }
  rests[lse] = rest;
  return Normalizer{*found, rest};
}

FailureOr<SmallVector<Normalizer>> Evaluator::evaluateBranches(MergeOp op) {
  SmallVector<Normalizer> branches;
  for (Value lse : op.getLses()) {
    FailureOr<Normalizer> branch = evaluateNormalizer(lse);
    if (failed(branch))
      return failure();
    branches.push_back(*branch);
  }
  return branches;
}

/// With m the greatest log-sum-exp: shares exp(lse_n - m), their sum, and
/// lse = m + log Σ exp(lse_n - m).
Evaluator::Shares Evaluator::computeShares(TileMath &math,
                                           ArrayRef<Normalizer> branches) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Tile greatest = branches.front().lse;
  for (const Normalizer &branch : branches.drop_front())
    greatest = math.apply<arith::MaximumFOp>(greatest, branch.lse);
  // A row that sees nothing anywhere: exp(-inf - 0) = 0 for each branch.
  Tile zero = realRow(math, 0.0);
  Tile isHidden = math.compare(arith::CmpFPredicate::OEQ, greatest,
                               realRow(math, -infinity));
  Tile base = math.select(isHidden, zero, greatest);
  Shares shares;
  shares.total = zero;
  for (const Normalizer &branch : branches) {
    Tile distance = math.apply<arith::AddFOp>(
        math.apply<arith::SubFOp>(branch.lse, base), branch.rest);
    shares.shares.push_back(
        {math::ExpOp::create(builder, loc, distance.value), TileAxes::Row});
    shares.total =
        math.apply<arith::AddFOp>(shares.total, shares.shares.back());
  }
  Tile logarithm = {math::LogOp::create(builder, loc, shares.total.value),
                    TileAxes::Row};
  // inf - inf has made the rest NaN.
  Tile isInfinite = math.compare(arith::CmpFPredicate::OEQ, greatest,
                                 realRow(math, infinity));
  shares.all.lse = math.select(isInfinite, greatest,
                               math.apply<arith::AddFOp>(base, logarithm));
  shares.all.rest = computeRest(math, shares.all.lse, base, logarithm);
  return shares;
}

/// o = Σ exp(lse_n - m) o_n / Σ exp(lse_n - m).
LogicalResult Evaluator::computeMerge(MergeOp op) {
  SmallVector<Tile> outputs;
  for (Value output : op.getOutputs()) {
    FailureOr<Tile> outputTile = evaluate(output);
    if (failed(outputTile))
      return failure();
    outputs.push_back(*outputTile);
  }
  FailureOr<SmallVector<Normalizer>> branches = evaluateBranches(op);
  if (failed(branches))
    return failure();
  TileMath math = getMath(cast<NamedTensorType>(op.getOutput().getType()));
  Shares shares = computeShares(math, *branches);
  Tile zero = realRow(math, 0.0), one = realRow(math, 1.0);
  Tile sum = {math.constant(TileAxes::Matrix, 0.0), TileAxes::Matrix};
  for (auto [output, share] : llvm::zip_equal(outputs, shares.shares))
    sum = math.apply<arith::AddFOp>(sum,
                                    math.apply<arith::MulFOp>(output, share));
  Tile isEmpty = math.compare(arith::CmpFPredicate::OEQ, shares.total, zero);
  Tile divisor = math.select(isEmpty, one, shares.total);
  getRowTile(op.getOutput()) = math.apply<arith::DivFOp>(sum, divisor);
  setNormalizer(op.getLse(), shares.all);
  return success();
}
