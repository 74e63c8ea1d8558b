
#include "NSA/IR/NSAOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace nsacc::nsa;

//===----------------------------------------------------------------------===//
// Clauses that say the default
//===----------------------------------------------------------------------===//

static Value getYielded(Region &region) {
  return cast<YieldOp>(region.front().getTerminator()).getValue();
}

/// `mask (…) { nsa.yield %true }`
static bool seesEverything(Region &mask) {
  return !mask.empty() && matchPattern(getYielded(mask), m_One());
}

/// `score (%s, …) { nsa.yield %s }`
static bool yieldsScore(Region &score) {
  return !score.empty() && getYielded(score) == score.getArgument(0);
}

static bool yieldsReal(Region &region, function_ref<bool(const APFloat &)> is) {
  FloatAttr value;
  return !region.empty() &&
         matchPattern(getYielded(region), m_Constant(&value)) &&
         is(value.getValue());
}

/// Erases through the rewriter, whose worklist may hold the region's ops.
static void clear(PatternRewriter &rewriter, Operation *op, Region &region) {
  rewriter.modifyOpInPlace(op, [&] { rewriter.eraseBlock(&region.front()); });
}

static LogicalResult dropDefaultClauses(ScoringOpInterface op,
                                        PatternRewriter &rewriter) {
  bool changed = false;
  if (seesEverything(op.getMask())) {
    clear(rewriter, op, op.getMask());
    changed = true;
  }
  if (yieldsScore(op.getScore())) {
    clear(rewriter, op, op.getScore());
    changed = true;
  }
  return success(changed);
}

//===----------------------------------------------------------------------===//
// AttendOp, ImportanceOp
//===----------------------------------------------------------------------===//

LogicalResult AttendOp::canonicalize(AttendOp op, PatternRewriter &rewriter) {
  bool changed = succeeded(dropDefaultClauses(
      cast<ScoringOpInterface>(op.getOperation()), rewriter));
  // x / 1 = x. Exponentials keep it as the sign that no softmax is meant.
  if (yieldsReal(op.getNormalize(),
                 [](const APFloat &x) { return x.isExactlyValue(1.0); }) &&
      !isa_and_present<math::ExpOp, math::Exp2Op>(
          getYielded(op.getWeight()).getDefiningOp())) {
    clear(rewriter, op, op.getNormalize());
    changed = true;
  }
  // exp(-inf) = 0 adds nothing to a softmax.
  if (yieldsReal(op.getSink(), [](const APFloat &x) {
        return x.isInfinity() && x.isNegative();
      })) {
    clear(rewriter, op, op.getSink());
    changed = true;
  }
  return success(changed);
}

LogicalResult ImportanceOp::canonicalize(ImportanceOp op,
                                         PatternRewriter &rewriter) {
  bool changed = succeeded(dropDefaultClauses(
      cast<ScoringOpInterface>(op.getOperation()), rewriter));
  // Weights are computed from scores, so scores don't depend on them.
  if (op.getKind() == ImportanceKind::Score && !op.getWeight().empty()) {
    clear(rewriter, op, op.getWeight());
    changed = true;
  }
  return success(changed);
}

//===----------------------------------------------------------------------===//
// MergeOp
//===----------------------------------------------------------------------===//

/// merge(o) lse(lse) -> o, lse. `o` and `lse` must come from the same op, since
/// merging scales the output of a row by exp(lse - lse), which is NaN if lse
/// is.
LogicalResult MergeOp::fold(FoldAdaptor,
                            SmallVectorImpl<OpFoldResult> &results) {
  if (getOutputs().size() != 1)
    return failure();
  Value output = getOutputs().front(), lse = getLses().front();
  Operation *branch = output.getDefiningOp();
  if (!isa_and_nonnull<AttendOp, MergeOp>(branch) ||
      branch != lse.getDefiningOp() || output != branch->getResult(0) ||
      lse != branch->getResult(1))
    return failure();
  results.assign({output, lse});
  return success();
}

//===----------------------------------------------------------------------===//
// TopKOp
//===----------------------------------------------------------------------===//

/// Pooled keys that equal the blocks: every map of them to blocks is the
/// identity, so that topk may read them directly.
static bool areBlocks(BlocksOp op) {
  auto pooled =
      cast<PooledDimAttr>(op.getImportance().getType().getDims().back());
  return pooled.getLen() == pooled.getStride() && pooled.getOffset() == 0 &&
         pooled.getMemory() == 0 &&
         pooled.getLen() == static_cast<int64_t>(op.getBlock());
}

LogicalResult TopKOp::canonicalize(TopKOp op, PatternRewriter &rewriter) {
  bool changed = false;
  auto change = [&](function_ref<void()> edit) {
    rewriter.modifyOpInPlace(op, edit);
    changed = true;
  };
  if (seesEverything(op.getMask())) {
    clear(rewriter, op, op.getMask());
    changed = true;
  }
  if (op.getPlus() && op.getFirst() == 0 && op.getLast() == 0)
    change([&] { op.setPlus(false); });
  if (op.getShareTokens() == 1 && op.getShareTokensBy() != ShareBy::Sum)
    change([&] { op.setShareTokensBy(ShareBy::Sum); });
  if (op.getShareHeads() == 1 && op.getShareHeadsBy() != ShareBy::Sum)
    change([&] { op.setShareHeadsBy(ShareBy::Sum); });
  auto blocks = op.getImportance().getDefiningOp<BlocksOp>();
  if (blocks && areBlocks(blocks))
    change([&] { op.getImportanceMutable().assign(blocks.getImportance()); });
  return success(changed);
}

//===----------------------------------------------------------------------===//
// MapOp
//===----------------------------------------------------------------------===//

/// map(x) { yield x } -> x
OpFoldResult MapOp::fold(FoldAdaptor) {
  Value yielded = getYielded(getBody());
  auto argument = dyn_cast<BlockArgument>(yielded);
  if (!argument || argument.getOwner() != &getBody().front())
    return {};
  Value input = getInputs()[argument.getArgNumber()];
  return input.getType() == getType() ? OpFoldResult(input) : OpFoldResult();
}

/// Whether the sizes of all dimensions of the result are known without input
/// `dropped`.
static bool hasDimsWithout(MapOp op, unsigned dropped) {
  return llvm::all_of(op.getType().getDims(), [&](Attribute dim) {
    if (isa<IntegerAttr>(dim))
      return true;
    return llvm::any_of(llvm::enumerate(op.getInputs()), [&](auto input) {
      auto type = cast<NamedTensorType>(input.value().getType());
      return input.index() != dropped &&
             llvm::is_contained(type.getDims(), dim);
    });
  });
}

/// map(x, x) { … } -> map(x) { … }; unused inputs are dropped.
LogicalResult MapOp::canonicalize(MapOp op, PatternRewriter &rewriter) {
  Block &body = op.getBody().front();
  for (unsigned index = op.getInputs().size(); index-- > 0;) {
    Value input = op.getInputs()[index];
    BlockArgument argument = body.getArgument(index);
    unsigned firstIndex = std::distance(op.getInputs().begin(),
                                        llvm::find(op.getInputs(), input));
    bool repeated = firstIndex != index;
    if (!repeated && !(argument.use_empty() && hasDimsWithout(op, index)))
      continue;
    rewriter.modifyOpInPlace(op, [&] {
      if (repeated)
        rewriter.replaceAllUsesWith(argument, body.getArgument(firstIndex));
      body.eraseArgument(index);
      op.getInputsMutable().erase(index);
    });
    return success();
  }
  return failure();
}
