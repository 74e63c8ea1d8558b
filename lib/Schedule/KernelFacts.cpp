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

AttendOp Scope::findSelecting() const {
  SmallVector<AttendOp> all = findAllSelecting();
  return all.empty() ? AttendOp() : all.front();
}

SmallVector<AttendOp> Scope::findAllSelecting() const {
  SmallVector<AttendOp> found;
  for (ScoringOpInterface op : ops)
    if (auto attend = dyn_cast<AttendOp>(op.getOperation());
        attend && attend.getSelection())
      found.push_back(attend);
  return found;
}

int64_t Scope::getChannels() const {
  int64_t channels = 0;
  for (ScoringOpInterface op : ops)
    if (auto attend = dyn_cast<AttendOp>(op.getOperation()))
      for (Value tensor : {attend.getKey(), attend.getValue()}) {
        auto type = cast<NamedTensorType>(tensor.getType());
        channels = std::max(
            channels, getStaticSize(kernel, type.getDims().back()).value_or(0));
      }
  return channels;
}

std::optional<DenseAttention> schedule::findDenseAttention(const Scope &scope) {
  ScoringOpInterface only =
      scope.ops.size() == 1 ? scope.ops.front() : ScoringOpInterface();
  auto attend = only ? dyn_cast<AttendOp>(only.getOperation()) : AttendOp();
  // Selected keys come in tiles of their blocks.
  if (!attend || attend.getSelection())
    return std::nullopt;
  DenseAttention found = {attend};
  for (Value tensor : {attend.getKey(), attend.getValue()}) {
    auto type = cast<NamedTensorType>(tensor.getType());
    std::optional<int64_t> size =
        getStaticSize(scope.kernel, type.getDims().back());
    constexpr int64_t copiedAtOnce = 8;
    if (!size || *size % copiedAtOnce != 0 ||
        type.getElementType().getIntOrFloatBitWidth() != 16)
      return std::nullopt;
    found.channels = std::max(found.channels, *size);
  }
  return found;
}

AttendOp schedule::findLongBlocks(KernelOp kernel) {
  constexpr int64_t leastBlock = 256;
  auto attends = llvm::to_vector(kernel.getBody().getOps<AttendOp>());
  if (attends.size() != 1 || !attends.front().getSelection())
    return {};
  AttendOp attend = attends.front();
  // The lengths of ragged rows aren't known before a call's offsets are read.
  if (cast<NamedTensorType>(attend.getQuery().getType()).isRagged())
    return {};
  auto type = cast<SelectionType>(attend.getSelection().getType());
  bool hasHalves = llvm::all_of(ValueRange{attend.getKey(), attend.getValue()},
                                [](Value tensor) {
                                  return cast<NamedTensorType>(tensor.getType())
                                             .getElementType()
                                             .getIntOrFloatBitWidth() == 16;
                                });
  return type.getBlock() >= leastBlock && hasHalves ? attend : AttendOp();
}

bool schedule::isPlain(AttendOp attend, const MaskInfo &mask) {
  return attend.getScore().empty() && attend.getWeight().empty() &&
         mask.isExact();
}

PooledDimAttr schedule::getPooledKeys(AttendOp attend) {
  for (Attribute dim :
       cast<NamedTensorType>(attend.getKey().getType()).getDims())
    if (auto pooled = dyn_cast<PooledDimAttr>(dim))
      return pooled;
  return {};
}

AttendOp schedule::findRanking(KernelOp kernel) {
  AttendOp found;
  kernel.walk([&](AttendOp attend) {
    if (!attend.getLse() || attend.getSelection() ||
        attend.getOutput().use_empty() || !getPooledKeys(attend) ||
        llvm::none_of(attend.getLse().getUsers(), llvm::IsaPred<ImportanceOp>))
      return WalkResult::advance();
    found = attend;
    return WalkResult::interrupt();
  });
  return found;
}

bool schedule::canCutRanking(KernelOp kernel, AttendOp ranking) {
  auto isOwn = [&](Operation *op) { return op == ranking.getOperation(); };
  auto isKeyMajor = [](AttendOp) { return false; };
  return !findResultSlices(kernel, {isOwn, isKeyMajor}).attends.empty();
}

bool schedule::hasChoice(int64_t channels) {
  return channels > 64 && channels <= 128;
}
