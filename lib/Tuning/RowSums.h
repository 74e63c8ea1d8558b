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
  /// The number, and how far it may be off where it isn't exact: four standard
  /// deviations.
  double about = 0, error = 0;

  static RowSum of(Quantity::Wide whole) {
    return {whole, true, static_cast<double>(whole), 0};
  }
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
/// queries. `seen` gets the keys that some query sees, some of them where they
/// aren't all found; may be null.
RowSum sumBounds(const KeyBounds &bounds, const nsa::MaskInfo &mask,
                 const Counted &counted, KeyRanges *seen);

/// The pairs that a mask shows, which is asked about each where that isn't too
/// often, else about some that are drawn. None where it has no value for one.
std::optional<RowSum> sumMask(const KeyBounds &bounds,
                              interpreter::MaskRunner &mask, int64_t batchRow,
                              int64_t head, const Counted &counted);

} // namespace nsacc::tuning

#endif // NSACC_LIB_TUNING_ROWSUMS_H
