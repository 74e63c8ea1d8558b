//===- MaskAnalysis.cpp - Keys that a mask lets a query see ---------------===//

#include "NSA/Analysis/MaskAnalysis.h"
#include "NSA/Analysis/IntegerRanges.h"
#include "NSA/Analysis/MaskArguments.h"
#include "NSA/IR/NSAOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include <limits>
#include <optional>
#include <utility>
#include <vector>

using namespace mlir;
using namespace nsacc::nsa;

namespace {

/// With more conjunctions than this, a loop for each isn't worthwhile.
constexpr size_t kMaxIntervals = 8;

/// Sizes that fit a machine are below 2^kSizeBits. The mask's integers have 64
/// bits and wrap around, while the analysis computes with exact numbers: it
/// skips expressions that may exceed 2^kMostBits, which leaves room for their
/// bounds.
constexpr unsigned kSizeBits = 40, kMostBits = 58;

/// Longer expressions are skipped, too: MLIR visits all their parts whenever it
/// makes one of them, and the nested parts of `x mod n` are many.
constexpr int64_t kMostParts = 128;

/// The mask in disjunctive normal form: a union of intervals.
using Union = SmallVector<KeyInterval, 2>;

/// An integer of a mask: an affine expression, null if it isn't one, or the
/// least or greatest of several integers.
struct Choice {
  enum class Kind { Affine, Least, Greatest };
  Kind kind = Kind::Affine;
  AffineExpr expr = {};
  std::vector<Choice> parts = {};

  bool isKnown() const { return kind == Kind::Affine && expr; }
};

/// While a comparison is taken apart, i is d0 and j is d1. Results don't
/// mention d1.
class MaskAnalyzer {
public:
  MaskAnalyzer(Region &mask, const ScalarPlaces &places, StringRef queryDim,
               StringRef tokenDim)
      : mask(mask), places(places), queryDim(queryDim), tokenDim(tokenDim),
        context(mask.getContext()) {}

  MaskInfo run();

private:
  AffineExpr position() { return getAffineDimExpr(0, context); }
  AffineExpr key() { return getAffineDimExpr(1, context); }
  AffineExpr constant(int64_t value) {
    return getAffineConstantExpr(value, context);
  }
  AffineExpr symbol(MaskSymbol symbol);

  /// The value as an affine expression of i, j and symbols; null if it isn't,
  /// or if it may wrap around.
  AffineExpr toAffine(Value value);
  AffineExpr computeAffine(Value value);
  /// Number of parts. A part that occurs several times counts each time.
  int64_t countParts(AffineExpr expr);
  AffineExpr argumentToAffine(BlockArgument argument);

  Choice toChoice(Value value);
  Choice computeChoice(Value value);

  /// The pairs for which `value` is `expected`.
  Union visit(Value value, bool expected);
  Union compare(arith::CmpIOp op, bool expected);
  /// The pairs with `lhs + gap <= rhs`.
  Union atMost(const Choice &lhs, const Choice &rhs, int64_t gap);

  /// The pairs with `expr >= 0`.
  Union nonNegative(AffineExpr expr);
  /// Adds `coefficient * term >= -rest`, with `term` a chain of divisions
  /// around j, to the interval; false if the chain has another form.
  bool bound(AffineExpr term, int64_t coefficient, AffineExpr rest,
             KeyInterval &interval);
  /// Splits `expr` into a term with j times a coefficient and the rest.
  struct Split {
    AffineExpr term;
    int64_t coefficient;
    AffineExpr rest;
  };
  std::optional<Split> splitKey(AffineExpr expr);

  static Union everything(bool exact);
  static Union inexact(Union intervals);
  static Union conjoin(const Union &lhs, const Union &rhs);
  static Union disjoin(Union lhs, const Union &rhs);
  /// The union of both. One interval if one side contains all keys.
  static Union either(Union lhs, const Union &rhs);

