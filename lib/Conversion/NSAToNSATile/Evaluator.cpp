//===- Evaluator.cpp - Values of one query tile, on demand ----------------===//

#include "Evaluator.h"
#include "AttendTiles.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

/// The size of the dimension behind batch, token and head; 1 if there is none.
int64_t Evaluator::getChannels(NamedTensorType type) {
  for (Attribute dim : type.getDims())
    if (dim != tile.dims.batch && dim != tile.dims.token &&
        dim != tile.dims.head)
      return program.getPlan().getStaticSize(dim).value_or(1);
  return 1;
}

FailureOr<Tile> Evaluator::evaluate(Value tensor) {
  auto found = tiles.find(tensor);
  if (found != tiles.end())
    return found->second;
  FailureOr<Tile> computed = compute(tensor);
  if (succeeded(computed))
    tiles[tensor] = *computed;
  return computed;
}

FailureOr<Tile> Evaluator::compute(Value tensor) {
  auto type = cast<NamedTensorType>(tensor.getType());
  if (program.getPlan().isMaterialized(tensor)) {
    TileMath math = getMath(type);
    return loadQueryTile(program, tile, tensor, math);
  }
  Operation *op = tensor.getDefiningOp();
  if (auto map = dyn_cast<MapOp>(op))
    return computeMap(map);
  if (auto merge = dyn_cast<MergeOp>(op)) {
    if (failed(computeMerge(merge)))
      return failure();
    return tiles.lookup(tensor);
  }
  if (auto attend = dyn_cast<AttendOp>(op)) {
    bool onlyLse = tensor == attend.getLse() && attend.getOutput().use_empty();
    AttendTiles both = attendTile(program, tile, attend, schedule, onlyLse);
    if (both.output)
      tiles[attend.getOutput()] = {both.output, Spread::Matrix};
    if (both.lse)
      tiles[attend.getLse()] = {both.lse, Spread::Row};
    return tiles.lookup(tensor);
  }
  InFlightDiagnostic error =
      op->emitOpError("isn't compiled yet where its value is a result or an "
                      "operand of arithmetic");
  error.attachNote() << "run the program with --target oracle";
  return error;
}

FailureOr<Tile> Evaluator::computeMap(MapOp op) {
  SmallVector<Tile> operands;
  for (Value input : op.getInputs()) {
    FailureOr<Tile> operand = evaluate(input);
    if (failed(operand))
      return failure();
    operands.push_back(*operand);
  }
  auto type = cast<NamedTensorType>(op.getResult().getType());
  TileMath math = getMath(type);
  if (!mayFault(op.getBody(), ScalarPlaces()))
    return tileRegion(op.getBody(), operands, math, {program, tile.batchRow});
  Demand demand = getElementDemand(op, math);
  return tileRegion(op.getBody(), operands, math,
                    {program, tile.batchRow, &demand});
}

/// Elements of rows that exist.
Demand Evaluator::getElementDemand(MapOp op, TileMath &math) {
  Demand demand;
  demand.op = getOpNumber(op);
  demand.active =
      math.compare(arith::CmpIPredicate::slt, {tile.tokenOfRow, Spread::Row},
                   {tile.numTokens, Spread::Scalar});
  for (Attribute dim :
       cast<NamedTensorType>(op.getResult().getType()).getDims()) {
    Tile index;
    if (dim == tile.dims.batch)
      index = {tile.batchRow, Spread::Scalar};
    else if (dim == tile.dims.token)
      index = math.apply<arith::AddIOp>({tile.tokenOfRow, Spread::Row},
                                        {tile.rowStart, Spread::Scalar});
    else if (dim == tile.dims.head)
      index = {tile.headOfRow, Spread::Row};
    else
      index = {
          nsatile::IotaOp::create(builder, loc,
                                  cast<RankedTensorType>(math.getType(
                                      Spread::Column, builder.getIndexType())),
                                  program.math().constant(0)),
          Spread::Column};
    demand.positions.push_back(index);
  }
  return demand;
}

