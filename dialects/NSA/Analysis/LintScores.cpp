//===- LintScores.cpp - Scores and weights that are likely mistakes -------===//

#include "NSA/Analysis/LintChecks.h"
#include "NSA/Analysis/ScalarTrial.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace nsacc::nsa;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// Whether a clause has such a number at all positions, for each `s`.
static bool isAlways(Region &clause, llvm::function_ref<bool(double)> isMeant) {
  if (clause.empty())
    return false;
  ScalarTrial trial(clause);
  SmallVector<Attribute> arguments(clause.getNumArguments());
  Builder builder(clause.getContext());
  for (double element : kTriedElements)
    for (double s : kTriedScores) {
      if (!arguments.empty() && clause.getArgument(0).getType().isF32())
        arguments[0] = builder.getF32FloatAttr(s);
      trial.setTables(element);
      auto value = dyn_cast_or_null<FloatAttr>(trial.evaluate(arguments));
      if (!value || !isMeant(value.getValueAsDouble()))
        return false;
    }
  return true;
}

bool nsacc::nsa::isAlwaysZero(Region &clause) {
  return isAlways(clause, [](double value) { return value == 0; });
}

void nsacc::nsa::lintScale(ScoringOpInterface op, LintReport &report) {
  if (op.getScale().empty())
    return;
  ScalarTrial trial(op.getScale());
  constexpr int64_t sizes[] = {64, 256};
  auto small = dyn_cast_or_null<FloatAttr>(trial.evaluate(sizes[0]));
  auto large = dyn_cast_or_null<FloatAttr>(trial.evaluate(sizes[1]));
  if (!small || !large)
    return;
  double value = small.getValueAsDouble(), grown = large.getValueAsDouble();
  Location range = getPlace(op.getScale());
  StringRef leaveOut =
      "leave out 'scale' for D^-0.5; scores as they are have 'scale 1'";
  StringRef meaning =
      "a scale multiplies q · k, and is D^-0.5 without the clause";
  if (!std::isfinite(value) || !std::isfinite(grown))
    report.warning(range, "this scale isn't finite, nor are the scores")
        .note(leaveOut);
  else if (value == 0)
    report.warning(range, "scale 0 leaves nothing of q · k in the scores")
        .note(leaveOut);
  else if (value < 0)
    report
        .warning(range, "with a negative scale, the keys that match a query "
                        "least weigh most")
        .note(meaning);
  else if (grown > value && value > 1)
    report.warning(range, "this scale grows with a dimension's size")
        .note(meaning);
}

/// Whether a value may be as large as an exponential. A division makes it
/// smaller.
static bool isExponential(Value value, SmallPtrSetImpl<Operation *> &seen) {
  Operation *op = value.getDefiningOp();
  if (!op || !seen.insert(op).second)
    return false;
  if (isa<math::ExpOp, math::Exp2Op, math::PowFOp>(op))
    return true;
  if (isa<math::TanhOp, math::ErfOp, math::LogOp, math::Log2Op>(op))
    return false;
  unsigned counted = isa<arith::DivFOp>(op) ? 1 : op->getNumOperands();
  return llvm::any_of(op->getOperands().take_front(counted),
                      [&](Value each) { return isExponential(each, seen); });
}

/// Warns of exponentials that exceed the range of f16, if weights are
/// multiplied by values of f16.
static void checkWeightRange(AttendOp attend, LintReport &report) {
  if (attend.getWeight().empty())
    return;
  llvm::SmallPtrSet<Operation *, 8> seen;
  Operation *yield = attend.getWeight().front().getTerminator();
  auto values = cast<NamedTensorType>(attend.getValue().getType());
  if (!values.getElementType().isF16() ||
      !isExponential(yield->getOperand(0), seen))
    return;
  report
      .warning(getPlace(attend.getWeight()),
               "these weights are rounded to f16, as the values are: below "
               "6e-8 they are 0, from 65520 on infinite")
      .note("bf16 has the range of f32; a softmax keeps its weights within 0 "
            "and 1");
}

/// Warns of constants in clauses that only an attention has.
static void checkOwnConstants(AttendOp attend, LintReport &report) {
  if (isAlwaysZero(attend.getNormalize()))
    report
        .warning(getPlace(attend.getNormalize()), "the output is divided by 0")
        .note("'normalize sum' makes the weights add up to 1");
  if (isAlways(attend.getSink(), [](double value) {
        return std::isnan(value) || (std::isinf(value) && value > 0);
      }))
    report
        .warning(getPlace(attend.getSink()),
                 "this sink leaves nothing to the keys: it isn't finite")
        .note("a sink is a score of its own, such as 0; leave it out for none");
}

