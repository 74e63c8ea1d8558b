//===- LintScoreTrials.cpp - Trials of scores and divisors ----------------===//

#include "NSA/Analysis/LintChecks.h"
#include "NSA/Analysis/ScalarTrial.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace mlir;
using namespace nsacc::nsa;

/// Whether both are known and equal.
static bool isSameNumber(Attribute one, Attribute other) {
  auto left = dyn_cast_or_null<FloatAttr>(one),
       right = dyn_cast_or_null<FloatAttr>(other);
  if (left && right) // 0 and -0 are equal
    return left.getValueAsDouble() == right.getValueAsDouble();
  return one && one == other;
}

/// Whether the score depends on `s`, for any pair.
static bool usesScore(Region &clause) {
  Builder builder(clause.getContext());
  llvm::MapVector<Value, SmallVector<Attribute>> found;
  ScalarTrial trial(clause);
  SmallVector<Attribute> arguments(clause.getNumArguments());
  for (double s : kTriedScores) {
    arguments[0] = builder.getF32FloatAttr(s);
    trial.evaluate(arguments);
    for (Operation &op : clause.front().without_terminator())
      found[op.getResult(0)].push_back(trial.lookup(op.getResult(0)));
  }
  llvm::DenseSet<Value> users = {clause.getArgument(0)};
  for (auto &[value, numbers] : found) {
    bool reads =
        llvm::any_of(value.getDefiningOp()->getOperands(),
                     [&](Value operand) { return users.contains(operand); });
    if (reads && !llvm::all_of(numbers, [&](Attribute number) {
          return isSameNumber(numbers.front(), number);
        }))
      users.insert(value);
  }
  return users.contains(clause.front().getTerminator()->getOperand(0));
}

/// The scores of a pair for rising `s`; empty if one isn't certain.
static SmallVector<double> getScores(ScalarTrial &trial, MLIRContext *context,
                                     int64_t query, int64_t key) {
  SmallVector<double> scores;
  for (double s : kTriedScores)
    if (auto score = evaluateAt(trial, context, s, query, key))
      scores.push_back(*score);
    else
      return {};
  return scores;
}

/// Warns of a score that is 0 for keys that should probably be hidden; tells
/// whether it did.
static bool checkZeros(ScoringOpInterface op, LintReport &report) {
  Region &clause = op.getScore();
  Attribute tokens = SequenceDims(op.getKey()).tokens;
  // A product that fades to 0 isn't a mask.
  if (clause.getOps<arith::SelectOp>().empty())
    return false;
  constexpr int64_t query = 3 << 14, far = 1 << 14,
                    near[] = {-1, 0, -64, -512, 1, 64};
  ScalarTrial trial(clause);
  MaskTrial mask(op.getMask(), /*place=*/0);
  enum Kind { Hidden, Zero, Other };
  auto classify = [&](int64_t at) {
    if (mask.isVisible(query, at) != true)
      return Hidden;
    for (double element : kTriedElements) {
      trial.setTables(element);
      SmallVector<double> scores = getScores(trial, op.getContext(), query, at);
      if (scores.empty() ||
          !llvm::all_of(scores, [](double score) { return score == 0; }))
        return Other;
    }
    return Zero;
  };
  if (llvm::none_of(near, [&](int64_t distance) {
        return classify(findKey(tokens, query, distance)) == Other;
      }))
    return false;
  for (int64_t distance : {far, -far}) {
    int64_t at = findKey(tokens, query, distance);
    if (classify(at) != Zero)
      continue;
    report
        .warning(getPlace(op.getScore()),
                 "a score of 0 hides no key: key " + Twine(at) + " of query " +
                     Twine(query) + " has weight exp(0)")
        .note("hide keys with 'where', or with select(…, s, -inf)");
    return true;
  }
  return false;
}

/// Warns of a score that falls as s grows.
static void checkFalling(ScoringOpInterface op, LintReport &report) {
  ScalarTrial trial(op.getScore());
  MaskTrial mask(op.getMask(), /*place=*/0);
  bool isVisible = false;
  for (int64_t query : {3 << 14, 64, 5})
    for (int64_t key : {query, query + 1, query - 1, query - 4, query - 512,
                        query - (1 << 14)}) {
      if (key < 0 || mask.isVisible(query, key) == false)
        continue;
      isVisible = true;
      for (double element : kTriedElements) {
        trial.setTables(element);
        SmallVector<double> scores =
            getScores(trial, op.getContext(), query, key);
        // For large scores, f32 can't show a difference beside a bias.
        if (scores.empty() || !llvm::is_sorted(llvm::reverse(scores)) ||
            !(scores.front() > scores.back()))
          return;
      }
    }
  if (isVisible)
    report
        .warning(getPlace(op.getScore()),
                 "this score falls as s grows: the keys that match a "
                 "query least weigh most")
        .note("a score grows with s, as in 's - x'");
}

