//===- QueryCount.cpp - Schedules that depend on query counts -------------===//

#include "nsacc/Schedule/QueryCount.h"
#include "KernelFacts.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::schedule;

static NamedTensorType getType(Value tensor) {
  return cast<NamedTensorType>(tensor.getType());
}

/// Whether an op's keys have parts that can be computed side by side, and many
/// keys have many parts. Parts are cut from the keys that it sees, or from
/// lists that are handed in.
static bool hasManyParts(ScoringOpInterface op) {
  if (Value selection = op.getSelection())
    return isHandedIn(selection);
  MaskInfo mask = analyzeMask(op);
  // Ranges that lie apart, such as sinks and a window, have few keys.
  bool isApart = mask.intervals.size() > 1 &&
                 llvm::any_of(mask.intervals, [](const KeyInterval &each) {
                   return !each.lower.empty();
                 });
  return !isBand(mask) && !isApart;
}

/// Ops over the same batch rows and tokens, with any heads. Empty if an op has
/// others.
static SmallVector<ScoringOpInterface> findOps(KernelOp kernel) {
  SmallVector<ScoringOpInterface> ops;
  kernel.walk([&](ScoringOpInterface op) { ops.push_back(op); });
  for (ScoringOpInterface op : ops) {
    NamedTensorType query = getType(op.getQuery()),
                    first = getType(ops.front().getQuery());
    // [batch, tokens, heads, channels], or [tokens, heads, channels]
    if (query.getDims().drop_back(2) != first.getDims().drop_back(2))
      return {};
  }
  return ops;
}

QueryCount::Dim QueryCount::getDim(Attribute dim) {
  if (auto named = dyn_cast<NamedDimAttr>(dim))
    return {named.getName().str(), 0};
  if (auto pooled = dyn_cast<PooledDimAttr>(dim))
    return {pooled.getBase().str(), 0};
  return {"", cast<IntegerAttr>(dim).getInt()};
}

std::optional<QueryCount> QueryCount::get(KernelOp kernel) {
  // Long blocks are taken one after the other, however many queries there are,
  // unless their lists are handed in.
  ScoringOpInterface inverted = findLongBlocks(kernel);
  if (inverted && !isHandedIn(inverted.getSelection()))
    return std::nullopt;
  QueryCount count;
  count.setShort(kernel);
  count.setFewAndMany(kernel);
  if (!count.shortRows && !count.few && !count.many)
    return std::nullopt;
  return count;
}

void QueryCount::setFewAndMany(KernelOp kernel) {
  SmallVector<ScoringOpInterface> ops = findOps(kernel);
  auto *longest = llvm::find_if(ops, hasManyParts);
  if (longest == ops.end())
    return;
  auto getDims = [](Value tensor) {
    return llvm::map_to_vector(getType(tensor).getDims(), getDim);
  };
  SmallVector<Dim> query = getDims(longest->getQuery()),
                   key = getDims(longest->getKey());
  auto keyType = cast<NamedTensorType>(longest->getKey().getType());
  // Ragged rows stand behind each other in one tensor of all tokens or keys.
  // The length of each row isn't known before a call's offsets are read.
  bool isRagged = keyType.isRagged();
  if (cast<NamedTensorType>(longest->getQuery().getType()).isRagged())
    query.insert(query.begin(), Dim{"", 1});
  if (isRagged)
    key.insert(key.begin(), Dim{"", 1});
  Dim batch = query[0], tokens = query[1], heads = query[2];
  keyChannels = valueChannels = key.back();

  // A query tile has 64 rows or more, and each batch row and key head has at
  // least one. A GPU with 132 multiprocessors goes over the parts of more than
  // 88 tiles in as many rounds as there are parts: 16 batch rows and 8 key
  // heads took 12 % longer in two parts. A split of few keys isn't worth a
  // second program.
  constexpr int64_t fewTiles = 88, leastRows = 64, manyKeys = 1 << 10;
  auto pooled = dyn_cast<PooledDimAttr>(keyType.getDims()[isRagged ? 0 : 1]);
  SmallVector<SizeCondition> fewConditions = {
      multiply({key[1]}, manyKeys * (pooled ? pooled.getStride() : 1),
               /*isMost=*/false),
      multiply({tokens, batch, heads}, fewTiles * leastRows, /*isMost=*/true),
      multiply({batch, key[2]}, fewTiles, /*isMost=*/true)};
  if (Value selection = longest->getSelection()) {
    auto type = cast<SelectionType>(selection.getType());
    Dim listed = {"", static_cast<int64_t>(type.getTop()) *
                          static_cast<int64_t>(type.getBlock())};
    fewConditions.push_back(multiply({listed}, manyKeys, /*isMost=*/false));
    // A tile of so few tokens waits for the memory that its lists name, however
    // many batch rows there are.
    constexpr int64_t fewTokens = 4;
    decode = makeCase(kernel, Queries::Few,
                      {fewConditions.front(), fewConditions.back(),
                       multiply({tokens}, fewTokens, /*isMost=*/true)});
  }
  few = makeCase(kernel, Queries::Few, fewConditions);

  ScoringOpInterface attend = *longest;
  if (ScoringOpInterface ranking = findRanking(kernel); ranking && !isRagged) {
    // With its own program, the attention to pooled keys has large tiles, and a
    // selection needn't recompute its log-sum-exps. From 1024 pooled keys on,
    // that is worth a result in memory. Where the call can't be cut, the result
    // has at most 2 GiB in f32, 1 GiB as halves (NSA/Analysis/Rounding.h).
    constexpr int64_t manyPooled = 1 << 10, mostElements = int64_t{1} << 29;
    auto type = cast<NamedTensorType>(ranking.getOutput().getType());
    PooledDimAttr keys = getPooledKeys(ranking);
    SmallVector<SizeCondition> conditions = {
        multiply({getDim(keys)}, manyPooled * keys.getStride(),
                 /*isMost=*/false),
        multiply({tokens}, manyPooled, /*isMost=*/false)};
    if (!canCutRanking(kernel, ranking))
      conditions.push_back(multiply(llvm::map_to_vector(type.getDims(), getDim),
                                    mostElements,
                                    /*isMost=*/true));
    many = makeCase(kernel, Queries::Many, conditions);
    hasOwnTiles = true;
    return;
  }
  if (ops.size() > 1 || !attend.getValue() || attend.getSelection() || isRagged)
    return;
  valueChannels = getDims(attend.getValue()).back();
  if (isPlain(attend, analyzeMask(attend))) {
    // At 1024 tokens, too many rows of the last tile of 192 are unused. With
    // fewer rows than `manyRows`, some multiprocessors would have a tile less
    // than others.
    constexpr int64_t longRow = 1 << 14, manyRows = 1 << 18;
    many = makeCase(
        kernel, Queries::Many,
        {multiply({tokens}, longRow, /*isMost=*/false),
         multiply({tokens, batch, heads}, manyRows, /*isMost=*/false)});
  }
}

