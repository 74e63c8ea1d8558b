//===- PairCount.cpp - How many pairs are visible -------------------------===//

#include "PairCount.h"
#include "RowSums.h"
#include "nsacc/Tuning/KeyBounds.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::tuning;

/// Batch rows and heads that masks tell apart and that are looked at, at most:
/// with a small budget fewer, since each costs more than its looks.
static int64_t getMostRows(int64_t budget) {
  return std::clamp<int64_t>(budget / 256, 16, 256);
}

namespace {

/// Batch rows of one size and heads for which a mask says the same.
struct RowGroup {
  DimSizes sizes;
  int64_t batchRow = 0, head = 0;
  /// How many there are of them.
  Quantity count;
};

/// Lists groups, or some that are spread over all of them.
class RowGroups {
public:
  RowGroups(ScoringOpInterface op, const CallSizes &sizes, int64_t most);

  std::vector<RowGroup> groups;
  /// Whether all batch rows and heads are there as they are.
  bool areAll = true;

private:
  void addRagged(ScoringOpInterface op, const CallSizes &sizes);
  /// Numbers below `all`, each of which stands for as many as the others.
  std::vector<int64_t> spread(int64_t all);

  int64_t most;
};

/// Adds up what rows have.
class Total {
public:
  void add(const RowSum &sum, const Quantity &count) {
    if (sum.isExact)
      whole += Quantity::ofWhole(sum.whole) * count;
    else
      drawn += sum.about * count;
    least += std::max(sum.about - sum.error, 0.0) * count;
    isExact &= sum.isExact;
  }
  Quantity get() const {
    return isExact ? whole : Quantity::ofReal(whole + drawn);
  }
  double getLeast() const { return least; }
  bool isExact = true;

private:
  Quantity whole;
  double drawn = 0, least = 0;
};

} // namespace

std::vector<int64_t> RowGroups::spread(int64_t all) {
  int64_t count = std::min(all, most);
  areAll &= count == all;
  std::vector<int64_t> found;
  for (int64_t each = 0; each < count; ++each)
    found.push_back(static_cast<int64_t>(Quantity::Wide(2 * each + 1) *
                                         static_cast<uint64_t>(all) /
                                         static_cast<uint64_t>(2 * count)));
  return found;
}

/// Rows with their own lengths where these are known, else an average one.
void RowGroups::addRagged(ScoringOpInterface op, const CallSizes &sizes) {
  const DimSizes &all = sizes.getSizes();
  int64_t rows = *all.batchRows;
  bool hasOffsets = !all.offsets.empty();
  DimSizes average = all;
  average.batchRows = 1;
  average.offsets.clear();
  for (Value tensor : {op.getQuery(), op.getKey()}) {
    auto type = cast<NamedTensorType>(tensor.getType());
    if (!type.isRagged())
      continue;
    StringRef name = getTokenDim(type.getDims().front());
    hasOffsets &= all.offsets.contains(name);
    average.sizes[name] = all.sizes.lookup(name) / std::max<int64_t>(rows, 1);
    if (auto pooled = dyn_cast<PooledDimAttr>(type.getDims().front());
        pooled && pooled.isDeclared()) {
      StringRef entries = pooled.getCount().getValue();
      hasOffsets &= all.offsets.contains(entries);
      average.sizes[entries] =
          all.sizes.lookup(entries) / std::max<int64_t>(rows, 1);
    }
  }
  if (!hasOffsets) {
    areAll &= rows == 1;
    groups.push_back(
        {average, 0, 0, Quantity::ofWhole(std::max<int64_t>(rows, 0))});
    return;
  }
  std::vector<int64_t> listed = spread(rows);
  for (int64_t row : listed) {
    DimSizes own = average;
    for (const auto &offsets : all.offsets)
      if (static_cast<size_t>(row) + 1 < offsets.second.size())
        own.sizes[offsets.first()] =
            offsets.second[row + 1] - offsets.second[row];
    groups.push_back({std::move(own), row, 0,
                      Quantity::ofReal(static_cast<double>(rows) /
                                       static_cast<double>(listed.size()))});
  }
}

