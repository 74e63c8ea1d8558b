//===- RowSums.cpp - Sums over the queries of one batch row ---------------===//

#include "RowSums.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::tuning;
using Wide = Quantity::Wide;

namespace {

/// The same numbers everywhere.
class Draws {
public:
  /// Below `end`.
  int64_t next(int64_t end) {
    state += 0x9e3779b97f4a7c15;
    uint64_t mixed = state;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    mixed ^= mixed >> 31;
    return static_cast<int64_t>((Wide(mixed) * static_cast<uint64_t>(end)) >>
                                64);
  }
  /// One of [0, all), within part `part` of `parts` equal ones.
  int64_t nextOf(int64_t all, int64_t part, int64_t parts) {
    auto cut = [&](int64_t number) {
      return static_cast<int64_t>(Wide(all) * number / parts);
    };
    int64_t begin = cut(part);
    return begin + next(std::max<int64_t>(cut(part + 1) - begin, 1));
  }

private:
  uint64_t state = 1;
};

/// Sums rows that are drawn, one of each of equal parts.
class Drawn {
public:
  void add(double value) {
    sum += value;
    squares += value * value;
    ++count;
  }
  RowSum scale(int64_t rows) const {
    double mean = sum / count, all = static_cast<double>(rows);
    double variance = std::max(squares / count - mean * mean, 0.0);
    return {0, false, mean * all, 4 * all * std::sqrt(variance / count)};
  }

private:
  double sum = 0, squares = 0, count = 0;
};

int64_t countOf(const KeyRanges &ranges) {
  int64_t keys = 0;
  for (auto [low, high] : ranges)
    keys += high - low;
  return keys;
}

/// first + (first + step) + …, none of them negative.
Wide sumProgression(Wide first, int64_t step, Wide terms) {
  if (terms == 0)
    return 0;
  Wide rise = terms * (terms - 1) / 2;
  return step >= 0 ? first * terms + rise * static_cast<Wide>(step)
                   : first * terms - rise * static_cast<Wide>(-step);
}

/// Terms of a progression from `first` to `last`, each cut at `most`.
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

/// Sums bounds that move on evenly by periods. Positions a whole number of
/// periods apart are taken together: for them each bound is a line, so that the
/// number of keys between bounds is linear between the places where two lines
/// cross.
class LineSum {
public:
  LineSum(const KeyBounds &bounds, const MaskInfo &mask, const Counted &counted,
          KeyRanges *seen)
      : bounds(bounds), mask(mask), counted(counted), seen(seen) {}

  /// None where bounds don't move on like that, or have too long periods.
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
  KeyRanges *seen;
  int64_t length = 1;
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

/// Terms at which another piece begins, and the end.
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
      // The last term in front of the crossing, or on it.
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

/// An interval whose next keys meet its last ones shows all between its first
/// and its last.
void LineSum::addSeen(int64_t first, int64_t last, int64_t terms) {
  for (const KeyInterval &interval : mask.intervals) {
    if (counted.onlyExact && !interval.exact)
      continue;
    auto [low, high] = bounds.get(interval, first);
    auto [lastLow, lastHigh] = bounds.get(interval, last);
    if (low >= high || lastLow >= lastHigh)
      continue;
    int64_t step = terms > 1 ? std::abs(lastLow - low) / (terms - 1) : 0;
    if (std::min(high - low, lastHigh - lastLow) >= step) {
      seen->push_back({std::min(low, lastLow), std::max(high, lastHigh)});
    } else {
      seen->push_back({low, high});
      seen->push_back({lastLow, lastHigh});
    }
  }
  if (seen->size() > 1024)
    normalize(*seen);
}

Wide LineSum::sumPiece(int64_t first, int64_t last, int64_t terms) {
  if (seen)
    addSeen(first, last, terms);
  return sumCut(count(first), count(last), terms, counted.most);
}

std::optional<Wide> LineSum::compute() {
  if (!findPeriods())
    return std::nullopt;
  // Each pair of bounds crosses once, which makes two more pieces.
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
                         const Counted &counted, KeyRanges *seen) {
  int64_t queries = bounds.countQueries(), shift = bounds.getShift();
  if (queries <= 0 || bounds.countKeys() <= 0)
    return RowSum::of(0);
  if (auto sum = LineSum(bounds, mask, counted, seen).compute()) {
    if (seen)
      normalize(*seen);
    return RowSum::of(*sum);
  }
  auto look = [&](int64_t query) {
    KeyRanges keys = bounds.getAll(query + shift, counted.onlyExact);
    if (seen)
      seen->append(keys.begin(), keys.end());
    return std::min(counted.most.value_or(INT64_MAX), countOf(keys));
  };
  if (seen)
    seen->clear();
  Wide sum = 0;
  Drawn drawn;
  Draws draws;
  bool isExact = queries <= counted.budget;
  int64_t looks = std::min(queries, counted.budget);
  for (int64_t part = 0; part < looks; ++part) {
    int64_t keys = look(isExact ? part : draws.nextOf(queries, part, looks));
    sum += static_cast<Wide>(keys);
    drawn.add(static_cast<double>(keys));
  }
  if (seen)
    normalize(*seen);
  return isExact ? RowSum::of(sum) : drawn.scale(queries);
}

//===----------------------------------------------------------------------===//
// Masks that are asked
//===----------------------------------------------------------------------===//

namespace {

/// Asks a mask about the keys of one query after the other.
class Asked {
public:
  Asked(const KeyBounds &bounds, interpreter::MaskRunner &mask)
      : bounds(bounds), mask(mask) {}

