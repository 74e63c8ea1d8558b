//===- RowSums.h - Sums over the queries of one batch row -------*- C++ -*-===//

#ifndef NSACC_LIB_TUNING_ROWSUMS_H
#define NSACC_LIB_TUNING_ROWSUMS_H

#include "nsacc/Interpreter/Mask.h"
#include "nsacc/Support/Quantity.h"
#include "nsacc/Tuning/KeyBounds.h"

namespace nsacc::tuning {

/// Pairs of one batch row and head.
struct RowSum {
  /// The number where it is exact.
  Quantity::Wide whole = 0;
  bool isExact = true;
  /// The number where it isn't exact: what was found, times what it stands for.
  double about = 0;
  /// How much hangs on few finds: of each pair that was found, the square of
  /// what it stands for; and of each query that was drawn, that of its part of
  /// the number.
  double pairSquares = 0, querySquares = 0;

  static RowSum of(Quantity::Wide whole) {
    return {whole, true, static_cast<double>(whole)};
  }
};

/// Keys that some query sees.
class SeenKeys {
public:
  void add(int64_t first, int64_t end);
  void add(const SeenKeys &other);
  /// So many, which may be some of the others.
  void addMore(double keys) { more += keys; }

  /// No less than there are, and no more.
  double countMost() const { return countListed() + more; }
  double countLeast() const { return countListed(); }

private:
  double countListed() const;

  mutable KeyRanges ranges;
  size_t longest = 1024;
  double more = 0;
};

/// Which keys count, and how many of a query at the most.
struct Counted {
  /// Those alone whose every pair is visible by the mask's bounds.
  bool onlyExact = false;
  /// Keys of one query; none: all of them.
  std::optional<int64_t> most;
  /// Queries or pairs that are looked at one by one.
  int64_t budget = 1 << 12;
};

/// The keys between the mask's bounds, summed over all queries: in closed form
/// where bounds are linear but for what repeats, else query by query, else of
/// queries that are drawn. The time depends on the budget, not on the number of
/// queries. `seen` gets the keys that some query sees, where the sum is exact.
RowSum sumBounds(const KeyBounds &bounds, const nsa::MaskInfo &mask,
                 const Counted &counted, SeenKeys *seen);

/// The pairs that a mask shows, which is asked about each where that isn't too
/// often, else about some that are drawn. None where it has no value for one.
/// `seen` gets the keys that some query sees, where the sum is exact.
std::optional<RowSum> sumMask(const KeyBounds &bounds,
                              interpreter::MaskRunner &mask, int64_t batchRow,
                              int64_t head, const Counted &counted,
                              SeenKeys *seen);

} // namespace nsacc::tuning

#endif // NSACC_LIB_TUNING_ROWSUMS_H
