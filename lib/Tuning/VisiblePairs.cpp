//===- VisiblePairs.cpp - How many keys queries see -----------------------===//

#include "VisiblePairs.h"
#include "nsacc/Tuning/KeyBounds.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::tuning;

/// A bound is looked at for this many tiles, spread over all.
static constexpr int64_t kSamples = 64;

VisiblePairs tuning::countVisible(ScoringOpInterface op, const CallSizes &sizes,
                                  double tokens, double keys) {
  MaskInfo mask = analyzeMask(op);
  KeyBounds bounds(op, mask, sizes);
  int64_t queries = bounds.countQueries(), all = bounds.countKeys(),
          shift = bounds.getShift();
  auto step = std::max<int64_t>(static_cast<int64_t>(tokens), 1);
  int64_t tiles = std::max<int64_t>(llvm::divideCeil(queries, step), 1);
  int64_t samples = std::min(tiles, kSamples);
  VisiblePairs found;
  found.tiles = static_cast<double>(tiles);
  for (int64_t sample = 0; sample < samples; ++sample) {
    int64_t tile = samples == 1 ? 0 : sample * (tiles - 1) / (samples - 1);
    int64_t first = tile * step, last = std::min(first + step, queries) - 1;
    double pairs = 0, steps = 0;
    for (const KeyInterval &interval : mask.intervals) {
      auto [low, high] = bounds.get(interval, first + shift);
      auto [lastLow, lastHigh] = bounds.get(interval, last + shift);
      auto width = [](int64_t low, int64_t high) {
        return static_cast<double>(std::max<int64_t>(high - low, 0));
      };
      pairs += (width(low, high) + width(lastLow, lastHigh)) / 2 *
               static_cast<double>(last - first + 1);
      steps += std::ceil(
          width(std::min(low, lastLow), std::max(high, lastHigh)) / keys);
    }
    steps = std::min(steps, std::ceil(static_cast<double>(all) / keys));
    found.pairs += pairs;
    found.steps += steps;
    found.mostSteps = std::max(found.mostSteps, steps);
  }
  double share = static_cast<double>(tiles) / static_cast<double>(samples);
  found.pairs *= share;
  found.steps *= share;
  return found;
}
