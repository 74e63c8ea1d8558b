//===- PairCount.cpp - Number of visible pairs ----------------------------===//

#include "PairCount.h"
#include "RowSums.h"
#include "nsacc/Tuning/CallRows.h"
#include "nsacc/Tuning/KeyBounds.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::tuning;

/// Most batch rows and heads that are examined if masks tell them apart. With a
/// small budget there are fewer, since each costs more than its pairs.
static int64_t getMostRows(int64_t budget) {
  return std::clamp<int64_t>(budget / 256, 16, 256);
}

namespace {

/// Sum over rows.
class Total {
public:
  /// `most` is the exact upper bound of a row.
  void add(const RowSum &sum, const Quantity &most, const Quantity &count) {
    if (sum.isExact) {
      whole += Quantity::ofWhole(sum.whole) * count;
      return;
    }
    isExact = false;
    drawn += sum.about * count;
    pairSquares += sum.pairSquares * count * count;
    querySquares += sum.querySquares * count * count;
    mostDrawn += most * count;
  }
  Quantity get() const {
    if (isExact)
      return whole;
    return isGuess() ? whole + mostDrawn : Quantity::ofReal(whole + drawn);
  }
  /// Whether too few pairs were found for an estimate: fewer than 64 with equal
  /// weights, or pairs of fewer than 8 queries.
  bool isGuess() const {
    double square = drawn * drawn;
    return !isExact && (square == 0 || square < 64 * pairSquares ||
                        square < 8 * querySquares);
  }
  bool isExact = true;

private:
  Quantity whole, mostDrawn;
  double drawn = 0, pairSquares = 0, querySquares = 0;
};

/// Counts the pairs of an op.
class PairCounter {
public:
  PairCounter(ScoringOpInterface op, const CallSizes &sizes, int64_t budget);
  PairCount count();

private:
  void addGroup(KeyBounds &bounds, interpreter::MaskRunner *runner,
                const BatchRows &row, const HeadGroup &group);
  /// Keys that some of a group's heads see, and keys that are surely seen.
  struct Found {
    SeenKeys seen, surelySeen;
    bool seesAll = false;
  };
  void addHead(KeyBounds &bounds, interpreter::MaskRunner *runner,
               const BatchRows &row, int64_t head, const Quantity &count,
               Found &found);

  ScoringOpInterface op;
  const CallSizes &sizes;
  MaskInfo mask;
  CallRows rows;
  Counted counted;
  Total pairs;
  Quantity least;
  bool isAtMost;
  /// Number of lists of the query heads of a key head.
  double listsOfQuery = 1;
  double keys = 0, seenKeys = 0, leastSeen = 0;
};

} // namespace

/// Selection of an attention; null if there is none. An importance's pairs
/// count without its selection.
static SelectionType getSelection(ScoringOpInterface op) {
  return op.getValue() && op.getSelection()
             ? cast<SelectionType>(op.getSelection().getType())
             : SelectionType();
}

/// Most keys that a selection has for a query; none if there is no selection.
static std::optional<int64_t> getMostSelected(ScoringOpInterface op) {
  SelectionType type = getSelection(op);
  if (!type)
    return std::nullopt;
  return type.getTop() * type.getBlock();
}

PairCounter::PairCounter(ScoringOpInterface op, const CallSizes &sizes,
                         int64_t budget)
    : op(op), sizes(sizes), mask(analyzeMask(op)),
      rows(op, sizes, getMostRows(budget)) {
  counted.most = getMostSelected(op);
  if (SelectionType selection = getSelection(op)) {
    QueryShape shape = getQueryShape(sizes.getKernel(), op);
    if (isPerQueryHead(selection, shape.dims, shape.group))
      listsOfQuery = static_cast<double>(shape.group);
  }
  counted.budget = std::max<int64_t>(budget / rows.countLooks(), 64);
  isAtMost = counted.most.has_value();
}

