//===- QueryCount.cpp - Kernels whose tiles depend on rows ----------------===//

#include "nsacc/Schedule/QueryCount.h"
#include "KernelFacts.h"
#include "llvm/Support/MathExtras.h"

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
  // At 1024 tokens, the last tile of 192 rows has too many to spare; of fewer
  // rows than these, some multiprocessors would have a tile less than others.
  constexpr int64_t longRow = 1 << 14, manyRows = 1 << 18;
  Dim batch = getDim(type.getDims()[0]), tokens = getDim(type.getDims()[1]),
      heads = getDim(type.getDims()[2]);
  QueryCount count;
  count.conditions = {multiply({tokens}, longRow),
                      multiply({tokens, batch, heads}, manyRows)};
  auto getChannels = [&](Value tensor) {
    return getDim(cast<NamedTensorType>(tensor.getType()).getDims().back());
  };
  count.keyChannels = getChannels(attend.getKey());
  count.valueChannels = getChannels(attend.getValue());
  return count;
}

LeastProduct QueryCount::multiply(llvm::ArrayRef<Dim> dims, int64_t least) {
  LeastProduct product;
  product.least = least;
  for (const Dim &dim : dims) {
    if (dim.name.empty())
      product.factor =
          llvm::SaturatingMultiply<uint64_t>(product.factor, dim.size);
    else
      product.dims.push_back(dim.name);
  }
  product.factor = std::min(product.factor, least);
  return product;
}

bool LeastProduct::holds(const llvm::StringMap<int64_t> &sizes) const {
  int64_t product = factor;
  for (const std::string &dim : dims) {
    auto found = sizes.find(dim);
    bool isKnown = found != sizes.end();
    if (!isKnown && dim == dims.front())
      return false;
    // What reaches it stays there, unless another size is 0.
    int64_t size = isKnown ? std::min(found->second, least) : least;
    product = std::min(product * size, least);
  }
  return product >= least;
}

bool QueryCount::matters(const llvm::StringMap<int64_t> &sizes) const {
  auto getSize = [&](const Dim &dim) {
    return dim.name.empty() ? dim.size : sizes.lookup(dim.name);
  };
  return hasChoice(std::max(getSize(keyChannels), getSize(valueChannels)));
}

bool QueryCount::isLarge(const llvm::StringMap<int64_t> &sizes) const {
  return matters(sizes) &&
         llvm::all_of(conditions, [&](const LeastProduct &each) {
           return each.holds(sizes);
         });
}
