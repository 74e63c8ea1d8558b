//===- RowSums.cpp - Sums over the queries of one batch row ---------------===//

#include "RowSums.h"
#include "nsacc/Tuning/CallRows.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::tuning;
using Wide = Quantity::Wide;

namespace {

/// Sums the keys of drawn queries; one query is drawn from each of about equal
/// parts.
class Drawn {
public:
  explicit Drawn(int64_t queries) : queries(queries) {}

  /// Adds a query that stands for `count` queries. It sees `pairs` pairs, as
  /// estimated from found pairs; `squares` is the sum of their squared weights.
  void add(double pairs, double squares, int64_t count) {
    auto times = static_cast<double>(count);
    found.about += pairs * times;
    found.pairSquares += squares * times * times;
    found.querySquares += pairs * times * pairs * times;
    ++looks;
  }
  RowSum get() const {
    RowSum sum = found;
    sum.isExact = false;
    // If all queries are examined, nothing depends on the draw.
    if (looks == queries)
      sum.querySquares = 0;
    return sum;
  }

private:
  int64_t queries, looks = 0;
  RowSum found;
};

int64_t countOf(const KeyRanges &ranges) {
  int64_t keys = 0;
  for (auto [low, high] : ranges)
    keys += high - low;
  return keys;
}

} // namespace

void SeenKeys::add(int64_t first, int64_t end) {
  if (first >= end)
    return;
  ranges.push_back({first, end});
  if (ranges.size() <= longest)
    return;
  normalize(ranges);
  longest = std::max(longest, 2 * ranges.size());
}

void SeenKeys::add(const SeenKeys &other) {
  for (auto [first, end] : other.ranges)
    add(first, end);
  more += other.more;
}

double SeenKeys::countListed() const {
  normalize(ranges);
  return static_cast<double>(countOf(ranges));
}

namespace {

/// first + (first + step) + …; no term is negative.
Wide sumProgression(Wide first, int64_t step, Wide terms) {
  if (terms == 0)
    return 0;
  Wide rise = terms * (terms - 1) / 2;
  return step >= 0 ? first * terms + rise * static_cast<Wide>(step)
                   : first * terms - rise * static_cast<Wide>(-step);
}

/// Sum of the terms of a progression from `first` to `last`, each cut at
/// `most`.
Wide sumCut(int64_t first, int64_t last, int64_t terms,
            std::optional<int64_t> most) {
  if (first > last)
    std::swap(first, last);
  int64_t step = terms > 1 ? (last - first) / (terms - 1) : 0;
  if (!most || last <= *most)
    return sumProgression(first, step, terms);
  if (first >= *most)
    return Wide(terms) * *most;
  int64_t below = (*most - first) / step + 1;
  return sumProgression(first, step, below) + Wide(terms - below) * *most;
}

/// Sums bounds that move on evenly by periods. Positions that are a whole
/// number of periods apart are taken together: each bound is a line over them,
/// so that the number of keys between bounds is linear between the crossings of
/// two lines.
class LineSum {
public:
  LineSum(const KeyBounds &bounds, const MaskInfo &mask, const Counted &counted,
          SeenKeys *seen)
      : bounds(bounds), mask(mask), counted(counted), seen(seen) {}

  /// None if bounds don't move on evenly, or have too long periods.
  std::optional<Wide> compute();

private:
  struct Line {
    int64_t first, step;
  };

  bool findPeriods();
  std::vector<int64_t> listPieces(int64_t residue, int64_t terms) const;
  Wide sumPiece(int64_t first, int64_t last, int64_t terms);
  void addSeen(int64_t first, int64_t last, int64_t terms);
  int64_t count(int64_t position) const {
    return countOf(bounds.getAll(position, counted.onlyExact));
  }

  const KeyBounds &bounds;
  const MaskInfo &mask;
  const Counted &counted;
  SeenKeys *seen;
  int64_t length = 1;
  /// Number of keys that were listed query by query so far.
  int64_t listed = 0;
  SmallVector<std::pair<AffineExpr, Period>, 8> exprs;
};

} // namespace

bool LineSum::findPeriods() {
  for (const KeyInterval &interval : mask.intervals) {
    if (counted.onlyExact && !interval.exact)
      continue;
    for (const auto *list : {&interval.lower, &interval.upper})
      for (AffineExpr expr : *list) {
        auto period = bounds.findPeriod(expr, counted.budget);
        if (!period)
          return false;
        length = std::lcm(length, period->length);
        if (length > counted.budget)
          return false;
        exprs.push_back({expr, *period});
      }
  }
  return true;
}