  Region &mask;
  const ScalarPlaces &places;
  StringRef queryDim, tokenDim;
  MLIRContext *context;
  IntegerRanges ranges{kSizeBits};
  llvm::DenseMap<Value, AffineExpr> affine;
  llvm::DenseMap<Value, Choice> choices;
  llvm::DenseMap<AffineExpr, int64_t> parts;
  MaskInfo info;
};

bool mentionsKey(AffineExpr expr) { return expr.isFunctionOfDim(1); }

/// Whether `factor * expr` and all parts of it are within 2^kMostBits.
bool isSmall(AffineExpr expr, int64_t factor = 1) {
  std::optional<int64_t> most = getMagnitude(expr, kSizeBits);
  std::optional<int64_t> product =
      most ? llvm::checkedMul(std::max<int64_t>(*most, 1), factor)
           : std::nullopt;
  constexpr int64_t limit = int64_t{1} << kMostBits;
  return product && -limit <= *product && *product <= limit;
}

} // namespace

AffineExpr MaskAnalyzer::symbol(MaskSymbol wanted) {
  auto *found = llvm::find(info.symbols, wanted);
  unsigned index = found - info.symbols.begin();
  if (found == info.symbols.end())
    info.symbols.push_back(std::move(wanted));
  return getAffineSymbolExpr(index, context);
}

//===----------------------------------------------------------------------===//
// Scalar code to affine expressions
//===----------------------------------------------------------------------===//

AffineExpr MaskAnalyzer::argumentToAffine(BlockArgument argument) {
  if (argument.getOwner() != &mask.front())
    return {};
  switch (argument.getArgNumber()) {
  case kBatchRow:
    return symbol({MaskSymbol::Kind::BatchRow, ""});
  case kHead:
    return symbol({MaskSymbol::Kind::Head, ""});
  case kQueryRow: // t = i - (S - T)
    return position() - symbol({MaskSymbol::Kind::Dim, tokenDim.str()}) +
           symbol({MaskSymbol::Kind::Dim, queryDim.str()});
  case kPosition:
    return position();
  case kKey:
    return key();
  default:
    return {};
  }
}

AffineExpr MaskAnalyzer::toAffine(Value value) {
  auto known = affine.find(value);
  if (known == affine.end()) {
    AffineExpr expr = computeAffine(value);
    if (expr && countParts(expr) > kMostParts)
      expr = {};
    known = affine.try_emplace(value, expr).first;
  }
  return known->second;
}

int64_t MaskAnalyzer::countParts(AffineExpr expr) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return 1;
  auto known = parts.find(expr);
  if (known != parts.end())
    return known->second;
  int64_t count = 1 + countParts(binary.getLHS()) + countParts(binary.getRHS());
  return parts[expr] = count;
}

AffineExpr MaskAnalyzer::computeAffine(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argumentToAffine(argument);
  APInt integer;
  if (matchPattern(value, m_ConstantInt(&integer)))
    return constant(integer.getSExtValue());

  Operation *op = value.getDefiningOp();
  if (auto dim = dyn_cast<DimOp>(op))
    return symbol({MaskSymbol::Kind::Dim, dim.getDim().str()});
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::FloorDivSIOp,
           arith::CeilDivSIOp>(op) ||
      ranges.isUnknown(value))
    return {};
  AffineExpr lhs = toAffine(op->getOperand(0));
  AffineExpr rhs = toAffine(op->getOperand(1));
  if (!lhs || !rhs)
    return {};
  if (isa<arith::AddIOp>(op))
    return lhs + rhs;
  if (isa<arith::SubIOp>(op))
    return lhs - rhs;
  auto lhsConstant = dyn_cast<AffineConstantExpr>(lhs);
  auto rhsConstant = dyn_cast<AffineConstantExpr>(rhs);
  if (isa<arith::MulIOp>(op)) {
    if (rhsConstant)
      return lhs * rhsConstant.getValue();
    return lhsConstant ? rhs * lhsConstant.getValue() : AffineExpr();
  }
  if (!rhsConstant || rhsConstant.getValue() <= 0)
    return {};
  return isa<arith::FloorDivSIOp>(op) ? lhs.floorDiv(rhsConstant.getValue())
                                      : lhs.ceilDiv(rhsConstant.getValue());
}

/// Number of affine expressions in a choice.
static size_t countAlternatives(const Choice &choice) {
  size_t count = choice.kind == Choice::Kind::Affine;
  for (const Choice &part : choice.parts)
    count += countAlternatives(part);
  return count;
}

