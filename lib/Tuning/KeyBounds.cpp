//===- KeyBounds.cpp - Bounds of visible keys as numbers ------------------===//

#include "nsacc/Tuning/KeyBounds.h"
#include "llvm/Support/MathExtras.h"

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
  return sizes.countTokens(pooled);
}

KeyBounds::KeyBounds(ScoringOpInterface op, const MaskInfo &mask,
                     const CallSizes &sizes) {
  QueryDims dims =
      QueryDims::get(cast<NamedTensorType>(op.getQuery().getType()));
  queries = static_cast<int64_t>(sizes.getLength(dims.token));
  keys = static_cast<int64_t>(tuning::countKeys(op, sizes));
  shift = static_cast<int64_t>(countTokens(op, sizes)) - queries;
  auto heads = static_cast<int64_t>(sizes.get(dims.head));
  for (const MaskSymbol &symbol : mask.symbols)
    symbols.push_back(symbol.kind == MaskSymbol::Kind::Dim
                          ? sizes.find(symbol.dim).value_or(1)
                      : symbol.kind == MaskSymbol::Kind::Head ? heads / 2
                                                              : 0);
}

std::pair<int64_t, int64_t> KeyBounds::get(const KeyInterval &interval,
                                           int64_t position) const {
  for (AffineExpr guard : interval.guards)
    if (evaluate(guard, position) < 0)
      return {0, 0};
  int64_t low = 0, high = keys;
  for (AffineExpr bound : interval.lower)
    low = std::max(low, evaluate(bound, position));
  for (AffineExpr bound : interval.upper)
    high = std::min(high, evaluate(bound, position));
  return {std::min(low, keys), std::max<int64_t>(high, 0)};
}

int64_t KeyBounds::evaluate(AffineExpr expr, int64_t position) const {
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