  void setQuery(int64_t batchRow, int64_t head, int64_t query) {
    position = query + bounds.getShift();
    mask.setQuery(batchRow, head, query, position);
    ranges = bounds.getAll(position, /*onlyExact=*/false);
  }
  /// All that the query sees.
  std::optional<int64_t> count();
  /// About as many as it sees, by the keys of `looks` for each part of a range.
  /// Parts near a range's ends and the query are the shorter ones: masks tend
  /// to show keys there.
  std::optional<double> estimate(int64_t looks);

private:
  std::optional<int64_t> countRange(int64_t low, int64_t high);
  SmallVector<int64_t> listParts(int64_t low, int64_t high) const;

  const KeyBounds &bounds;
  interpreter::MaskRunner &mask;
  int64_t position = 0;
  KeyRanges ranges;
  std::vector<int64_t> keys;
  Draws draws;
};

} // namespace

std::optional<int64_t> Asked::countRange(int64_t low, int64_t high) {
  constexpr int64_t atATime = 1 << 14;
  int64_t found = 0;
  for (; low < high; low += atATime) {
    keys.resize(std::min(high - low, atATime));
    std::iota(keys.begin(), keys.end(), low);
    auto seen = mask.count(keys);
    if (!seen)
      return std::nullopt;
    found += *seen;
  }
  return found;
}

std::optional<int64_t> Asked::count() {
  int64_t found = 0;
  for (auto [low, high] : ranges) {
    auto seen = countRange(low, high);
    if (!seen)
      return std::nullopt;
    found += *seen;
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

std::optional<double> Asked::estimate(int64_t looks) {
  double found = 0;
  for (auto [low, high] : ranges) {
    SmallVector<int64_t> parts = listParts(low, high);
    for (size_t part = 0; part + 1 < parts.size(); ++part) {
      int64_t begin = parts[part], size = parts[part + 1] - begin;
      std::optional<int64_t> seen;
      if (size <= looks) {
        seen = countRange(begin, begin + size);
      } else {
        keys.clear();
        for (int64_t look = 0; look < looks; ++look)
          keys.push_back(begin + draws.nextOf(size, look, looks));
        seen = mask.count(keys);
      }
      if (!seen)
        return std::nullopt;
      found += static_cast<double>(*seen) * static_cast<double>(size) /
               static_cast<double>(std::min(size, looks));
    }
  }
  return found;
}

/// Keys that are looked at in each part of a query's, where not all are.
static constexpr int64_t kLooks = 8;
/// Of about so many parts.
static constexpr int64_t kLooksOfQuery = 32 * kLooks;

std::optional<RowSum> tuning::sumMask(const KeyBounds &bounds,
                                      interpreter::MaskRunner &mask,
                                      int64_t batchRow, int64_t head,
                                      const Counted &counted) {
  int64_t queries = bounds.countQueries(), keys = bounds.countKeys();
  if (queries <= 0 || keys <= 0)
    return RowSum::of(0);
  Asked asked(bounds, mask);
  int64_t most = counted.most.value_or(keys);
  if (Wide(queries) * static_cast<Wide>(keys) <=
      static_cast<Wide>(counted.budget)) {
    Wide sum = 0;
    for (int64_t query = 0; query < queries; ++query) {
      asked.setQuery(batchRow, head, query);
      auto seen = asked.count();
      if (!seen)
        return std::nullopt;
      sum += static_cast<Wide>(std::min(*seen, most));
    }
    return RowSum::of(sum);
  }
  Drawn drawn;
  Draws draws;
  int64_t looks =
      std::min(queries, std::max<int64_t>(counted.budget / kLooksOfQuery, 16));
  for (int64_t part = 0; part < looks; ++part) {
    asked.setQuery(batchRow, head, draws.nextOf(queries, part, looks));
    auto seen = asked.estimate(kLooks);
    if (!seen)
      return std::nullopt;
    drawn.add(std::min(*seen, static_cast<double>(most)));
  }
  return drawn.scale(queries);
}