/// Applies a monotone function to a choice. A decreasing one turns the greatest
/// into the least.
static Choice apply(Choice choice, bool falls,
                    function_ref<AffineExpr(AffineExpr)> function) {
  if (choice.expr)
    choice.expr = function(choice.expr);
  for (Choice &part : choice.parts)
    part = apply(std::move(part), falls, function);
  if (falls && choice.kind != Choice::Kind::Affine)
    choice.kind = choice.kind == Choice::Kind::Least ? Choice::Kind::Greatest
                                                     : Choice::Kind::Least;
  return choice;
}

Choice MaskAnalyzer::toChoice(Value value) {
  auto known = choices.find(value);
  if (known != choices.end())
    return known->second;
  Choice choice = computeChoice(value);
  if (countAlternatives(choice) > kMaxIntervals)
    choice = {};
  return choices[value] = std::move(choice);
}

Choice MaskAnalyzer::computeChoice(Value value) {
  if (AffineExpr expr = toAffine(value))
    return {Choice::Kind::Affine, expr};
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() != 2 ||
      !op->getOperand(0).getType().isIndex())
    return {};
  Choice lhs = toChoice(op->getOperand(0)), rhs = toChoice(op->getOperand(1));
  // |x| is max(x, 0 - x). If one part isn't known, the other one may still
  // bound keys.
  if (isa<arith::MinSIOp, arith::MaxSIOp>(op))
    return {isa<arith::MinSIOp>(op) ? Choice::Kind::Least
                                    : Choice::Kind::Greatest,
            {},
            {std::move(lhs), std::move(rhs)}};
  if (ranges.isUnknown(value))
    return {};
  if (isa<arith::AddIOp, arith::MulIOp>(op) && lhs.isKnown())
    std::swap(lhs, rhs);
  AffineExpr other = rhs.kind == Choice::Kind::Affine ? rhs.expr : nullptr;
  if (isa<arith::AddIOp>(op) && other)
    return apply(std::move(lhs), /*falls=*/false,
                 [&](AffineExpr each) { return each + other; });
  if (isa<arith::SubIOp>(op) && other)
    return apply(std::move(lhs), /*falls=*/false,
                 [&](AffineExpr each) { return each - other; });
  if (isa<arith::SubIOp>(op) && lhs.isKnown())
    return apply(std::move(rhs), /*falls=*/true,
                 [&](AffineExpr each) { return lhs.expr - each; });
  auto factor = dyn_cast_if_present<AffineConstantExpr>(other);
  if (!factor)
    return {};
  if (isa<arith::MulIOp>(op))
    return apply(std::move(lhs), factor.getValue() < 0,
                 [&](AffineExpr each) { return each * factor.getValue(); });
  bool floors = isa<arith::FloorDivSIOp>(op);
  if ((!floors && !isa<arith::CeilDivSIOp>(op)) || factor.getValue() <= 0)
    return {};
  return apply(std::move(lhs), /*falls=*/false, [&](AffineExpr each) {
    return floors ? each.floorDiv(factor.getValue())
                  : each.ceilDiv(factor.getValue());
  });
}

//===----------------------------------------------------------------------===//
// Comparisons to intervals
//===----------------------------------------------------------------------===//

std::optional<MaskAnalyzer::Split> MaskAnalyzer::splitKey(AffineExpr expr) {
  if (expr.getKind() == AffineExprKind::Add) {
    auto sum = cast<AffineBinaryOpExpr>(expr);
    AffineExpr lhs = sum.getLHS(), rhs = sum.getRHS();
    if (mentionsKey(lhs) && mentionsKey(rhs))
      return std::nullopt;
    if (mentionsKey(rhs))
      std::swap(lhs, rhs);
    std::optional<Split> split = splitKey(lhs);
    if (split)
      split->rest = split->rest + rhs;
    return split;
  }
  if (expr.getKind() == AffineExprKind::Mul) {
    auto product = cast<AffineBinaryOpExpr>(expr);
    auto factor = dyn_cast<AffineConstantExpr>(product.getRHS());
    if (!factor)
      return std::nullopt;
    std::optional<Split> split = splitKey(product.getLHS());
    if (split) {
      split->coefficient *= factor.getValue();
      split->rest = split->rest * factor.getValue();
    }
    return split;
  }
  return Split{expr, 1, constant(0)};
}

