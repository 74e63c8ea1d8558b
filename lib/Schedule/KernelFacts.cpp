//===- KernelFacts.cpp - What choices of tiles ask of kernels -------------===//

#include "KernelFacts.h"
#include "NSA/Transforms/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "nsacc/Schedule/Choose.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;

std::optional<int64_t> schedule::getSize(KernelOp kernel, Attribute dim) {
  if (auto size = dyn_cast<IntegerAttr>(dim))
    return size.getInt();
  auto sizes = kernel->getAttrOfType<DictionaryAttr>(kSizesAttrName);
  auto named = dyn_cast<NamedDimAttr>(dim);
  if (!sizes || !named)
    return std::nullopt;
  if (auto size = sizes.getAs<IntegerAttr>(named.getName()))
    return size.getInt();
  return std::nullopt;
}

static std::optional<int64_t> getHeads(KernelOp kernel, Value tensor) {
  auto type = cast<NamedTensorType>(tensor.getType());
  return getSize(kernel, type.getDims()[type.isRagged() ? 1 : 2]);
}

int64_t schedule::getGroup(KernelOp kernel) {
  int64_t group = 1;
  kernel.walk([&](ScoringOpInterface op) {
    std::optional<int64_t> queries = getHeads(kernel, op.getQuery());
    std::optional<int64_t> keys = getHeads(kernel, op.getKey());
    if (queries && keys && *keys > 0)
      group = std::max<int64_t>(1, *queries / *keys);
    return WalkResult::interrupt();
  });
  return group;
}

bool schedule::isBand(const MaskInfo &mask) {
  auto moves = [](AffineExpr bound) { return bound.isFunctionOfDim(0); };
  return llvm::all_of(mask.intervals, [&](const KeyInterval &interval) {
    return llvm::any_of(interval.lower, moves);
  });
}

AttendOp schedule::findSelecting(KernelOp kernel) {
  AttendOp found;
  kernel.walk([&](AttendOp op) {
    if (!found && op.getSelection())
      found = op;
  });
  return found;
}

std::optional<DenseAttention> schedule::findDenseAttention(KernelOp kernel) {
  SmallVector<ScoringOpInterface> scoring;
  kernel.walk([&](ScoringOpInterface op) { scoring.push_back(op); });
  auto attend = scoring.size() == 1
                    ? dyn_cast<AttendOp>(scoring.front().getOperation())
                    : AttendOp();
  // What is selected comes in tiles of its blocks.
  if (!attend || attend.getSelection())
    return std::nullopt;
  DenseAttention found = {attend};
  for (Value tensor : {attend.getKey(), attend.getValue()}) {
    auto type = cast<NamedTensorType>(tensor.getType());
    std::optional<int64_t> size = getSize(kernel, type.getDims().back());
    constexpr int64_t copiedAtOnce = 8;
    if (!size || *size % copiedAtOnce != 0 ||
        type.getElementType().getIntOrFloatBitWidth() != 16)
      return std::nullopt;
    found.channels = std::max(found.channels, *size);
  }
  return found;
}

bool schedule::isPlain(AttendOp attend, const MaskInfo &mask) {
  return attend.getScore().empty() && attend.getWeight().empty() &&
         mask.isExact();
}

bool schedule::hasChoice(int64_t channels) {
  return channels > 64 && channels <= 128;
}
