//===- QueryCount.cpp - Kernels whose schedules depend on rows ------------===//

#include "nsacc/Schedule/QueryCount.h"
#include "KernelFacts.h"
#include "llvm/ADT/StringExtras.h"
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
  MaskInfo mask = analyzeMask(attend);
  if (isBand(mask))
    return std::nullopt;
  auto getDim = [&](Attribute dim) -> Dim {
    if (auto named = dyn_cast<NamedDimAttr>(dim))
      return {named.getName().str(), 0};
    auto size = dyn_cast<IntegerAttr>(dim);
    return {"", size ? size.getInt() : 0};
  };
  auto getDims = [&](Value tensor) {
    auto type = cast<NamedTensorType>(tensor.getType());
    SmallVector<Dim> dims;
    for (Attribute dim : type.getDims())
      dims.push_back(getDim(dim));
    if (type.isRagged()) // of all batch rows together
      dims.insert(dims.begin(), {"", 1});
    return dims;
  };
  SmallVector<Dim> query = getDims(attend.getQuery()),
                   key = getDims(attend.getKey());
  Dim batch = query[0], tokens = query[1], heads = query[2];
  QueryCount count;
  count.keyChannels = key.back();
  count.valueChannels = getDims(attend.getValue()).back();

  // Ranges that lie apart, as sinks and a window, have few keys and far
  // between.
  bool isApart = mask.intervals.size() > 1 &&
                 llvm::any_of(mask.intervals, [](const KeyInterval &each) {
                   return !each.lower.empty();
                 });
  // A query tile has 64 rows or more, and there is one for each batch row and
  // key head. Blocks of a GPU with 132 multiprocessors go over the parts of
  // more than 88 tiles in as many rounds as there are parts: 16 batch rows and
  // 8 key heads took 12 % longer in two. A split of few keys isn't worth a
  // second program.
  constexpr int64_t fewTiles = 88, leastRows = 64, manyKeys = 1 << 10;
  if (!isApart)
    count.few = {multiply({key[1]}, manyKeys, /*isMost=*/false),
                 multiply({tokens, batch, heads}, fewTiles * leastRows,
                          /*isMost=*/true),
                 multiply({query[0], key[2]}, fewTiles, /*isMost=*/true)};
  auto type = cast<NamedTensorType>(attend.getQuery().getType());
  if (!type.isRagged() && isPlain(attend, mask)) {
    // At 1024 tokens, the last tile of 192 rows has too many to spare; of fewer
    // rows than these, some multiprocessors would have a tile less than others.
    constexpr int64_t longRow = 1 << 14, manyRows = 1 << 18;
    count.many = {multiply({tokens}, longRow, /*isMost=*/false),
                  multiply({tokens, batch, heads}, manyRows, /*isMost=*/false)};
  }
  return count;
}

SizeCondition QueryCount::multiply(llvm::ArrayRef<Dim> dims, int64_t limit,
                                   bool isMost) {
  SizeCondition product;
  product.limit = limit;
  product.isMost = isMost;
  for (const Dim &dim : dims) {
    if (dim.name.empty())
      product.factor =
          llvm::SaturatingMultiply<uint64_t>(product.factor, dim.size);
    else
      product.dims.push_back(dim.name);
  }
  product.factor = std::min(product.factor, limit + 1);
  return product;
}

bool SizeCondition::holds(const llvm::StringMap<int64_t> &sizes) const {
  // What is beyond the limit stays there, unless another size is 0.
  int64_t beyond = limit + 1, product = factor;
  for (const std::string &dim : dims) {
    auto found = sizes.find(dim);
    bool isKnown = found != sizes.end();
    if (!isKnown && (isMost || dim == dims.front()))
      return false;
    int64_t size = isKnown ? std::min(found->second, beyond) : beyond;
    product = std::min(product * size, beyond);
  }
  return isMost ? product <= limit : product >= limit;
}

std::string SizeCondition::describe() const {
  std::string text = llvm::join(dims, " * ");
  if (dims.empty() || factor != 1)
    text += (dims.empty() ? "" : " * ") + std::to_string(factor);
  return text + (isMost ? " <= " : " >= ") + std::to_string(limit);
}

bool QueryCount::hasTilesForMany(const llvm::StringMap<int64_t> &sizes) const {
  auto getSize = [&](const Dim &dim) {
    return dim.name.empty() ? dim.size : sizes.lookup(dim.name);
  };
  return !many.empty() &&
         hasChoice(std::max(getSize(keyChannels), getSize(valueChannels)));
}

std::vector<QueryCount::Case>
QueryCount::getCases(const llvm::StringMap<int64_t> &sizes) const {
  std::vector<Case> cases;
  if (!few.empty())
    cases.push_back({Queries::Few, few});
  if (hasTilesForMany(sizes))
    cases.push_back({Queries::Many, many});
  cases.push_back({});
  return cases;
}

Queries QueryCount::find(const llvm::StringMap<int64_t> &sizes) const {
  auto holds = [&](const SizeCondition &each) { return each.holds(sizes); };
  for (const Case &each : getCases(sizes))
    if (llvm::all_of(each.conditions, holds))
      return each.queries;
  llvm_unreachable("the last case has no conditions");
}