bool MaskAnalyzer::bound(AffineExpr term, int64_t coefficient, AffineExpr rest,
                         KeyInterval &interval) {
  if (coefficient == 0 || !isSmall(rest))
    return false;
  // coefficient * term + rest >= 0  <=>  term >= least, or term <= most.
  bool below = coefficient > 0;
  AffineExpr least = (-rest).ceilDiv(std::abs(coefficient));
  AffineExpr most = rest.floorDiv(std::abs(coefficient));
  if (term == key()) {
    if (below)
      interval.lower.push_back(least);
    else
      interval.upper.push_back(most + 1);
    return true;
  }
  bool floors = term.getKind() == AffineExprKind::FloorDiv;
  if (!floors && term.getKind() != AffineExprKind::CeilDiv)
    return false;
  auto quotient = cast<AffineBinaryOpExpr>(term);
  auto divisor = dyn_cast<AffineConstantExpr>(quotient.getRHS());
  if (!divisor || divisor.getValue() <= 0)
    return false;
  std::optional<Split> inner = splitKey(quotient.getLHS());
  if (!inner)
    return false;
  // x floordiv c >= e  <=>  x >= c e         x floordiv c <= e  <=>  x <= c e +
  // c - 1 x ceildiv  c >= e  <=>  x >= c e - c + 1  x ceildiv  c <= e  <=>  x
  // <= c e
  int64_t c = divisor.getValue();
  if (!isSmall(below ? least : most, c))
    return false;
  AffineExpr edge = below ? least * c - (floors ? 0 : c - 1)
                          : most * c + (floors ? c - 1 : 0);
  if (below)
    return bound(inner->term, inner->coefficient, inner->rest - edge, interval);
  return bound(inner->term, -inner->coefficient, edge - inner->rest, interval);
}

Union MaskAnalyzer::nonNegative(AffineExpr expr) {
  expr = simplifyAffineExpr(expr, 2, info.symbols.size());
  if (auto known = dyn_cast<AffineConstantExpr>(expr))
    return known.getValue() >= 0 ? everything(/*exact=*/true) : Union();
  if (!mentionsKey(expr)) {
    if (expr.isFunctionOfDim(0))
      return everything(/*exact=*/false);
    Union guarded = everything(/*exact=*/true);
    guarded.front().guards.push_back(expr);
    return guarded;
  }
  KeyInterval interval;
  std::optional<Split> split = splitKey(expr);
  if (!split || !bound(split->term, split->coefficient, split->rest, interval))
    return everything(/*exact=*/false);
  return {interval};
}

Union MaskAnalyzer::either(Union lhs, const Union &rhs) {
  // A loop over all keys covers the other intervals, too.
  bool areAll = false, isExact = false;
  for (const Union *side : {&std::as_const(lhs), &rhs})
    for (const KeyInterval &each : *side)
      if (each.lower.empty() && each.upper.empty() && each.guards.empty()) {
        areAll = true;
        isExact |= each.exact;
      }
  return areAll ? everything(isExact) : disjoin(std::move(lhs), rhs);
}

Union MaskAnalyzer::atMost(const Choice &lhs, const Choice &rhs, int64_t gap) {
  const Choice &taken = lhs.kind == Choice::Kind::Affine ? rhs : lhs;
  if (taken.kind == Choice::Kind::Affine) {
    if (!lhs.expr || !rhs.expr || !isSmall(lhs.expr) || !isSmall(rhs.expr))
      return everything(/*exact=*/false);
    return nonNegative(rhs.expr - lhs.expr - gap);
  }
  auto compareTo = [&](const Choice &part) {
    return &taken == &lhs ? atMost(part, rhs, gap) : atMost(lhs, part, gap);
  };
  Union first = compareTo(taken.parts[0]), second = compareTo(taken.parts[1]);
  // max(a, b) <= c and c <= min(a, b) need both comparisons; the other cases
  // need one of them.
  bool areBoth = (&taken == &lhs) == (taken.kind == Choice::Kind::Greatest);
  if (areBoth)
    return conjoin(first, second);
  return either(std::move(first), second);
}