/// Terms at which another linear piece begins, and the end.
std::vector<int64_t> LineSum::listPieces(int64_t residue, int64_t terms) const {
  SmallVector<Line, 8> lines = {{0, 0}, {bounds.countKeys(), 0}};
  for (const auto &[expr, period] : exprs)
    lines.push_back({bounds.evaluate(expr, residue),
                     period.step * (length / period.length)});
  std::vector<int64_t> begins = {0, terms};
  for (size_t left = 0; left < lines.size(); ++left)
    for (size_t right = 0; right < left; ++right) {
      int64_t rise = lines[right].step - lines[left].step;
      if (rise == 0)
        continue;
      // The last term before the crossing, or on it.
      int64_t term =
          llvm::divideFloorSigned(lines[left].first - lines[right].first, rise);
      for (int64_t begin : {term, term + 1})
        if (begin > 0 && begin < terms)
          begins.push_back(begin);
    }
  llvm::sort(begins);
  begins.erase(llvm::unique(begins), begins.end());
  return begins;
}

/// Adds the keys that an interval shows between its first and its last query.
/// If the keys of successive queries meet, these are all keys between its ends.
/// Otherwise keys are listed, as long as there aren't many.
void LineSum::addSeen(int64_t first, int64_t last, int64_t terms) {
  constexpr int64_t mostListed = 1 << 16;
  for (const KeyInterval &interval : mask.intervals) {
    if (counted.onlyExact && !interval.exact)
      continue;
    auto [low, high] = bounds.get(interval, first);
    auto [lastLow, lastHigh] = bounds.get(interval, last);
    if (low >= high || lastLow >= lastHigh)
      continue;
    int64_t step = terms > 1 ? std::abs(lastLow - low) / (terms - 1) : 0;
    if (std::min(high - low, lastHigh - lastLow) >= step) {
      seen->add(std::min(low, lastLow), std::max(high, lastHigh));
    } else if (terms > mostListed - listed) {
      seen->addMore(static_cast<double>(terms) / 2 *
                    static_cast<double>(high - low + lastHigh - lastLow));
    } else {
      listed += terms;
      for (int64_t term = 0; term < terms; ++term) {
        auto keys = bounds.get(interval, first + term * length);
        seen->add(keys.first, keys.second);
      }
    }
  }
}

Wide LineSum::sumPiece(int64_t first, int64_t last, int64_t terms) {
  if (seen)
    addSeen(first, last, terms);
  return sumCut(count(first), count(last), terms, counted.most);
}

std::optional<Wide> LineSum::compute() {
  if (!findPeriods())
    return std::nullopt;
  // Each pair of bounds crosses once, which adds up to two pieces.
  auto lines = static_cast<int64_t>(exprs.size()) + 2;
  if (length * lines * lines > counted.budget)
    return std::nullopt;
  Wide sum = 0;
  int64_t queries = bounds.countQueries();
  for (int64_t residue = 0; residue < std::min(length, queries); ++residue) {
    int64_t first = bounds.getShift() + residue;
    int64_t terms = (queries - residue - 1) / length + 1;
    std::vector<int64_t> pieces = listPieces(first, terms);
    for (size_t piece = 0; piece + 1 < pieces.size(); ++piece) {
      int64_t begin = pieces[piece], end = pieces[piece + 1];
      sum += sumPiece(first + begin * length, first + (end - 1) * length,
                      end - begin);
    }
  }
  return sum;
}

RowSum tuning::sumBounds(const KeyBounds &bounds, const MaskInfo &mask,
                         const Counted &counted, SeenKeys *seen) {
  int64_t queries = bounds.countQueries(), shift = bounds.getShift();
  if (queries <= 0 || bounds.countKeys() <= 0)
    return RowSum::of(0);
  if (auto sum = LineSum(bounds, mask, counted, seen).compute())
    return RowSum::of(*sum);
  auto look = [&](int64_t query) {
    KeyRanges keys = bounds.getAll(query + shift, counted.onlyExact);
    for (auto [low, high] : keys)
      seen->add(low, high);
    return std::min(counted.most.value_or(INT64_MAX), countOf(keys));
  };
  if (queries <= counted.budget) {
    Wide sum = 0;
    for (int64_t query = 0; query < queries; ++query)
      sum += static_cast<Wide>(look(query));
    return RowSum::of(sum);
  }
  Drawn drawn(queries);
  for (auto [query, count] : spread(queries, counted.budget)) {
    auto keys = static_cast<double>(look(query));
    drawn.add(keys, keys, count);
  }
  return drawn.get();
}

//===----------------------------------------------------------------------===//
// Evaluated masks
//===----------------------------------------------------------------------===//

namespace {

/// Evaluates a mask for the keys of one query after the other.
class Asked {
public:
  Asked(const KeyBounds &bounds, interpreter::MaskRunner &mask)
      : bounds(bounds), mask(mask) {}

  void setQuery(int64_t batchRow, int64_t head, int64_t query) {
    position = query + bounds.getShift();
    mask.setQuery(batchRow, head, query, position);
    ranges = bounds.getAll(position, /*onlyExact=*/false);
  }
  /// Counts all keys that the query sees; marks the keys.
  std::optional<int64_t> count(std::vector<bool> &marks);
  /// Estimates the number of keys that the query sees from `looks` keys of each
  /// part of a range, and the sum of the squared weights of the found keys.
  /// Parts near a range's ends and near the query are shorter: masks tend to
  /// show keys there.
  struct Estimate {
    double pairs = 0, squares = 0;
  };
  std::optional<Estimate> estimate(int64_t looks);

private:
  bool addPart(int64_t begin, int64_t size, int64_t looks, Estimate &found);
  SmallVector<int64_t> listParts(int64_t low, int64_t high) const;

