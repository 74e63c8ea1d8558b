//===- NSATileFolds.cpp - Folds of the nsatile dialect --------------------===//

#include "NSATile/IR/NSATileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace nsacc::nsatile;

Operation *NSATileDialect::materializeConstant(OpBuilder &builder,
                                               Attribute value, Type type,
                                               Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

/// A splat of the result's shape from a splat operand; null for others.
static Attribute foldSplat(Attribute source, Type result) {
  auto splat = dyn_cast_if_present<SplatElementsAttr>(source);
  return splat ? splat.resizeSplat(cast<ShapedType>(result)) : Attribute();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getDims().empty())
    return getSource();
  return foldSplat(adaptor.getSource(), getResult().getType());
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor) {
  return getSource().getType() == getResult().getType() ? getSource() : Value();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getResult().getType())
    return getSource();
  return foldSplat(adaptor.getSource(), getResult().getType());
}

/// Folds the maximum of equal elements to one of them. The maximum of no
/// elements is -inf, and stays.
OpFoldResult ReduceOp::fold(FoldAdaptor adaptor) {
  bool isEmpty = getSource().getType().getDimSize(getDim()) == 0;
  if (getKind() != ReduceKind::Max || isEmpty)
    return {};
  return foldSplat(adaptor.getSource(), getResult().getType());
}

OpFoldResult SortOp::fold(FoldAdaptor) {
  auto sorted = getKeys().getDefiningOp<SortOp>();
  bool inOrder = sorted && sorted.getOrder() == getOrder();
  bool isSingle = getKeys().getType().getDimSize(1) <= 1;
  return inOrder || isSingle ? getKeys() : OpFoldResult();
}

/// repeat %i below 1 {A(%i)} -> A(0); no launches or runs -> nothing
LogicalResult RepeatOp::canonicalize(RepeatOp op, PatternRewriter &rewriter) {
  APInt count;
  bool isKnown = matchPattern(op.getCount(), m_ConstantInt(&count));
  if (op.getBody().getOps<LaunchOp>().empty() ||
      (isKnown && !count.isStrictlyPositive())) {
    rewriter.eraseOp(op);
    return success();
  }
  if (!isKnown || !count.isOne())
    return failure();
  op.inlineBody(rewriter,
                arith::ConstantIndexOp::create(rewriter, op.getLoc(), 0));
  return success();
}

/// A grid of no points runs nothing.
LogicalResult LaunchOp::canonicalize(LaunchOp op, PatternRewriter &rewriter) {
  bool isEmpty =
      llvm::any_of(ValueRange{op.getX(), op.getY(), op.getZ()},
                   [](Value size) { return matchPattern(size, m_Zero()); });
  if (!isEmpty)
    return failure();
  rewriter.eraseOp(op);
  return success();
}
