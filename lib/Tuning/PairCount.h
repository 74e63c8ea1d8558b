//===- PairCount.h - Number of visible pairs --------------------*- C++ -*-===//

#ifndef NSACC_LIB_TUNING_PAIRCOUNT_H
#define NSACC_LIB_TUNING_PAIRCOUNT_H

#include "nsacc/Tuning/Model.h"

namespace nsacc::tuning {

/// Pairs of a query's row and a key, of all batch rows and heads.
struct PairCount {
  Quantity pairs;
  Certainty certainty = Certainty::Exact;
  /// So many are visible whatever a run hides.
  double least = 0;
  /// Which share of the keys some query of their key head sees: all of them
  /// where a run decides, or as many as a selection has at the most; and at
  /// least so many.
  double seenKeys = 1, leastSeenKeys = 0;
};

/// The visible pairs of an op over all keys or pooled keys; of an attention
/// within a selection, as many as that may select of them. About `budget`
/// queries or pairs are looked at one by one.
PairCount countPairs(nsa::ScoringOpInterface op, const CallSizes &sizes,
                     int64_t budget);

} // namespace nsacc::tuning

#endif // NSACC_LIB_TUNING_PAIRCOUNT_H
