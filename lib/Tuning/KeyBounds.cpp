//===- KeyBounds.cpp - Bounds of visible keys as numbers ------------------===//

#include "nsacc/Tuning/KeyBounds.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

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

/// Number of tokens that positions count.
static double countTokens(ScoringOpInterface op, const CallSizes &sizes) {
  Attribute dim = getKeyDim(op);
  auto pooled = dyn_cast<PooledDimAttr>(dim);
  if (!pooled)
    return sizes.getLength(dim);
  return sizes.countTokens(pooled);
}

KeyBounds::KeyBounds(ScoringOpInterface op, const MaskInfo &mask,
                     const CallSizes &sizes)
    : mask(mask) {
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

void KeyBounds::choose(int64_t batchRow, int64_t head) {
  for (auto [symbol, value] : llvm::zip(mask.symbols, symbols))
    if (symbol.kind != MaskSymbol::Kind::Dim)
      value = symbol.kind == MaskSymbol::Kind::Head ? head : batchRow;
}

void tuning::normalize(KeyRanges &keys) {
  llvm::erase_if(keys, [](auto &each) { return each.first >= each.second; });
  llvm::sort(keys);
  size_t joined = 0;
  for (const auto &each : keys) {
    if (joined > 0 && each.first <= keys[joined - 1].second)
      keys[joined - 1].second = std::max(keys[joined - 1].second, each.second);
    else
      keys[joined++] = each;
  }
  keys.truncate(joined);
}

KeyRanges KeyBounds::getAll(int64_t position, bool onlyExact) const {
  KeyRanges found;
  for (const KeyInterval &interval : mask.intervals)
    if (interval.exact || !onlyExact)
      found.push_back(get(interval, position));
  normalize(found);
  return found;
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

std::optional<Period> KeyBounds::findPeriod(AffineExpr expr,
                                            int64_t most) const {
  if (!expr.isFunctionOfDim(0))
    return Period();
  if (isa<AffineDimExpr>(expr))
    return Period{1, 1};
  auto binary = cast<AffineBinaryOpExpr>(expr);
  auto left = findPeriod(binary.getLHS(), most);
  if (!left)
    return std::nullopt;
  // Repeats a period up to a length.
  auto repeat = [&](const Period &period,
                    int64_t length) -> std::optional<Period> {
    auto step = llvm::checkedMul(period.step, length / period.length);
    if (length > most || !step)
      return std::nullopt;
    return Period{length, *step};
  };
  if (binary.getKind() == AffineExprKind::Add) {
    auto right = findPeriod(binary.getRHS(), most);
    if (!right)
      return std::nullopt;
    int64_t length = std::lcm(left->length, right->length);
    left = repeat(*left, length), right = repeat(*right, length);
    auto step = left && right ? llvm::checkedAdd(left->step, right->step)
                              : std::nullopt;
    return step ? std::optional(Period{length, *step}) : std::nullopt;
  }
  if (binary.getRHS().isFunctionOfDim(0))
    return std::nullopt;
  int64_t factor = evaluate(binary.getRHS(), 0);
  if (binary.getKind() == AffineExprKind::Mul) {
    auto step = llvm::checkedMul(left->step, factor);
    return step ? std::optional(Period{left->length, *step}) : std::nullopt;
  }
  // A dividend has to move on by multiples of the divisor.
  if (factor <= 0 || factor > most)
    return std::nullopt;
  auto whole =
      repeat(*left, left->length * (factor / std::gcd(left->step, factor)));
  if (!whole)
    return std::nullopt;
  return Period{whole->length, binary.getKind() == AffineExprKind::Mod
                                   ? 0
                                   : whole->step / factor};
}
