//===- QueryInterval.cpp - Queries that see a key -------------------------===//

#include "NSA/Analysis/MaskAnalysis.h"

using namespace mlir;
using namespace nsacc::nsa;

namespace {

/// An inequality between an expression and a bound without i.
enum class Side { AtMost, AtLeast };

Side flip(Side side) {
  return side == Side::AtMost ? Side::AtLeast : Side::AtMost;
}

/// Solves inequalities for the position i (d0).
class Solver {
public:
  explicit Solver(QueryInterval &solution) : solution(solution) {}

  /// Adds `expr <= bound` or `expr >= bound`. `bound` has no position.
  void add(AffineExpr expr, Side side, AffineExpr bound) {
    if (isa<AffineDimExpr>(expr))
      return side == Side::AtMost ? solution.upper.push_back(bound + 1)
                                  : solution.lower.push_back(bound);
    auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!expr.isFunctionOfDim(0) || !binary) {
      solution.exact = false;
      return;
    }
    AffineExpr lhs = binary.getLHS(), rhs = binary.getRHS();
    if (binary.getKind() == AffineExprKind::Add) {
      if (!lhs.isFunctionOfDim(0))
        std::swap(lhs, rhs);
      if (rhs.isFunctionOfDim(0))
        solution.exact = false;
      else
        add(lhs, side, bound - rhs);
      return;
    }
    auto factor = dyn_cast<AffineConstantExpr>(rhs);
    if (!factor || factor.getValue() == 0) {
      solution.exact = false;
      return;
    }
    addScaled(binary.getKind(), lhs, factor.getValue(), side, bound);
  }

private:
  /// Adds an inequality of a product or quotient of `expr` and a constant.
  void addScaled(AffineExprKind kind, AffineExpr expr, int64_t factor,
                 Side side, AffineExpr bound) {
    bool isAtMost = side == Side::AtMost;
    switch (kind) {
    case AffineExprKind::Mul:
      if (factor < 0)
        return addScaled(kind, expr, -factor, flip(side), -bound);
      return add(expr, side,
                 isAtMost ? bound.floorDiv(factor) : bound.ceilDiv(factor));
    case AffineExprKind::FloorDiv:
      if (factor > 0)
        return add(expr, side,
                   isAtMost ? bound * factor + (factor - 1) : bound * factor);
      break;
    case AffineExprKind::CeilDiv:
      if (factor > 0)
        return add(expr, side,
                   isAtMost ? bound * factor : bound * factor - (factor - 1));
      break;
    default:
      break;
    }
    solution.exact = false;
  }

  QueryInterval &solution;
};

/// Solves `lower(i) <= last` and `first < upper(i)` for the first and the last
/// key, or for these with `swapped` roles.
QueryInterval solve(const KeyInterval &interval, bool swapped) {
  QueryInterval queries;
  queries.exact = interval.exact && interval.guards.empty();
  Solver solver(queries);
  auto getKey = [&](AffineExpr bound, bool isLast) {
    return getAffineDimExpr(isLast != swapped, bound.getContext());
  };
  for (AffineExpr lower : interval.lower)
    solver.add(lower, Side::AtMost, getKey(lower, /*isLast=*/true));
  for (AffineExpr upper : interval.upper)
    solver.add(upper, Side::AtLeast, getKey(upper, /*isLast=*/false) + 1);
  return queries;
}

} // namespace

QueryInterval nsacc::nsa::findQueriesOfAny(const KeyInterval &interval) {
  return solve(interval, /*swapped=*/false);
}

QueryInterval nsacc::nsa::findQueriesOfAll(const KeyInterval &interval) {
  return solve(interval, /*swapped=*/true);
}
