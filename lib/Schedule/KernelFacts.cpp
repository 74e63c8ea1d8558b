//===- KernelFacts.cpp - Facts that choices of tiles need -----------------===//

#include "KernelFacts.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "nsacc/Schedule/ResultSlices.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;

bool schedule::isBand(const MaskInfo &mask) {
  auto moves = [](AffineExpr bound) { return bound.isFunctionOfDim(0); };
  return llvm::all_of(mask.intervals, [&](const KeyInterval &interval) {
    return llvm::any_of(interval.lower, moves);
  });
}

/// Number of keys in front of a row's place that one bound lets it see; 0 where
/// the bound isn't a constant distance.
static int64_t getReach(AffineExpr lower) {
  auto sum = dyn_cast<AffineBinaryOpExpr>(lower);
  if (!sum || sum.getKind() != AffineExprKind::Add ||
      !isa<AffineDimExpr>(sum.getLHS()))
    return 0;
  auto distance = dyn_cast<AffineConstantExpr>(sum.getRHS());
  return distance ? -distance.getValue() : 0;
}

int64_t schedule::getReach(const MaskInfo &mask) {
  int64_t reach = 0;
  for (const KeyInterval &interval : mask.intervals) {
    // The nearest of the moving bounds is the one that holds.
    std::optional<int64_t> nearest;
    for (AffineExpr lower : interval.lower)
      if (lower.isFunctionOfDim(0)) {
        int64_t own = ::getReach(lower);
        nearest = nearest ? std::min(*nearest, own) : own;
      }
    reach = std::max(reach, nearest.value_or(0));
  }
  return reach;
}

bool schedule::hasHalves(Value tensor) {
  return cast<NamedTensorType>(tensor.getType())
             .getElementType()
             .getIntOrFloatBitWidth() == 16;
}

bool schedule::hasHalves(ScoringOpInterface attend) {
  return hasHalves(attend.getKey()) && hasHalves(attend.getValue());
}

std::optional<int64_t> schedule::getChannels(KernelOp kernel, Value tensor) {
  auto type = cast<NamedTensorType>(tensor.getType());
  return getStaticSize(kernel, type.getDims().back());
}

SmallVector<ScoringOpInterface> Scope::findAttends() const {
  return llvm::to_vector(llvm::make_filter_range(
      ops, [](ScoringOpInterface op) { return bool(op.getValue()); }));
}

ScoringOpInterface Scope::findSelecting() const {
  SmallVector<ScoringOpInterface> all = findAllSelecting();
  return all.empty() ? ScoringOpInterface() : all.front();
}

SmallVector<ScoringOpInterface> Scope::findAllSelecting() const {
  SmallVector<ScoringOpInterface> found = findAttends();
  llvm::erase_if(found,
                 [](ScoringOpInterface op) { return !op.getSelection(); });
  return found;
}

int64_t Scope::getChannels() const {
  int64_t channels = 0;
  for (ScoringOpInterface op : findAttends())
    for (Value tensor : {op.getKey(), op.getValue()})
      channels =
          std::max(channels, schedule::getChannels(kernel, tensor).value_or(0));
  return channels;
}

std::optional<DenseAttention> schedule::findDenseAttention(const Scope &scope) {
  ScoringOpInterface attend =
      scope.ops.size() == 1 ? scope.ops.front() : ScoringOpInterface();
  // Selected keys come in tiles of their blocks.
  if (!attend || !attend.getValue() || attend.getSelection() ||
      !hasHalves(attend))
    return std::nullopt;
  DenseAttention found = {attend};
  for (Value tensor : {attend.getKey(), attend.getValue()}) {
    std::optional<int64_t> size = getChannels(scope.kernel, tensor);
    constexpr int64_t copiedAtOnce = 8;
    if (!size || *size % copiedAtOnce != 0)
      return std::nullopt;
    found.channels = std::max(found.channels, *size);
  }
  return found;
}

ScoringOpInterface schedule::findLongBlocks(KernelOp kernel) {
  constexpr int64_t leastBlock = 256;
  SmallVector<ScoringOpInterface> attends = findAttends(kernel);
  if (attends.size() != 1 || !attends.front().getSelection())
    return {};
  ScoringOpInterface attend = attends.front();
  // The lengths of ragged rows aren't known before a call's offsets are read.
  if (cast<NamedTensorType>(attend.getQuery().getType()).isRagged())
    return {};
  auto type = cast<SelectionType>(attend.getSelection().getType());
  return type.getBlock() >= leastBlock && hasHalves(attend)
             ? attend
             : ScoringOpInterface();
}

bool schedule::isPlain(ScoringOpInterface attend, const MaskInfo &mask) {
  return attend.getScore().empty() && attend.getWeight().empty() &&
         mask.isExact();
}

PooledDimAttr schedule::getPooledKeys(ScoringOpInterface attend) {
  for (Attribute dim :
       cast<NamedTensorType>(attend.getKey().getType()).getDims())
    if (auto pooled = dyn_cast<PooledDimAttr>(dim))
      return pooled;
  return {};
}

ScoringOpInterface schedule::findRanking(KernelOp kernel) {
  for (ScoringOpInterface attend : findAttends(kernel)) {
    Value lse = attend.getComputedLse();
    if (lse && !attend.getSelection() && !attend.getOutput().use_empty() &&
        getPooledKeys(attend) &&
        llvm::any_of(lse.getUsers(), llvm::IsaPred<ImportanceOp>))
      return attend;
  }
  return {};
}

bool schedule::canCutRanking(KernelOp kernel, ScoringOpInterface ranking) {
  auto isOwn = [&](Operation *op) { return op == ranking.getOperation(); };
  auto isKeyMajor = [](ScoringOpInterface) { return false; };
  return !findResultSlices(kernel, {isOwn, isKeyMajor}).attends.empty();
}

bool schedule::hasChoice(int64_t channels) {
  return channels > 64 && channels <= 128;
}
