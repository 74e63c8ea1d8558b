//===- NeededEntries.cpp - Pooled keys whose importance is read -----------===//

#include "NSA/Analysis/NeededEntries.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

/// Adds the sizes of blocks that read the importance; false if another op may
/// read any entry.
static bool collectBlocks(Value importance, SmallVectorImpl<int64_t> &blocks) {
  auto add = [&](int64_t block) {
    if (!llvm::is_contained(blocks, block))
      blocks.push_back(block);
    return true;
  };
  return llvm::all_of(importance.getUsers(), [&](Operation *user) {
    if (auto map = dyn_cast<MapOp>(user))
      return collectBlocks(map.getResult(), blocks);
    if (auto mapped = dyn_cast<BlocksOp>(user))
      return add(mapped.getBlock());
    if (auto topk = dyn_cast<TopKOp>(user))
      return add(cast<SelectionType>(topk.getResult().getType()).getBlock());
    return false;
  });
}

std::optional<NeededEntries> NeededEntries::find(ImportanceOp op) {
  auto type = cast<NamedTensorType>(op.getResult().getType());
  auto dim = dyn_cast<PooledDimAttr>(type.getDims().back());
  NeededEntries needed;
  // Every computed window shares a token with a block.
  if (!dim || !dim.isDeclared() ||
      !collectBlocks(op.getResult(), needed.blocks))
    return std::nullopt;
  needed.dim = dim;
  return needed;
}

int64_t NeededEntries::getFirst() const {
  // first + n stride + len <= 0
  int64_t last = llvm::divideFloorSigned(-(dim.getFirstStart() + dim.getLen()),
                                         dim.getStride());
  return dim.getMemory() + std::max<int64_t>(last + 1, 0);
}

int64_t NeededEntries::getEnd(int64_t tokens) const {
  int64_t end = 0;
  for (int64_t block : blocks)
    end = std::max(end, int64_t(llvm::alignTo(tokens, block)));
  // first + n stride < end
  int64_t entries =
      llvm::divideCeilSigned(end - dim.getFirstStart(), dim.getStride());
  return tokens == 0 ? 0 : dim.getMemory() + std::max<int64_t>(entries, 0);
}
