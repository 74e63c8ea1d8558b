//===- QueryCount.cpp - Kernels whose tiles depend on rows ----------------===//

#include "nsacc/Schedule/QueryCount.h"
#include "KernelFacts.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;

std::optional<QueryCount> QueryCount::get(KernelOp kernel) {
  AttendOp attend;
  kernel.walk([&](ScoringOpInterface op) {
    bool isOnly = !attend;
    attend = isOnly ? dyn_cast<AttendOp>(op.getOperation()) : AttendOp();
    return attend ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (!attend || attend.getSelection())
    return std::nullopt;
  auto type = cast<NamedTensorType>(attend.getQuery().getType());
  MaskInfo mask = analyzeMask(attend);
  if (type.isRagged() || !isPlain(attend, mask) || isBand(mask))
    return std::nullopt;
  auto getDim = [&](Attribute dim) -> Dim {
    if (auto named = dyn_cast<NamedDimAttr>(dim))
      return {named.getName().str(), 0};
    auto size = dyn_cast<IntegerAttr>(dim);
    return {"", size ? size.getInt() : 0};
  };
  QueryCount count;
  count.batch = getDim(type.getDims()[0]);
  count.tokens = getDim(type.getDims()[1]);
  count.heads = getDim(type.getDims()[2]);
  auto getChannels = [&](Value tensor) {
    return getDim(cast<NamedTensorType>(tensor.getType()).getDims().back());
  };
  count.keyChannels = getChannels(attend.getKey());
  count.valueChannels = getChannels(attend.getValue());
  return count;
}

bool QueryCount::isLarge(const llvm::StringMap<int64_t> &sizes) const {
  // At 1024 tokens, the last tile of 192 rows has too many to spare; of fewer
  // rows than these, some multiprocessors would have a tile less than others.
  constexpr int64_t longRow = 1 << 14, manyRows = 1 << 18;
  auto getSize = [&](const Dim &dim) {
    return dim.name.empty() ? dim.size : sizes.lookup(dim.name);
  };
  int64_t length = getSize(tokens), rows = length;
  for (int64_t size : {getSize(batch), getSize(heads)})
    rows = size == 0 || size > manyRows ? manyRows
                                        : std::min(rows, manyRows) * size;
  return length >= longRow && rows >= manyRows &&
         hasChoice(std::max(getSize(keyChannels), getSize(valueChannels)));
}
