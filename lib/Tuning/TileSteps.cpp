//===- TileSteps.cpp - How many steps tiles take --------------------------===//

#include "TileSteps.h"
#include "nsacc/Tuning/KeyBounds.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::tuning;

/// A bound is looked at for this many tiles, spread over all.
static constexpr int64_t kSamples = 64;

TileSteps tuning::countSteps(ScoringOpInterface op, const CallSizes &sizes,
                             double tokens, double keys) {
  MaskInfo mask = analyzeMask(op);
  KeyBounds bounds(op, mask, sizes);
  int64_t queries = bounds.countQueries(), all = bounds.countKeys(),
          shift = bounds.getShift();
  auto step = std::max<int64_t>(static_cast<int64_t>(tokens), 1);
  int64_t tiles = std::max<int64_t>(llvm::divideCeil(queries, step), 1);
  int64_t samples = std::min(tiles, kSamples);
  TileSteps found;
  found.tiles = static_cast<double>(tiles);
  for (int64_t sample = 0; sample < samples; ++sample) {
    int64_t tile = samples == 1 ? 0 : sample * (tiles - 1) / (samples - 1);
    int64_t first = tile * step, last = std::min(first + step, queries) - 1;
    double steps = 0;
    for (const KeyInterval &interval : mask.intervals) {
      auto [low, high] = bounds.get(interval, first + shift);
      auto [lastLow, lastHigh] = bounds.get(interval, last + shift);
      auto width = [](int64_t low, int64_t high) {
        return static_cast<double>(std::max<int64_t>(high - low, 0));
      };
      steps += std::ceil(
          width(std::min(low, lastLow), std::max(high, lastHigh)) / keys);
    }
    steps = std::min(steps, std::ceil(static_cast<double>(all) / keys));
    found.steps += steps;
    found.mostSteps = std::max(found.mostSteps, steps);
  }
  found.steps *= static_cast<double>(tiles) / static_cast<double>(samples);
  return found;
}