bool QueryCount::hasInput(KernelOp kernel, StringRef name) {
  return llvm::any_of(kernel.getArgumentTypes(), [&](Type type) {
    return llvm::any_of(cast<NamedTensorType>(type).getDims(),
                        [&](Attribute dim) {
                          auto named = dyn_cast<NamedDimAttr>(dim);
                          return named && named.getName() == name;
                        });
  });
}

std::optional<QueryCount::Case>
QueryCount::makeCase(KernelOp kernel, Queries queries,
                     ArrayRef<SizeCondition> conditions) {
  auto isKnown = [&](StringRef name) { return hasInput(kernel, name); };
  Case made = {queries, {}};
  for (const SizeCondition &each : conditions) {
    if (!llvm::all_of(each.dims, isKnown) ||
        (each.dims.empty() && !each.holds({})))
      return std::nullopt;
    if (!each.dims.empty())
      made.conditions.push_back(each);
  }
  return made;
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

bool SizeCondition::holds(const llvm::StringMap<int64_t> &sizes,
                          std::optional<int64_t> batchRows) const {
  if (!rowsOf.empty()) {
    SizeCondition all = *this;
    all.rowsOf.clear();
    all.limit = llvm::SaturatingMultiply<uint64_t>(
        limit, std::max<int64_t>(batchRows.value_or(0), 0));
    return batchRows && all.holds(sizes);
  }
  // A product beyond the limit stays there, unless another size is 0.
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
  text += (isMost ? " <= " : " >= ") + std::to_string(limit);
  return text + (rowsOf.empty() ? "" : " * rows of " + rowsOf);
}

bool QueryCount::hasTilesForMany(const llvm::StringMap<int64_t> &sizes) const {
  if (hasOwnTiles)
    return true;
  return hasChoice(getChannels(sizes));
}

int64_t QueryCount::getChannels(const llvm::StringMap<int64_t> &sizes) const {
  return std::max(getSize(keyChannels, sizes), getSize(valueChannels, sizes));
}

std::vector<QueryCount::Case>
QueryCount::getCases(const llvm::StringMap<int64_t> &sizes) const {
  std::vector<Case> cases;
  auto isLast = [&] {
    return !cases.empty() && cases.back().conditions.empty();
  };
  auto add = [&](const std::optional<Case> &each) {
    if (each && !isLast())
      cases.push_back(*each);
  };
  add(few);
  add(decode);
  if (!isLast())
    addShort(cases, sizes);
  if (hasTilesForMany(sizes))
    add(many);
  add(Case());
  return cases;
}

Queries QueryCount::find(const llvm::StringMap<int64_t> &sizes,
                         std::optional<int64_t> batchRows) const {
  auto holds = [&](const SizeCondition &each) {
    return each.holds(sizes, batchRows);
  };
  for (const Case &each : getCases(sizes))
    if (llvm::all_of(each.conditions, holds))
      return each.queries;
  llvm_unreachable("the last case has no conditions");
}