Union MaskAnalyzer::compare(arith::CmpIOp op, bool expected) {
  // Pairs for which an operand may have no value have to be evaluated.
  auto needsAssertion = [&](Value operand) {
    return !toAffine(operand) &&
           getAssertionNeedWithin(operand, places) == AssertionNeed::Always;
  };
  if (needsAssertion(op.getLhs()) || needsAssertion(op.getRhs()))
    return everything(/*exact=*/false);
  Choice lhs = toChoice(op.getLhs()), rhs = toChoice(op.getRhs());
  arith::CmpIPredicate predicate = op.getPredicate();
  if (!expected)
    predicate = arith::invertPredicate(predicate);
  switch (predicate) {
  case arith::CmpIPredicate::sle:
    return atMost(lhs, rhs, 0);
  case arith::CmpIPredicate::slt:
    return atMost(lhs, rhs, 1);
  case arith::CmpIPredicate::sge:
    return atMost(rhs, lhs, 0);
  case arith::CmpIPredicate::sgt:
    return atMost(rhs, lhs, 1);
  case arith::CmpIPredicate::eq:
    return conjoin(atMost(lhs, rhs, 0), atMost(rhs, lhs, 0));
  case arith::CmpIPredicate::ne:
    return either(atMost(lhs, rhs, 1), atMost(rhs, lhs, 1));
  default: // unsigned comparisons don't come from programs
    return everything(/*exact=*/false);
  }
}

//===----------------------------------------------------------------------===//
// Boolean structure
//===----------------------------------------------------------------------===//

Union MaskAnalyzer::everything(bool exact) {
  KeyInterval all;
  all.exact = exact;
  return {all};
}

Union MaskAnalyzer::inexact(Union intervals) {
  for (KeyInterval &interval : intervals)
    interval.exact = false;
  return intervals;
}

Union MaskAnalyzer::conjoin(const Union &lhs, const Union &rhs) {
  if (lhs.size() * rhs.size() > kMaxIntervals)
    return inexact(lhs.size() <= rhs.size() ? lhs : rhs);
  Union product;
  for (const KeyInterval &left : lhs)
    for (const KeyInterval &right : rhs) {
      KeyInterval both = left;
      llvm::append_range(both.lower, right.lower);
      llvm::append_range(both.upper, right.upper);
      llvm::append_range(both.guards, right.guards);
      both.exact &= right.exact;
      product.push_back(std::move(both));
    }
  return product;
}

Union MaskAnalyzer::disjoin(Union lhs, const Union &rhs) {
  if (lhs.size() + rhs.size() > kMaxIntervals)
    return everything(/*exact=*/false);
  llvm::append_range(lhs, rhs);
  return lhs;
}

Union MaskAnalyzer::visit(Value value, bool expected) {
  APInt known;
  if (matchPattern(value, m_ConstantInt(&known)))
    return known.isOne() == expected ? everything(/*exact=*/true) : Union();
  Operation *op = value.getDefiningOp();
  if (!op)
    return everything(/*exact=*/false);
  if (auto comparison = dyn_cast<arith::CmpIOp>(op))
    if (comparison.getLhs().getType().isIndex())
      return compare(comparison, expected);
  if (isa<arith::AndIOp, arith::OrIOp>(op)) {
    Union lhs = visit(op->getOperand(0), expected);
    Union rhs = visit(op->getOperand(1), expected);
    // The left side must be checked for a value even if the right side decides
    // the result.
    bool needsAssertion = getAssertionNeedWithin(op->getOperand(0), places) ==
                          AssertionNeed::Always;
    // not (a and b) = not a or not b
    if (isa<arith::AndIOp>(op) == expected)
      return needsAssertion ? inexact(std::move(lhs)) : conjoin(lhs, rhs);
    return disjoin(std::move(lhs),
                   needsAssertion ? inexact(std::move(rhs)) : rhs);
  }
  if (auto exclusive = dyn_cast<arith::XOrIOp>(op))
    if (matchPattern(exclusive.getRhs(), m_One())) // not
      return visit(exclusive.getLhs(), !expected);
  return everything(/*exact=*/false);
}

