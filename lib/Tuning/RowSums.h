//===- RowSums.h - Sums over the queries of one batch row -------*- C++ -*-===//

#ifndef NSACC_LIB_TUNING_ROWSUMS_H
#define NSACC_LIB_TUNING_ROWSUMS_H

#include "nsacc/Interpreter/Mask.h"
#include "nsacc/Support/Quantity.h"
#include "nsacc/Tuning/KeyBounds.h"

namespace nsacc::tuning {

/// Number of pairs of one batch row and head.
struct RowSum {
  /// The number if it is exact.
  Quantity::Wide whole = 0;
  bool isExact = true;
  /// The estimate if the number isn't exact: the found pairs, each weighted by
  /// the number of pairs that it stands for.
  double about = 0;
  /// Measures of how far the estimate depends on few pairs. The first is the
  /// sum of the squared weights of pairs that were found. The second is the sum
  /// of the squared parts that drawn queries have of the estimate.
  double pairSquares = 0, querySquares = 0;

  static RowSum of(Quantity::Wide whole) {
    return {whole, true, static_cast<double>(whole)};
  }
};

/// The keys that some query sees.
class SeenKeys {
public:
  void add(int64_t first, int64_t end);
  void add(const SeenKeys &other);
  /// Adds a number of keys, which may be among the others.
  void addMore(double keys) { more += keys; }

  /// Upper and lower bounds of the number of keys.
  double countMost() const { return countListed() + more; }
  double countLeast() const { return countListed(); }

private:
  double countListed() const;

  mutable KeyRanges ranges;
  size_t longest = 1024;
  double more = 0;
};

/// The keys that count, and the most keys of a query.
struct Counted {
  /// Whether only keys of intervals count in which every pair is visible.
  bool onlyExact = false;
  /// Most keys of one query; none: no limit.
  std::optional<int64_t> most;
  /// Number of queries or pairs that are examined one by one.
  int64_t budget = 1 << 12;
};

/// Sums the keys between the mask's bounds over all queries: in closed form if
/// bounds are linear apart from a repeating part, else query by query, else
/// from a sample of queries. The time depends on the budget, not on the number
/// of queries. `seen` gets the keys that some query sees, if the sum is exact.
RowSum sumBounds(const KeyBounds &bounds, const nsa::MaskInfo &mask,
                 const Counted &counted, SeenKeys *seen);

/// Sums the pairs that a mask shows. It evaluates the mask for each pair if
/// there aren't too many, else for a sample. None if the mask has no value for
/// a pair. `seen` gets the keys that some query sees, if the sum is exact.
std::optional<RowSum> sumMask(const KeyBounds &bounds,
                              interpreter::MaskRunner &mask, int64_t batchRow,
                              int64_t head, const Counted &counted,
                              SeenKeys *seen);

} // namespace nsacc::tuning

#endif // NSACC_LIB_TUNING_ROWSUMS_H
