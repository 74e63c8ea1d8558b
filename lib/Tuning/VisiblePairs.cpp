//===- VisiblePairs.cpp - How many keys queries see -----------------------===//

#include "VisiblePairs.h"
#include "NSA/Analysis/MaskAnalysis.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::nsa;
using namespace nsacc::tuning;

static Attribute getKeyDim(ScoringOpInterface op) {
  auto keys = cast<NamedTensorType>(op.getKey().getType());
  return keys.getDims()[keys.isRagged() ? 0 : 1];
}

double tuning::countKeys(ScoringOpInterface op, const CallSizes &sizes) {
  return sizes.getLength(getKeyDim(op));
}

/// Tokens that positions are counted by.
static double countTokens(ScoringOpInterface op, const CallSizes &sizes) {
  Attribute dim = getKeyDim(op);
  auto pooled = dyn_cast<PooledDimAttr>(dim);
  if (!pooled)
    return sizes.getLength(dim);
  return static_cast<double>(sizes.find(pooled.getBase()).value_or(1));
}

namespace {

/// Evaluates bounds for one position. Heads are taken from the middle.
class Bounds {
public:
  Bounds(const MaskInfo &mask, const CallSizes &sizes, int64_t heads) {
    for (const MaskSymbol &symbol : mask.symbols)
      symbols.push_back(symbol.kind == MaskSymbol::Kind::Dim
                            ? sizes.find(symbol.dim).value_or(1)
                        : symbol.kind == MaskSymbol::Kind::Head ? heads / 2
                                                                : 0);
  }

  std::pair<int64_t, int64_t> get(const KeyInterval &interval, int64_t position,
                                  int64_t keys) const {
    int64_t low = 0, high = keys;
    for (AffineExpr bound : interval.lower)
      low = std::max(low, evaluate(bound, position));
    for (AffineExpr bound : interval.upper)
      high = std::min(high, evaluate(bound, position));
    return {std::min(low, keys), std::max<int64_t>(high, 0)};
  }

private:
  int64_t evaluate(AffineExpr expr, int64_t position) const {
    if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      return constant.getValue();
    if (isa<AffineDimExpr>(expr))
      return position;
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
      return symbols[symbol.getPosition()];
    auto binary = cast<AffineBinaryOpExpr>(expr);
    int64_t left = evaluate(binary.getLHS(), position),
            right = evaluate(binary.getRHS(), position);
    switch (binary.getKind()) {
    case AffineExprKind::Add:
      return left + right;
    case AffineExprKind::Mul:
      return left * right;
    default:
      break;
    }
    if (right == 0)
      return 0;
    switch (binary.getKind()) {
    case AffineExprKind::FloorDiv:
      return llvm::divideFloorSigned(left, right);
    case AffineExprKind::CeilDiv:
      return llvm::divideCeilSigned(left, right);
    default:
      return llvm::mod(left, right);
    }
  }

  SmallVector<int64_t> symbols;
};

} // namespace

/// A bound is looked at for this many tiles, spread over all.
static constexpr int64_t kSamples = 64;

VisiblePairs tuning::countVisible(ScoringOpInterface op, const CallSizes &sizes,
                                  double tokens, double keys) {
  auto query = cast<NamedTensorType>(op.getQuery().getType());
  QueryDims dims = QueryDims::get(query);
  auto queries = static_cast<int64_t>(sizes.getLength(dims.token));
  auto all = static_cast<int64_t>(countKeys(op, sizes));
  int64_t shift = static_cast<int64_t>(countTokens(op, sizes)) - queries;
  MaskInfo mask = analyzeMask(op);
  Bounds bounds(mask, sizes, static_cast<int64_t>(sizes.get(dims.head)));
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
      auto [low, high] = bounds.get(interval, first + shift, all);
      auto [lastLow, lastHigh] = bounds.get(interval, last + shift, all);
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