FailureOr<Tile> Evaluator::evaluateLse(Value lse) {
  auto found = tiles.find(lse);
  if (found != tiles.end())
    return found->second;
  if (!program.getPlan().isMaterialized(lse)) {
    Operation *op = lse.getDefiningOp();
    if (auto attend = dyn_cast<AttendOp>(op)) {
      AttendTiles both =
          attendTile(program, tile, attend, schedule, /*onlyLse=*/true);
      tiles[lse] = {both.lse, Spread::Row};
      return tiles.lookup(lse);
    }
    if (auto merge = dyn_cast<MergeOp>(op)) {
      SmallVector<Tile> lses;
      for (Value branch : merge.getLses()) {
        FailureOr<Tile> tile = evaluateLse(branch);
        if (failed(tile))
          return failure();
        lses.push_back(*tile);
      }
      TileMath math = getMath(cast<NamedTensorType>(lse.getType()));
      tiles[lse] = computeShares(math, lses).lse;
      return tiles.lookup(lse);
    }
  }
  return evaluate(lse);
}

/// With m the greatest log-sum-exp: shares exp(lse_n - m), their sum, and
/// lse = m + log Σ exp(lse_n - m).
Evaluator::Shares Evaluator::computeShares(TileMath &math,
                                           ArrayRef<Tile> lses) {
  Tile greatest = lses.front();
  for (Tile lse : lses.drop_front())
    greatest = math.apply<arith::MaximumFOp>(greatest, lse);
  // A row that sees nothing anywhere: exp(-inf - 0) = 0 for each branch.
  Tile hidden = {
      math.constant(Spread::Row, -std::numeric_limits<double>::infinity()),
      Spread::Row};
  Tile zero = {math.constant(Spread::Row, 0.0), Spread::Row};
  Tile isHidden = math.compare(arith::CmpFPredicate::OEQ, greatest, hidden);
  Tile base = math.select(isHidden, zero, greatest);
  Shares shares;
  shares.total = zero;
  for (Tile lse : lses) {
    Tile distance = math.apply<arith::SubFOp>(lse, base);
    shares.shares.push_back(
        {math::ExpOp::create(builder, loc, distance.value), Spread::Row});
    shares.total =
        math.apply<arith::AddFOp>(shares.total, shares.shares.back());
  }
  Tile logarithm = {math::LogOp::create(builder, loc, shares.total.value),
                    Spread::Row};
  // inf - inf has made the rest NaN.
  Tile infinite = {
      math.constant(Spread::Row, std::numeric_limits<double>::infinity()),
      Spread::Row};
  shares.lse =
      math.select(math.compare(arith::CmpFPredicate::OEQ, greatest, infinite),
                  greatest, math.apply<arith::AddFOp>(base, logarithm));
  return shares;
}

/// o = Σ exp(lse_n - m) o_n / Σ exp(lse_n - m).
LogicalResult Evaluator::computeMerge(MergeOp op) {
  SmallVector<Tile> outputs, lses;
  for (auto [output, lse] : llvm::zip_equal(op.getOutputs(), op.getLses())) {
    FailureOr<Tile> outputTile = evaluate(output);
    FailureOr<Tile> lseTile = evaluate(lse);
    if (failed(outputTile) || failed(lseTile))
      return failure();
    outputs.push_back(*outputTile);
    lses.push_back(*lseTile);
  }
  TileMath math = getMath(cast<NamedTensorType>(op.getOutput().getType()));
  Shares shares = computeShares(math, lses);
  Tile zero = {math.constant(Spread::Row, 0.0), Spread::Row};
  Tile one = {math.constant(Spread::Row, 1.0), Spread::Row};
  Tile sum = {math.constant(Spread::Matrix, 0.0), Spread::Matrix};
  for (auto [output, share] : llvm::zip_equal(outputs, shares.shares))
    sum = math.apply<arith::AddFOp>(sum,
                                    math.apply<arith::MulFOp>(output, share));
  Tile isEmpty = math.compare(arith::CmpFPredicate::OEQ, shares.total, zero);
  Tile divisor = math.select(isEmpty, one, shares.total);
  tiles[op.getOutput()] = math.apply<arith::DivFOp>(sum, divisor);
  tiles[op.getLse()] = shares.lse;
  return success();
}