RowGroups::RowGroups(ScoringOpInterface op, const CallSizes &sizes,
                     int64_t most)
    : most(most) {
  QueryDims dims =
      QueryDims::get(cast<NamedTensorType>(op.getQuery().getType()));
  Region &mask = op.getMask();
  // Arguments are b, h, t, i, j.
  auto reads = [&](unsigned argument) {
    return !mask.empty() && !mask.getArgument(argument).use_empty();
  };
  auto heads = static_cast<int64_t>(sizes.get(dims.head));
  if (sizes.getSizes().batchRows) {
    addRagged(op, sizes);
  } else {
    auto batch = static_cast<int64_t>(sizes.getBatch(dims));
    std::vector<int64_t> rows = {0};
    if (reads(0))
      rows = spread(batch);
    for (int64_t row : rows)
      groups.push_back({sizes.getSizes(), row, 0,
                        Quantity::ofReal(static_cast<double>(batch) /
                                         static_cast<double>(rows.size()))});
  }
  if (!reads(1)) {
    for (RowGroup &group : groups)
      group.count = group.count * Quantity::ofWhole(heads);
    return;
  }
  std::vector<RowGroup> ofRows = std::move(groups);
  groups.clear();
  std::vector<int64_t> listed = spread(heads);
  for (const RowGroup &group : ofRows)
    for (int64_t head : listed) {
      RowGroup &own = groups.emplace_back(group);
      own.head = head;
      own.count =
          group.count * Quantity::ofReal(static_cast<double>(heads) /
                                         static_cast<double>(listed.size()));
    }
}

/// How many keys of a query a selection has at the most; none: there is no
/// selection.
static std::optional<int64_t> getMostSelected(ScoringOpInterface op) {
  auto attend = dyn_cast<AttendOp>(op.getOperation());
  if (!attend || !attend.getSelection())
    return std::nullopt;
  auto type = cast<SelectionType>(attend.getSelection().getType());
  return type.getTop() * type.getBlock();
}

PairCount tuning::countPairs(ScoringOpInterface op, const CallSizes &sizes,
                             int64_t budget) {
  MaskInfo mask = analyzeMask(op);
  RowGroups rows(op, sizes, getMostRows(budget));
  std::optional<int64_t> most = getMostSelected(op);
  PairCount found;
  Total pairs, certain;
  double keys = 0, seenKeys = 0, leastSeen = 0;
  bool isAtMost = most.has_value();
  for (const RowGroup &group : rows.groups) {
    CallSizes own(sizes.getKernel(), group.sizes);
    KeyBounds bounds(op, mask, own);
    bounds.choose(group.batchRow, group.head);
    Counted counted;
    counted.most = most;
    counted.budget = std::max<int64_t>(
        budget / static_cast<int64_t>(rows.groups.size()), 64);
    KeyRanges seen, surelySeen;
    RowSum between = sumBounds(bounds, mask, counted, &seen);
    std::optional<RowSum> asked;
    if (!mask.isExact()) {
      if (auto runner =
              interpreter::MaskRunner::create(op.getMask(), group.sizes))
        asked = sumMask(bounds, *runner, group.batchRow, group.head, counted);
      isAtMost |= !asked;
      counted.onlyExact = true;
      certain.add(sumBounds(bounds, mask, counted, &surelySeen), group.count);
    } else {
      surelySeen = seen;
      certain.add(between, group.count);
    }
    pairs.add(asked ? *asked : between, group.count);
    auto count = [](const KeyRanges &ranges) {
      double sum = 0;
      for (auto [low, high] : ranges)
        sum += static_cast<double>(high - low);
      return sum;
    };
    keys += static_cast<double>(bounds.countKeys()) * group.count;
    // A sum that was drawn has seen only some of the keys.
    seenKeys += (mask.isExact() && between.isExact
                     ? count(seen)
                     : static_cast<double>(bounds.countKeys())) *
                group.count;
    leastSeen += count(surelySeen) * group.count;
  }
  found.pairs = pairs.get();
  found.certainty = isAtMost                       ? Certainty::AtMost
                    : rows.areAll && pairs.isExact ? Certainty::Exact
                                                   : Certainty::About;
  if (keys > 0 && !isAtMost)
    found.seenKeys = seenKeys / keys;
  // A selection may be empty, and rows that are left out may see nothing.
  if (most || !rows.areAll)
    return found;
  found.least = isAtMost ? certain.getLeast()
                         : std::max(pairs.getLeast(), certain.getLeast());
  if (keys > 0)
    found.leastSeenKeys = leastSeen / keys;
  return found;
}
