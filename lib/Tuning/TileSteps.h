//===- TileSteps.h - Number of steps of tiles -------------------*- C++ -*-===//

#ifndef NSACC_LIB_TUNING_TILESTEPS_H
#define NSACC_LIB_TUNING_TILESTEPS_H

#include "nsacc/Tuning/Model.h"

namespace nsacc::tuning {

/// What the tiles of all batch rows and key heads meet.
struct TileSteps {
  /// Tiles of queries, steps of all of them, and of the one with the most.
  double tiles = 0, steps = 0, mostSteps = 0;
};

/// Tiles of so many tokens in all batch rows, of one key head.
double countTiles(nsa::ScoringOpInterface op, const CallSizes &sizes,
                  double tokens);

/// Of an op over all keys or pooled keys, with tiles of so many tokens and
/// keys. Steps are those over keys between the mask's bounds, whatever it says
/// of each pair alone.
TileSteps countSteps(nsa::ScoringOpInterface op, const CallSizes &sizes,
                     double tokens, double keys);

} // namespace nsacc::tuning

#endif // NSACC_LIB_TUNING_TILESTEPS_H
