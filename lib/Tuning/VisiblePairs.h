//===- VisiblePairs.h - How many keys queries see ---------------*- C++ -*-===//

#ifndef NSACC_LIB_TUNING_VISIBLEPAIRS_H
#define NSACC_LIB_TUNING_VISIBLEPAIRS_H

#include "nsacc/Tuning/Model.h"

namespace nsacc::tuning {

/// What tiles of one batch row and head meet, summed over its queries.
struct VisiblePairs {
  /// Pairs that the mask doesn't rule out.
  double pairs = 0;
  /// Tiles of queries, steps of all of them, and of the one with the most.
  double tiles = 0, steps = 0, mostSteps = 0;
};

/// Of an op over all keys or pooled keys, with tiles of so many tokens and
/// keys. What a mask says of each pair alone counts as visible.
VisiblePairs countVisible(nsa::ScoringOpInterface op, const CallSizes &sizes,
                          double tokens, double keys);

} // namespace nsacc::tuning

#endif // NSACC_LIB_TUNING_VISIBLEPAIRS_H
