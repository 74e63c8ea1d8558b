//===- PairCount.h - Number of visible pairs --------------------*- C++ -*-===//

#ifndef NSACC_LIB_TUNING_PAIRCOUNT_H
#define NSACC_LIB_TUNING_PAIRCOUNT_H

#include "nsacc/Tuning/Model.h"

namespace nsacc::tuning {

/// Number of pairs of a query's row and a key, in all batch rows and heads.
struct PairCount {
  Quantity pairs;
  Certainty certainty = Certainty::Exact;
  /// Number of pairs that are visible whatever a run hides.
  double least = 0;
  /// Fraction of the keys that some query of their key head sees: all keys if a
  /// run decides, or the most that a selection has. The second number is a
  /// lower bound.
  double seenKeys = 1, leastSeenKeys = 0;
};

/// Counts the visible pairs of an op over all keys or pooled keys. For an
/// attention within a selection, it counts the most pairs that the selection
/// may have among them. About `budget` queries or pairs are examined one by
/// one.
PairCount countPairs(nsa::ScoringOpInterface op, const CallSizes &sizes,
                     int64_t budget);

} // namespace nsacc::tuning

#endif // NSACC_LIB_TUNING_PAIRCOUNT_H
