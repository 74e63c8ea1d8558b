//===- ShortRows.cpp - Tiles for many short batch rows --------------------===//

#include "KernelFacts.h"
#include "nsacc/Schedule/QueryCount.h"
#include <limits>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

std::string nsacc::describeQueries(Queries queries) {
  const QueriesInfo &info = getInfo(queries);
  if (queries == Queries::Any)
    return "";
  if (info.rows == 0)
    return info.name.str() + " queries";
  return "short rows, in tiles of " + std::to_string(info.rows) + " by " +
         std::to_string(info.keys);
}

void QueryCount::setShort(KernelOp kernel) {
  SmallVector<ScoringOpInterface> ops;
  kernel.walk([&](ScoringOpInterface op) { ops.push_back(op); });
  if (ops.size() != 1)
    return;
  ScoringOpInterface attend = ops.front();
  if (!attend.getValue() || attend.getSelection())
    return;
  auto getType = [](Value tensor) {
    return cast<NamedTensorType>(tensor.getType());
  };
  auto query = getType(attend.getQuery()), key = getType(attend.getKey()),
       value = getType(attend.getValue());
  // [batch, tokens, heads, channels], or [tokens, heads, channels]
  Attribute tokens = query.getDims().take_back(3).front(),
            keys = key.getDims().take_back(3).front();
  auto isKnown = [&](Attribute dim) {
    auto named = dyn_cast<NamedDimAttr>(dim);
    return isa<IntegerAttr>(dim) ||
           (named && hasInput(kernel, named.getName()));
  };
  if (!schedule::hasHalves(attend) || !isKnown(tokens) || !isKnown(keys))
    return;
  shortRows = {getDim(tokens),
               getDim(keys),
               getDim(query.getDims().take_back(2).front()),
               getDim(key.getDims().take_back(2).front()),
               query.isRagged() ? getDim(tokens).name : "",
               key.isRagged() ? getDim(keys).name : ""};
  keyChannels = getDim(key.getDims().back());
  valueChannels = getDim(value.getDims().back());
}

namespace {

constexpr int64_t kAnyNumber = std::numeric_limits<int64_t>::max();

/// Bounds of a batch row's rows (tokens times query heads per key head) and
/// keys. For ragged rows they are averages.
struct ShortRule {
  Queries queries;
  int64_t mostRows = kAnyNumber, mostKeys = kAnyNumber;
  int64_t leastRows = 0, leastKeys = 0;
};

} // namespace

/// Rules measured on an H200, bf16, batch rows of 1 to 512 tokens over 1 to
/// 4096 keys (benchmarks/Measurements.md, "Short rows"). Rows of a tile
/// beyond a batch row's cost products for nothing. Keys beyond cost loads of
/// zeros. Blocks that share a multiprocessor hide each other's short loops.
static SmallVector<ShortRule> getRules(int64_t channels, int64_t group) {
  const bool isNarrow = channels <= 32, isWide = channels > 64;
  // Tiles of warpgroups have all heads of a token.
  const bool fillsGroups = 64 % group == 0;
  // With up to so many rows and keys, a tile of one warp takes no longer than
  // memory.
  const int64_t mostRows = isNarrow ? 32 : 16, mostKeys = 256;
  // Limits of the longer rows that were measured.
  const int64_t shortRows = 1024, fewKeys = 512;
  SmallVector<ShortRule> rules;
  rules.push_back(
      {Queries::Short16x16, fillsGroups ? mostRows : kAnyNumber, 16});
  if (isNarrow) {
    rules.push_back({Queries::Short16x32, mostRows, 32});
    rules.push_back({Queries::Short16x64, mostRows, mostKeys});
  } else {
    rules.push_back({Queries::Short16x64, mostRows, 64, 0, 33});
    rules.push_back({Queries::Short16x32, mostRows, mostKeys});
  }
  rules.push_back({Queries::Short64x32, 64});
  if (!fillsGroups && isWide)
    rules.push_back({Queries::Short64x32, 512, fewKeys});
  if (!fillsGroups)
    return rules;
  // The second tile of 128 rows would be half empty.
  if (isNarrow || isWide)
    rules.push_back({Queries::Short64x64, 192, fewKeys, 129});
  if (!isWide)
    rules.push_back({Queries::Short128x32, shortRows, 64});
  if (isWide)
    rules.push_back({Queries::Short128x64, shortRows, 128});
  // With more channels, tiles for any number of queries are the same.
  if (channels <= 96)
    rules.push_back({isNarrow ? Queries::Short128x64
                     : isWide ? Queries::Short128x128
                              : Queries::Short64x64,
                     shortRows, fewKeys});
  return rules;
}

/// Rules for ragged rows. Some are longer than the average, so tiles are
/// larger.
static SmallVector<ShortRule> getRaggedRules() {
  return {{Queries::Short16x16, 8, 16},
          {Queries::Short16x32, 32, 64},
          {Queries::Short64x64, 256, 512}};
}

void QueryCount::addShort(std::vector<Case> &cases,
                          const llvm::StringMap<int64_t> &sizes) const {
  constexpr int64_t mostChannels = 128, mostGroup = 64;
  if (!shortRows)
    return;
  int64_t channels = getChannels(sizes),
          queryHeads = getSize(shortRows->queryHeads, sizes),
          keyHeads = getSize(shortRows->keyHeads, sizes);
  if (channels == 0 || channels > mostChannels || keyHeads == 0 ||
      queryHeads < keyHeads || queryHeads / keyHeads > mostGroup)
    return;
  int64_t group = queryHeads / keyHeads;
  bool isRagged = !shortRows->raggedTokens.empty();
  for (const ShortRule &rule :
       isRagged ? getRaggedRules() : getRules(channels, group)) {
    Case made = {rule.queries, {}};
    // Adds a condition. Returns false where a constant size is beyond the
    // limit.
    auto limit = [&](const Dim &dim, int64_t factor, int64_t limit, bool isMost,
                     const std::string &rowsOf) {
      if (limit == (isMost ? kAnyNumber : 0))
        return true;
      limit = isMost ? limit / factor : llvm::divideCeil(limit, factor);
      SizeCondition condition = multiply({dim}, limit, isMost);
      condition.rowsOf = rowsOf;
      if (condition.dims.empty())
        return condition.holds({});
      made.conditions.push_back(std::move(condition));
      return true;
    };
    const ShortRows &rows = *shortRows;
    if (limit(rows.tokens, group, rule.mostRows, true, rows.raggedTokens) &&
        limit(rows.tokens, group, rule.leastRows, false, rows.raggedTokens) &&
        limit(rows.keys, 1, rule.mostKeys, true, rows.raggedKeys) &&
        limit(rows.keys, 1, rule.leastKeys, false, rows.raggedKeys))
      cases.push_back(std::move(made));
    if (!cases.empty() && cases.back().conditions.empty())
      return;
  }
}