MaskInfo MaskAnalyzer::run() {
  if (mask.empty()) {
    info.intervals = everything(/*exact=*/true);
    return std::move(info);
  }
  Value visible = cast<YieldOp>(mask.front().getTerminator()).getValue();
  info.intervals = visit(visible, true);
  for (Operation &op : mask.front())
    info.readsAtPositions |=
        getAssertionNeed(&op, places) == AssertionNeed::AtNegativePositions;
  for (KeyInterval &interval : info.intervals)
    for (auto *list : {&interval.lower, &interval.upper, &interval.guards}) {
      for (AffineExpr &expr : *list)
        expr = simplifyAffineExpr(expr, 1, info.symbols.size());
      // `0 <= j` always holds.
      if (list == &interval.lower)
        llvm::erase_if(*list, [](AffineExpr expr) {
          auto known = dyn_cast<AffineConstantExpr>(expr);
          return known && known.getValue() <= 0;
        });
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
  return std::move(info);
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

bool MaskInfo::isExact() const {
  return llvm::all_of(intervals,
                      [](const KeyInterval &each) { return each.exact; });
}

MaskInfo nsacc::nsa::analyzeMask(Region &mask, const ScalarPlaces &places,
                                 StringRef queryDim, StringRef tokenDim) {
  return MaskAnalyzer(mask, places, queryDim, tokenDim).run();
}

MaskInfo nsacc::nsa::analyzeMask(ScoringOpInterface op) {
  // [B, T, HQ, D], or [ragged T, HQ, D]
  auto tokenDim = [](Value value) {
    auto type = cast<NamedTensorType>(value.getType());
    return getTokenDim(type.getDims()[type.isRagged() ? 0 : 1]);
  };
  ScalarPlaces places;
  if (!op.getMask().empty())
    places = ScalarPlaces::get(op, op.getMask(), /*leading=*/0);
  return analyzeMask(op.getMask(), places, tokenDim(op.getQuery()),
                     tokenDim(op.getKey()));
}

std::optional<int64_t> nsacc::nsa::getMagnitude(AffineExpr expr,
                                                unsigned sizeBits) {
  if (auto known = dyn_cast<AffineConstantExpr>(expr)) {
    if (known.getValue() == std::numeric_limits<int64_t>::min())
      return std::nullopt;
    return std::abs(known.getValue());
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return (int64_t{1} << sizeBits) - 1;
  std::optional<int64_t> lhs = getMagnitude(binary.getLHS(), sizeBits);
  std::optional<int64_t> rhs = getMagnitude(binary.getRHS(), sizeBits);
  if (!lhs || !rhs)
    return std::nullopt;
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return llvm::checkedAdd(*lhs, *rhs);
  case AffineExprKind::Mul:
    return llvm::checkedMul(*lhs, *rhs);
  case AffineExprKind::Mod:
    return *rhs;
  default: // quotients are rounded away from 0 at most
    return *lhs / std::max<int64_t>(*rhs, 1) + 1;
  }
}

AffineExpr nsacc::nsa::boundOverRows(AffineExpr expr, AffineExpr first,
                                     AffineExpr last, bool greatest) {
  if (!expr.isFunctionOfDim(0))
    return expr;
  if (isa<AffineDimExpr>(expr))
    return greatest ? last : first;
  auto binary = cast<AffineBinaryOpExpr>(expr);
  auto bounded = [&](AffineExpr operand, bool most) {
    return boundOverRows(operand, first, last, most);
  };
  if (binary.getKind() == AffineExprKind::Add) {
    AffineExpr lhs = bounded(binary.getLHS(), greatest);
    AffineExpr rhs = bounded(binary.getRHS(), greatest);
    return lhs && rhs ? lhs + rhs : AffineExpr();
  }
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (!factor || binary.getKind() == AffineExprKind::Mod)
    return {};
  int64_t c = factor.getValue();
  AffineExpr operand = bounded(binary.getLHS(), greatest == (c >= 0));
  if (!operand)
    return {};
  if (binary.getKind() == AffineExprKind::Mul)
    return operand * c;
  return binary.getKind() == AffineExprKind::FloorDiv ? operand.floorDiv(c)
                                                      : operand.ceilDiv(c);
}