  const KeyBounds &bounds;
  interpreter::MaskRunner &mask;
  int64_t position = 0;
  KeyRanges ranges;
  std::vector<int64_t> keys;
  Draws draws;
};

} // namespace

std::optional<int64_t> Asked::count(std::vector<bool> &marks) {
  constexpr int64_t atATime = 1 << 14;
  int64_t found = 0;
  for (auto [low, high] : ranges)
    for (; low < high; low += atATime) {
      keys.resize(std::min(high - low, atATime));
      std::iota(keys.begin(), keys.end(), low);
      auto seen = mask.look(keys);
      if (!seen)
        return std::nullopt;
      for (auto [key, isSeen] : llvm::zip(keys, *seen)) {
        found += isSeen != 0;
        if (isSeen != 0)
          marks[key] = true;
      }
    }
  return found;
}

SmallVector<int64_t> Asked::listParts(int64_t low, int64_t high) const {
  SmallVector<int64_t> parts = {low, high};
  auto add = [&](int64_t key) {
    if (key > low && key < high)
      parts.push_back(key);
  };
  for (int64_t distance = 1; distance < high - low; distance *= 4) {
    add(low + distance);
    add(high - distance);
    add(position + distance);
    add(position - distance);
  }
  llvm::sort(parts);
  parts.erase(llvm::unique(parts), parts.end());
  return parts;
}

/// False if the mask has no value for a key.
bool Asked::addPart(int64_t begin, int64_t size, int64_t looks,
                    Estimate &found) {
  keys.clear();
  SmallVector<int64_t> counts;
  int64_t parts = std::min(size, looks);
  for (int64_t part = 0; part < parts; ++part) {
    Sample drawn = draws.nextOf(size, part, parts);
    keys.push_back(begin + drawn.number);
    counts.push_back(drawn.count);
  }
  auto seen = mask.look(keys);
  if (!seen)
    return false;
  for (auto [isSeen, count] : llvm::zip(*seen, counts)) {
    auto pairs = isSeen != 0 ? static_cast<double>(count) : 0;
    found.pairs += pairs;
    found.squares += pairs * pairs;
  }
  return true;
}

std::optional<Asked::Estimate> Asked::estimate(int64_t looks) {
  Estimate found;
  for (auto [low, high] : ranges) {
    SmallVector<int64_t> parts = listParts(low, high);
    for (size_t part = 0; part + 1 < parts.size(); ++part)
      if (!addPart(parts[part], parts[part + 1] - parts[part], looks, found))
        return std::nullopt;
  }
  return found;
}

/// Number of keys examined in each part of a query's range, if not all are.
static constexpr int64_t kLooks = 8;
/// Number of keys examined for a query: it has about 32 parts.
static constexpr int64_t kLooksOfQuery = 32 * kLooks;

/// Evaluates the mask for each pair.
static std::optional<RowSum> sumAllAsked(Asked &asked, int64_t queries,
                                         int64_t keys, int64_t batchRow,
                                         int64_t head, int64_t most,
                                         SeenKeys *seen) {
  Wide sum = 0;
  std::vector<bool> marks(keys);
  for (int64_t query = 0; query < queries; ++query) {
    asked.setQuery(batchRow, head, query);
    auto count = asked.count(marks);
    if (!count)
      return std::nullopt;
    sum += static_cast<Wide>(std::min(*count, most));
  }
  for (int64_t begin = 0, end; begin < keys; begin = end + 1) {
    for (end = begin; end < keys && marks[end];)
      ++end;
    seen->add(begin, end);
  }
  return RowSum::of(sum);
}

std::optional<RowSum> tuning::sumMask(const KeyBounds &bounds,
                                      interpreter::MaskRunner &mask,
                                      int64_t batchRow, int64_t head,
                                      const Counted &counted, SeenKeys *seen) {
  int64_t queries = bounds.countQueries(), keys = bounds.countKeys();
  if (queries <= 0 || keys <= 0)
    return RowSum::of(0);
  Asked asked(bounds, mask);
  int64_t most = counted.most.value_or(keys);
  if (Wide(queries) * static_cast<Wide>(keys) <=
      static_cast<Wide>(counted.budget))
    return sumAllAsked(asked, queries, keys, batchRow, head, most, seen);
  Drawn drawn(queries);
  int64_t looks = std::max<int64_t>(counted.budget / kLooksOfQuery, 16);
  for (auto [query, count] : spread(queries, looks)) {
    asked.setQuery(batchRow, head, query);
    auto found = asked.estimate(kLooks);
    if (!found)
      return std::nullopt;
    drawn.add(std::min(found->pairs, static_cast<double>(most)), found->squares,
              count);
  }
  return drawn.get();
}