void nsacc::nsa::lintConstants(ScoringOpInterface op, LintReport &report) {
  auto attend = dyn_cast<AttendOp>(*op);
  if (isAlways(op.getScore(),
               [](double value) { return std::isinf(value) && value < 0; }))
    report.outcome(op.getScore(), "a score of -inf hides every key")
        .note("hide some with 'where', or with select(…, s, -inf)");
  if (isAlwaysZero(op.getWeight()))
    report
        .warning(getPlace(op.getWeight()),
                 !attend || attend.getNormalize().empty()
                     ? "every weight is 0, and so is the output"
                     : "every weight is 0, and so is the output, or NaN where "
                       "0 is divided by 0")
        .note("a weight is a function of the score, such as silu(s)");
  if (!attend)
    return;
  checkOwnConstants(attend, report);
  checkWeightRange(attend, report);
}

//===----------------------------------------------------------------------===//
// Formulas of the score
//===----------------------------------------------------------------------===//

/// Whether a number is size^-0.5.
static bool isInverseRoot(std::optional<double> number, int64_t size) {
  return number && std::abs(*number * std::sqrt(double(size)) - 1) < 1e-3;
}

/// Sizes to try for the features: two if they have a name, none if a root of
/// their number is no scale, or if the clause names another dimension.
static SmallVector<int64_t, 2> getTriedSizes(Region &clause,
                                             Attribute features) {
  auto named = dyn_cast<NamedDimAttr>(features);
  auto fixed = dyn_cast<IntegerAttr>(features);
  if (fixed && fixed.getInt() <= 1)
    return {};
  bool namesOther = clause
                        .walk([&](DimOp dim) {
                          return named && dim.getDim() == named.getName()
                                     ? WalkResult::advance()
                                     : WalkResult::interrupt();
                        })
                        .wasInterrupted();
  if (namesOther)
    return {};
  return fixed ? SmallVector<int64_t, 2>{fixed.getInt()}
               : SmallVector<int64_t, 2>{64, 256};
}

/// Whether `s` is q · k times size^-0.5, written out or not.
static bool hasUsualScale(ScoringOpInterface op, Attribute features) {
  Region &scale = op.getScale();
  if (scale.empty())
    return true;
  ScalarTrial trial(scale);
  SmallVector<int64_t, 2> sizes = getTriedSizes(scale, features);
  return !sizes.empty() && llvm::all_of(sizes, [&](int64_t size) {
    auto value = dyn_cast_or_null<FloatAttr>(trial.evaluate(size));
    return value && isInverseRoot(value.getValueAsDouble(), size);
  });
}

/// Warns of a score that is divided by the root of its features twice.
static void checkScaledTwice(Region &clause, Attribute features,
                             LintReport &report) {
  if (clause.empty())
    return;
  SmallVector<int64_t, 2> sizes = getTriedSizes(clause, features);
  if (sizes.empty())
    return;
  ScalarTrial trial(clause);
  Value score = clause.getArgument(0);
  for (Operation &op : clause.front()) {
    bool divides = isa<arith::DivFOp>(op);
    if ((!divides && !isa<arith::MulFOp>(op)) ||
        op.getOperand(0) == op.getOperand(1))
      continue;
    Value factor = op.getOperand(op.getOperand(0) == score ? 1 : 0);
    if (op.getOperand(0) != score && (divides || op.getOperand(1) != score))
      continue;
    bool isScale = llvm::all_of(sizes, [&](int64_t size) {
      trial.evaluate(size);
      auto value = dyn_cast_or_null<FloatAttr>(trial.lookup(factor));
      if (!value)
        return false;
      double number = value.getValueAsDouble();
      return isInverseRoot(divides ? 1 / number : number, size);
    });
    if (!isScale)
      continue;
    std::string size = toString(features);
    report
        .warning(getPlace(clause), "'s' is scaled by " + size +
                                       "^-0.5 already, and is so again "
                                       "here")
        .note("leave the factor out; 'scale 1 / " + size +
              "' if both are meant");
    return;
  }
}

