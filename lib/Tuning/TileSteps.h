//===- TileSteps.h - Number of steps of tiles -------------------*- C++ -*-===//

#ifndef NSACC_LIB_TUNING_TILESTEPS_H
#define NSACC_LIB_TUNING_TILESTEPS_H

#include "nsacc/Tuning/Model.h"

namespace nsacc::tuning {

/// Number of steps of the tiles of all batch rows and key heads.
struct TileSteps {
  /// Number of query tiles, number of their steps, and the most steps of a
  /// tile.
  double tiles = 0, steps = 0, mostSteps = 0;
};

/// Number of tiles of `tokens` tokens in all batch rows, for one key head.
double countTiles(nsa::ScoringOpInterface op, const CallSizes &sizes,
                  double tokens);

/// Counts the steps of an op over all keys or pooled keys, with tiles of these
/// numbers of tokens and keys. Steps go over the keys between the mask's
/// bounds, whatever the mask says of single pairs.
TileSteps countSteps(nsa::ScoringOpInterface op, const CallSizes &sizes,
                     double tokens, double keys);

} // namespace nsacc::tuning

#endif // NSACC_LIB_TUNING_TILESTEPS_H
