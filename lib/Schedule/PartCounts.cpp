//===- PartCounts.cpp - Number of parts that a call is cut into -----------===//

#include "nsacc/Schedule/PartCounts.h"
#include "NSA/Analysis/MaskAnalysis.h"

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;

std::optional<int64_t> schedule::getWidth(ScoringOpInterface op) {
  MaskInfo mask = analyzeMask(op);
  int64_t width = 0;
  for (const KeyInterval &interval : mask.intervals) {
    std::optional<int64_t> least;
    for (AffineExpr lower : interval.lower)
      for (AffineExpr upper : interval.upper)
        if (auto size = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(
                upper - lower, /*numDims=*/1, mask.symbols.size())))
          least = std::min(least.value_or(size.getValue()), size.getValue());
    if (!least)
      return std::nullopt;
    width += std::max<int64_t>(*least, 0);
  }
  return width;
}
