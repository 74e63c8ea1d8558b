//===- ExpandSoftmax.cpp - Merges and weights as arithmetic ---------------===//

#include "NSATile/IR/NSATileOps.h"
#include "NSATile/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/Support/MathExtras.h"

namespace nsacc::nsatile {
#define GEN_PASS_DEF_NSATILEEXPANDSOFTMAX
#include "NSATile/Transforms/Passes.h.inc"
} // namespace nsacc::nsatile

using namespace mlir;
using namespace nsacc::nsatile;

static Value splat(OpBuilder &builder, Location loc, RankedTensorType type,
                   double value) {
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(type, builder.getF32FloatAttr(value).getValue()));
}

namespace {

struct ExpandMerge : OpRewritePattern<SoftmaxMergeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SoftmaxMergeOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getNewMax().getType());
    // A maximum is never NaN: a NaN score is in the sum.
    Value max =
        arith::MaxNumFOp::create(rewriter, loc, op.getLhsMax(), op.getRhsMax());
    Value min =
        arith::MinNumFOp::create(rewriter, loc, op.getLhsMax(), op.getRhsMax());
    Value less = math::ExpOp::create(
        rewriter, loc, arith::SubFOp::create(rewriter, loc, min, max));
    // Infinities can be equal, too: inf - inf would be NaN.
    auto getDecay = [&](Value side) -> Value {
      Value same = arith::CmpFOp::create(rewriter, loc,
                                         arith::CmpFPredicate::OEQ, side, max);
      return arith::SelectOp::create(rewriter, loc, same,
                                     splat(rewriter, loc, type, 1), less);
    };
    Value lhsDecay = getDecay(op.getLhsMax());
    Value rhsDecay = getDecay(op.getRhsMax());
    Value sum = arith::AddFOp::create(
        rewriter, loc,
        arith::MulFOp::create(rewriter, loc, op.getLhsSum(), lhsDecay),
        arith::MulFOp::create(rewriter, loc, op.getRhsSum(), rhsDecay));
    rewriter.replaceOp(op, {max, sum, lhsDecay, rhsDecay});
    return success();
  }
};

/// Writes weights as a power of 2: its factor and the rest are one fused
/// product.
struct ExpandWeights : OpRewritePattern<SoftmaxWeightsOp> {
  ExpandWeights(MLIRContext *context, bool keepApproximate)
      : OpRewritePattern(context), keepApproximate(keepApproximate) {}

  LogicalResult matchAndRewrite(SoftmaxWeightsOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getApproximate() && keepApproximate)
      return failure();
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getWeights().getType());
    Value scale = tensor::SplatOp::create(rewriter, loc, op.getScale(), type);
    Value scaled = arith::MulFOp::create(rewriter, loc, op.getScores(), scale);
    Value distance = arith::SubFOp::create(rewriter, loc, scaled, op.getLse());
    Value rest = arith::MulFOp::create(
        rewriter, loc, op.getRest(),
        splat(rewriter, loc, type, -llvm::numbers::log2e));
    Value exponent = math::FmaOp::create(
        rewriter, loc, distance,
        splat(rewriter, loc, type, llvm::numbers::log2e), rest);
    rewriter.replaceOpWithNewOp<math::Exp2Op>(op, exponent);
    return success();
  }

private:
  bool keepApproximate;
};

struct ExpandSoftmax
    : nsacc::nsatile::impl::NSATileExpandSoftmaxBase<ExpandSoftmax> {
  using NSATileExpandSoftmaxBase::NSATileExpandSoftmaxBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandMerge>(&getContext());
    patterns.add<ExpandWeights>(&getContext(), keepApproximate);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
