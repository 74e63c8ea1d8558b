//===- Evaluator.cpp - Values of one query tile, on demand ----------------===//

#include "Evaluator.h"
#include "TileOpInterface.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

/// Tiles with a column for each channel, or one column if there are no
/// channels.
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

Tile Evaluator::load(Value tensor, Value buffer, NamedTensorType type,
                     const DimSet &dims) {
  TileMath math = getMath(type, dims);
  return loadQueryTile(program, getTileInBuffer(program, tile, tensor), type,
                       dims, buffer, math);
}

namespace {
/// Gives ops that are built during its life the place of one of the program's
/// ops, since programs fuse several.
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

void Evaluator::computeOp(
    Operation *op, llvm::function_ref<void(nsatile::ScheduleAttr)> compute) {
  PlaceScope scope(builder, loc, op->getLoc());
  ops.push_back(op);
  compute(program.getPlan().getSchedule(op).inProgram(schedule));
}

/// Demand for the elements of rows that exist.
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
  if (!program.getPlan().isMaterialized(lse))
    if (auto tiled = dyn_cast<TileOpInterface>(lse.getDefiningOp()))
      return tiled.computeLse(*this, lse);
  return evaluate(lse);
}

void Evaluator::setNormalizer(Value lse, const Normalizer &normalizer) {
  getRowTile(lse) = normalizer.lse;
  residuals[lse] = normalizer.residual;
}

Tile nsacc::computeResidual(TileMath &math, Tile lse, Tile most,
                            Tile logarithm) {
  Tile residual = math.apply<arith::AddFOp>(
      math.apply<arith::SubFOp>(most, lse), logarithm);
  Tile size = {
      math::AbsFOp::create(math.getBuilder(), math.getLoc(), lse.value),
      lse.axes};
  Tile isFinite =
      math.compare(arith::CmpFPredicate::OLT, size, realRow(math, kInfinity));
  return math.select(isFinite, residual, realRow(math, 0.0));
}

FailureOr<Normalizer> Evaluator::evaluateNormalizer(Value lse) {
  FailureOr<Tile> found = evaluateLse(lse);
  if (failed(found))
    return failure();
  auto known = residuals.find(lse);
  if (known != residuals.end())
    return Normalizer{*found, known->second};
  auto type = cast<NamedTensorType>(lse.getType());
  TileMath math = getMath(type);
  Tile residual = realRow(math, 0.0);
  auto state = states.find(lse);
  if (state != states.end()) {
    Tile logarithm = {math::LogOp::create(builder, loc, state->second.sum),
                      TileAxes::Row};
    residual = computeResidual(math, *found, {state->second.max, TileAxes::Row},
                               logarithm);
  } else if (Value buffer = program.getPlan().getResidual(lse)) {
    residual = loadQueryTile(program, getTileInBuffer(program, tile, lse), type,
                             getRowDims(type), program.import(buffer), math);
  }
  residuals[lse] = residual;
  return Normalizer{*found, residual};
}