/// Warns of a formula that is infinite or NaN at a visible pair; returns false
/// then.
static bool checkFinite(ScoringOpInterface op, Region &clause, StringRef what,
                        LintReport &report) {
  if (clause.empty())
    return true;
  MaskTrial mask(op.getMask(), /*place=*/0);
  ScalarTrial trial(clause);
  for (int64_t query : {64, 5, 1, 0})
    for (int64_t key : {64, 65, 63, 5, 6, 4, 1, 0}) {
      if (mask.isVisible(query, key) != true)
        continue;
      auto isFinite = [](std::optional<double> value) {
        return value && std::isfinite(*value);
      };
      // A score of -inf hides a key.
      auto isWrong = [&](std::optional<double> value) {
        return value &&
               (std::isnan(*value) ||
                (std::isinf(*value) && (*value > 0 || what != "score")));
      };
      // Only certain results count: they hold for any tables.
      auto tryAt = [&](double s) {
        std::optional<double> value;
        for (double element : kTriedElements) {
          trial.setTables(element);
          value = evaluateAt(trial, clause.getContext(), s, query, key);
          if (!isWrong(value))
            break;
        }
        return value;
      };
      std::optional<double> positive = tryAt(1), negative = tryAt(-1);
      if (!isWrong(positive) && !isWrong(negative))
        continue;
      double wrong = isWrong(positive) ? *positive : *negative;
      bool isOfSign = isFinite(positive) || isFinite(negative);
      std::string sign = isFinite(positive)
                             ? " where s is negative, as at s = -1"
                             : " where s is positive, as at s = 1";
      Finding &warning = report.outcome(
          clause, "this " + what + " is " +
                      (std::isnan(wrong) ? "NaN" : "infinite") +
                      (isOfSign ? sign + "," : "") + " for key " + Twine(key) +
                      " of query " + Twine(query) + ", and the output is NaN" +
                      (isOfSign ? " there" : ""));
      if (isOfSign)
        warning.note("scores have both signs: take abs(s), or another " + what +
                     " with select(s > 0, x, y)");
      else
        warning.note("hide such pairs with 'where', or give them another " +
                     what + " with select(condition, x, y)");
      return false;
    }
  return true;
}

/// Warns of a bias that favours far keys.
static void checkDistance(ScoringOpInterface op, LintReport &report) {
  Region &clause = op.getScore();
  if (clause.empty())
    return;
  Attribute tokens = SequenceDims(op.getKey()).tokens;
  constexpr int64_t query = 1 << 16, distances[] = {1, 64, 4096};
  ScalarTrial trial(clause);
  SmallVector<double, 3> values;
  for (int64_t distance : distances)
    if (auto value = evaluateAt(trial, clause.getContext(), /*s=*/0, query,
                                findKey(tokens, query, -distance)))
      values.push_back(*value);
  if (values.size() != std::size(distances))
    return;
  double near = (values[1] - values[0]) / (distances[1] - distances[0]);
  double far = (values[2] - values[1]) / (distances[2] - distances[1]);
  // A logarithm of the distance, for instance, isn't such a bias.
  if (!(near > 0) || !(far > near / 2))
    return;
  report
      .warning(getPlace(clause), "this score grows with the distance of a "
                                 "key: the farthest keys weigh most")
      .note("a bias against far keys falls with i - j, as in 's + slope[h] * "
            "(j - i)'");
}

/// Warns of exponentials without a normalizer.
static void checkExponential(AttendOp attend, LintReport &report) {
  // The weights may be meant without the output.
  if (attend.getWeight().empty() || !attend.getNormalize().empty() ||
      attend.getOutput().use_empty())
    return;
  Value value = attend.getWeight().front().getTerminator()->getOperand(0);
  if (!isa_and_present<math::ExpOp, math::Exp2Op>(value.getDefiningOp()))
    return;
  report
      .warning(getPlace(attend.getWeight()), "these weights are no softmax: "
                                             "nothing makes them add up to 1")
      .note("leave out 'weight' for a softmax, or add 'normalize sum'; "
            "'normalize 1' if their sum is meant");
}

void nsacc::nsa::lintScores(ScoringOpInterface op, LintReport &report) {
  Attribute features = SequenceDims(op.getQuery()).features;
  if (hasUsualScale(op, features)) {
    checkScaledTwice(op.getScore(), features, report);
    checkScaledTwice(op.getWeight(), features, report);
  }
  bool isFinite = checkFinite(op, op.getScore(), "score", report);
  checkFinite(op, op.getWeight(), "weight", report);
  checkDistance(op, report);
  auto attend = dyn_cast<AttendOp>(*op);
  if (attend)
    lintDivisor(attend, report);
  if (op.getWeight().empty() && !op.getScore().empty() && isFinite)
    lintDependence(op, report);
  if (attend)
    checkExponential(attend, report);
}