/// Number of all pairs of a query and a key.
static Quantity countAll(const KeyBounds &bounds, const Counted &counted) {
  auto of = [](int64_t number) {
    return Quantity::ofWhole(std::max<int64_t>(number, 0));
  };
  int64_t keys = bounds.countKeys();
  return of(bounds.countQueries()) *
         of(std::min(keys, counted.most.value_or(keys)));
}

void PairCounter::addHead(KeyBounds &bounds, interpreter::MaskRunner *runner,
                          const BatchRows &row, int64_t head,
                          const Quantity &count, Found &found) {
  bounds.choose(row.number, head);
  SeenKeys seen;
  RowSum between = sumBounds(bounds, mask, counted, &seen);
  if (mask.isExact()) {
    pairs.add(between, countAll(bounds, counted), count);
    if (between.isExact) {
      least += Quantity::ofWhole(between.whole) * count;
      found.surelySeen.add(seen);
    }
  } else {
    SeenKeys asked;
    std::optional<RowSum> sum;
    if (runner)
      sum = sumMask(bounds, *runner, row.number, head, counted, &asked);
    isAtMost |= !sum;
    pairs.add(sum ? *sum : between,
              between.isExact ? Quantity::ofWhole(between.whole)
                              : countAll(bounds, counted),
              count);
    if (sum && sum->isExact) {
      least += Quantity::ofWhole(sum->whole) * count;
      found.seen.add(asked);
      found.surelySeen.add(asked);
      return;
    }
    Counted surely = counted;
    surely.onlyExact = true;
    SeenKeys surelySeen;
    RowSum certain = sumBounds(bounds, mask, surely, &surelySeen);
    if (certain.isExact)
      least += Quantity::ofWhole(certain.whole) * count;
    found.surelySeen.add(surelySeen);
  }
  // A sample has seen only some of the keys.
  found.seesAll |= !between.isExact;
  found.seen.add(seen);
}

void PairCounter::addGroup(KeyBounds &bounds, interpreter::MaskRunner *runner,
                           const BatchRows &row, const HeadGroup &group) {
  auto of = [](int64_t count) { return Quantity::ofWhole(count); };
  Quantity count = of(row.count) * of(group.count);
  Found found;
  for (const Sample &head : group.heads)
    addHead(bounds, runner, row, head.number, count * of(head.count), found);
  auto all = static_cast<double>(bounds.countKeys()), most = all;
  if (!found.seesAll && rows.haveAllHeads)
    most = std::min(most, found.seen.countMost());
  if (counted.most)
    most =
        std::min(most, static_cast<double>(bounds.countQueries()) *
                           listsOfQuery * static_cast<double>(*counted.most));
  keys += all * count;
  seenKeys += most * count;
  leastSeen += found.surelySeen.countLeast() * count;
}

PairCount PairCounter::count() {
  for (const BatchRows &row : rows.rows) {
    CallSizes own(sizes.getKernel(), row.sizes);
    KeyBounds bounds(op, mask, own);
    std::optional<interpreter::MaskRunner> runner;
    if (!mask.isExact())
      runner = interpreter::MaskRunner::create(op.getMask(), row.sizes);
    for (const HeadGroup &group : rows.groups)
      addGroup(bounds, runner ? &*runner : nullptr, row, group);
  }
  PairCount found;
  found.pairs = pairs.get();
  found.certainty = isAtMost || pairs.isGuess()    ? Certainty::AtMost
                    : rows.areAll && pairs.isExact ? Certainty::Exact
                                                   : Certainty::About;
  // A selection's size bounds the keys whatever a run decides.
  if (keys > 0 && (!isAtMost || counted.most))
    found.seenKeys = seenKeys / keys;
  // A selection may be empty, and rows that are left out may see nothing.
  if (counted.most || !rows.areAll)
    return found;
  found.least = least;
  if (keys > 0)
    found.leastSeenKeys = leastSeen / keys;
  return found;
}

PairCount tuning::countPairs(ScoringOpInterface op, const CallSizes &sizes,
                             int64_t budget) {
  return PairCounter(op, sizes, budget).count();
}