void nsacc::nsa::lintDependence(ScoringOpInterface op, LintReport &report) {
  // There already is a warning for a score of -inf.
  SmallVector<Attribute> arguments(op.getScore().getNumArguments());
  arguments[0] = Builder(op.getContext()).getF32FloatAttr(1);
  auto score = dyn_cast_or_null<FloatAttr>(
      ScalarTrial(op.getScore()).evaluate(arguments));
  if (score && std::isinf(score.getValueAsDouble()))
    return;
  if (!usesScore(op.getScore()))
    report
        .warning(getPlace(op.getScore()),
                 "nothing of q · k is left in this score")
        .note("'s' is q · k, scaled: a bias is added to it, as in 's + x'; "
              "weights without it are 'weight exp(x) normalize sum'");
  else if (!checkZeros(op, report) && op.getScale().empty())
    checkFalling(op, report);
}

/// Whether a divisor is 0 or NaN for a sum of weights, whatever tables hold.
static bool isNoDivisor(ScalarTrial &trial, double sum, int64_t visible,
                        int64_t query, int64_t size) {
  Builder builder(trial.getContext());
  auto at = [&](int64_t value) { return builder.getIndexAttr(value); };
  return llvm::all_of(kTriedElements, [&](double element) {
    trial.setTables(element);
    // Arguments: the sum, visible keys, batch row, head, the query's row and
    // position.
    auto value = dyn_cast_or_null<FloatAttr>(
        trial.evaluate({builder.getF32FloatAttr(sum), at(visible), at(0), at(0),
                        at(query), at(query)},
                       size));
    return value && (value.getValueAsDouble() == 0 ||
                     std::isnan(value.getValueAsDouble()));
  });
}

static constexpr int64_t kDividedQueries[] = {0, 1, 2, 5}, kDividedKeys = 23;
static constexpr double kDividedSums[] = {0.75, 3};

/// Warns of a divisor that is 0 whatever the weights are; tells whether it did.
static bool checkDivisor(AttendOp op, LintReport &report) {
  // With windows and selected blocks, the number of keys that a query sees
  // isn't known.
  if (op.getSelection() || !isa<NamedDimAttr>(SequenceDims(op.getKey()).tokens))
    return false;
  MaskTrial mask(op.getMask(), /*place=*/0);
  ScalarTrial trial(op.getNormalize());
  for (int64_t query : kDividedQueries) {
    int64_t visible = 0;
    bool isKnown = true;
    for (int64_t key = 0; key < kDividedKeys; ++key) {
      std::optional<bool> one = mask.isVisible(query, key);
      isKnown &= one.has_value();
      visible += one == true;
    }
    if (!isKnown || visible == 0 ||
        !llvm::all_of(kDividedSums, [&](double sum) {
          return isNoDivisor(trial, sum, visible, query, kDividedKeys);
        }))
      continue;
    report
        .outcome(op.getNormalize(),
                 "the output of query " + Twine(query) +
                     " is divided by 0, or by NaN, though it sees " +
                     Twine(visible) + (visible == 1 ? " key" : " keys"))
        .note("keep the divisor above 0, as in 'normalize max(x, 1)'");
    return true;
  }
  return false;
}

/// Whether a query may see keys, and all of those weigh 0 at the score `s`,
/// whatever tables hold.
static bool isWeightless(AttendOp op, MaskTrial &mask, double s,
                         int64_t query) {
  ScalarTrial weight(op.getWeight());
  bool seesAny = false;
  for (int64_t key = 0; key < kDividedKeys; ++key) {
    if (mask.isVisible(query, key) == false)
      continue;
    seesAny = true;
    for (double element : kTriedElements) {
      weight.setTables(element);
      if (evaluateAt(weight, op.getContext(), s, query, key) != 0.0)
        return false;
    }
  }
  return seesAny;
}

/// Warns of a divisor that is 0 for a query whose keys all weigh 0.
static void checkWeightless(AttendOp op, LintReport &report) {
  // Exponentials of scores that a model has aren't rounded to 0.
  constexpr double scores[] = {-1, 1, -4, 4};
  constexpr int64_t counts[] = {1, 7};
  MaskTrial mask(op.getMask(), /*place=*/0);
  ScalarTrial trial(op.getNormalize());
  for (int64_t query : kDividedQueries) {
    auto isWrong = [&](double sum) {
      return llvm::all_of(counts, [&](int64_t visible) {
        return isNoDivisor(trial, sum, visible, query, kDividedKeys);
      });
    };
    if (!isWrong(0) || llvm::any_of(kDividedSums, isWrong))
      continue;
    const double *found = llvm::find_if(
        scores, [&](double s) { return isWeightless(op, mask, s, query); });
    if (found == std::end(scores))
      continue;
    report
        .warning(getPlace(op.getNormalize()),
                 "the output is NaN for a query whose keys all have a weight "
                 "of 0, as at s = " +
                     Twine(int64_t(*found)) + ": 0 is divided by 0")
        .note("keep the divisor above 0, as in 'normalize sum + 1e-6'");
    return;
  }
}

void nsacc::nsa::lintDivisor(AttendOp op, LintReport &report) {
  // There already are warnings for a divisor or weights that are always 0.
  if (op.getNormalize().empty() || ScalarTrial(op.getNormalize()).evaluate() ||
      isAlwaysZero(op.getWeight()) || checkDivisor(op, report))
    return;
  checkWeightless(op, report);
}
