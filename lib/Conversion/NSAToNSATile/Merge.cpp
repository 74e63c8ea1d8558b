//===- Merge.cpp - Merges of attentions over disjoint keys ----------------===//

#include "Evaluator.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

namespace {
/// Each branch's share in a merge, up to a factor, their sum, and the
/// log-sum-exp.
struct Shares {
  SmallVector<Tile> shares;
  Tile total;
  Normalizer all;
};
} // namespace

static FailureOr<SmallVector<Normalizer>> evaluateBranches(Evaluator &rows,
                                                           MergeOp op) {
  SmallVector<Normalizer> branches;
  for (Value lse : op.getLses()) {
    FailureOr<Normalizer> branch = rows.evaluateNormalizer(lse);
    if (failed(branch))
      return failure();
    branches.push_back(*branch);
  }
  return branches;
}

/// With m the greatest log-sum-exp: shares exp(lse_n - m), their sum, and
/// lse = m + log Σ exp(lse_n - m).
static Shares computeShares(TileMath &math, ArrayRef<Normalizer> branches) {
  OpBuilder &builder = math.getBuilder();
  Location loc = math.getLoc();
  Tile greatest = branches.front().lse;
  for (const Normalizer &branch : branches.drop_front())
    greatest = math.apply<arith::MaximumFOp>(greatest, branch.lse);
  // A row that sees nothing in any branch has exp(-inf - 0) = 0 for each.
  Tile zero = realRow(math, 0.0);
  Tile isHidden = math.compare(arith::CmpFPredicate::OEQ, greatest,
                               realRow(math, -kInfinity));
  Tile base = math.select(isHidden, zero, greatest);
  Shares shares;
  shares.total = zero;
  for (const Normalizer &branch : branches) {
    Tile distance = math.apply<arith::AddFOp>(
        math.apply<arith::SubFOp>(branch.lse, base), branch.residual);
    shares.shares.push_back(
        {math::ExpOp::create(builder, loc, distance.value), TileAxes::Row});
    shares.total =
        math.apply<arith::AddFOp>(shares.total, shares.shares.back());
  }
  Tile logarithm = {math::LogOp::create(builder, loc, shares.total.value),
                    TileAxes::Row};
  // inf - inf has made the residual NaN.
  Tile isInfinite = math.compare(arith::CmpFPredicate::OEQ, greatest,
                                 realRow(math, kInfinity));
  shares.all.lse = math.select(isInfinite, greatest,
                               math.apply<arith::AddFOp>(base, logarithm));
  shares.all.residual = computeResidual(math, shares.all.lse, base, logarithm);
  return shares;
}

/// o = Σ exp(lse_n - m) o_n / Σ exp(lse_n - m).
LogicalResult nsacc::computeMerge(Evaluator &rows, MergeOp op) {
  SmallVector<Tile> outputs;
  for (Value output : op.getOutputs()) {
    FailureOr<Tile> outputTile = rows.evaluate(output);
    if (failed(outputTile))
      return failure();
    outputs.push_back(*outputTile);
  }
  FailureOr<SmallVector<Normalizer>> branches = evaluateBranches(rows, op);
  if (failed(branches))
    return failure();
  TileMath math = rows.getMath(cast<NamedTensorType>(op.getOutput().getType()));
  Shares shares = computeShares(math, *branches);
  Tile zero = realRow(math, 0.0), one = realRow(math, 1.0);
  Tile sum = {math.constant(TileAxes::Matrix, 0.0), TileAxes::Matrix};
  for (auto [output, share] : llvm::zip_equal(outputs, shares.shares))
    sum = math.apply<arith::AddFOp>(sum,
                                    math.apply<arith::MulFOp>(output, share));
  Tile isEmpty = math.compare(arith::CmpFPredicate::OEQ, shares.total, zero);
  Tile divisor = math.select(isEmpty, one, shares.total);
  rows.getRowTile(op.getOutput()) = math.apply<arith::DivFOp>(sum, divisor);
  rows.setNormalizer(op.getLse(), shares.all);
  return success();
}

LogicalResult nsacc::computeMergedLse(Evaluator &rows, MergeOp op) {
  FailureOr<SmallVector<Normalizer>> branches = evaluateBranches(rows, op);
  if (failed(branches))
    return failure();
  TileMath math = rows.getMath(cast<NamedTensorType>(op.getLse().getType()));
  rows.setNormalizer(op.getLse(), computeShares(math, *branches).all);
  return success();
}
