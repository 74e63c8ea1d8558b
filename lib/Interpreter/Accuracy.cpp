//===- Accuracy.cpp - Error bounds of results -----------------------------===//
//
// docs/Numerics.md, "Compiled targets".
//
//===----------------------------------------------------------------------===//

#include "nsacc/Interpreter/Accuracy.h"
#include "EagerErrors.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <set>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::interpreter;

/// The number of random roundings of the formula that are tried before a result
/// is wrong: the first numbers are enough for most results. Each rounding only
/// widens the bound, so the verdict is always that of the last number.
static constexpr unsigned numbersOfEvaluations[] = {1, 3, 20};
/// A compiled error may be this many times the formula's error in f32.
static constexpr double mostTimes = 2;
/// An exponential below about 2^-120 may be 0: such scores are ties.
static constexpr double tooSmall = 0x1p-114;

class AccuracyChecker::State {
public:
  State(nsa::KernelOp kernel, ArrayRef<Tensor> inputs, unsigned threads,
        TracedRun exactRun)
      : kernel(kernel), inputs(inputs), exact(std::move(exactRun)),
        expected(toCallerOrder(kernel, exact.results)),
        eager(kernel, this->inputs, threads, exact) {}

  void evaluate(unsigned times);
  std::vector<Accuracy> check(ArrayRef<Tensor> results);

  nsa::KernelOp kernel;
  std::vector<Tensor> inputs;
  TracedRun exact;
  /// Results with dimensions in the program's order.
  std::vector<Tensor> expected;
  EagerErrors eager;
  int64_t usefulOperations = 0;

private:
  /// The elements beyond their bounds.
  struct Failures {
    bool outsideOfRows = false;
    std::vector<bool> rows;
    /// Rows by findSelectingRow.
    std::vector<bool> selecting;
  };

  /// These functions take results with dimensions in the order of the kernel's
  /// types.
  Accuracy check(unsigned index, const Tensor &result);
  void checkReals(unsigned index, const Tensor &result, Accuracy &accuracy);
  void checkIntegers(unsigned index, const Tensor &result, Accuracy &accuracy);
  bool isUndecided(unsigned result, int64_t element, int64_t numElements) const;
  void noteFailure(unsigned result, int64_t element, int64_t numElements);
  std::string describeScores(nsa::TopKOp topk, int64_t line, int64_t found,
                             int64_t wanted) const;
  bool scoreAlike(nsa::TopKOp topk, int64_t line, int64_t in,
                  int64_t out) const;
  bool mayBeSelected(Value whole, ArrayRef<nsa::TopKOp> topks, int64_t line,
                     ArrayRef<int64_t> found) const;

  Failures failures;
};

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Evaluates the failed rows, if rows can be evaluated without the others.
void AccuracyChecker::State::evaluate(unsigned times) {
  bool isFirst = eager.getNumEvaluations() == 0;
  bool needsAll = isFirst || failures.outsideOfRows;
  for (; times; --times)
    eager.evaluate(needsAll ? nullptr : &failures.rows,
                   isFirst ? nullptr : &failures.selecting);
}

/// Whether rounding decides which blocks the element's row selects.
bool AccuracyChecker::State::isUndecided(unsigned result, int64_t element,
                                         int64_t numElements) const {
  std::optional<int64_t> row =
      eager.findSelectingRow(eager.getType(result), element, numElements);
  return row && eager.getUndecidedRows()[*row];
}

void AccuracyChecker::State::noteFailure(unsigned result, int64_t element,
                                         int64_t numElements) {
  nsa::NamedTensorType type = eager.getType(result);
  if (std::optional<int64_t> row =
          eager.findSelectingRow(type, element, numElements))
    failures.selecting[*row] = true;
  if (std::optional<int64_t> row =
          eager.getRows().find(type, element, numElements))
    failures.rows[*row] = true;
  else
    failures.outsideOfRows = true;
}

//===----------------------------------------------------------------------===//
// Reals
//===----------------------------------------------------------------------===//

/// Half the spacing of numbers around 1, and the size below which numbers don't
/// matter: an exponential below about 2^-120 may be 0.
static std::pair<double, double> getPrecision(DType dtype) {
  switch (dtype) {
  case DType::F16:
    return {0x1p-11, 0x1p-24};
  case DType::BF16:
    return {0x1p-8, 0x1p-116};
  default:
    return {0x1p-24, 0x1p-116};
  }
}

void AccuracyChecker::State::checkReals(unsigned index, const Tensor &result,
                                        Accuracy &accuracy) {
  ArrayRef<int64_t> shape = result.getShape();
  std::vector<double> found = result.toReals();
  ArrayRef<double> wanted = eager.getExact(index);
  auto [roundoff, smallest] = getPrecision(result.getDType());
  int64_t inLine = getElementsInLine(eager.getType(index), shape);
  int64_t size = found.size();
  double worst = 0, squaredError = 0, squaredSize = 0;
  for (int64_t begin = 0; begin < size; begin += inLine) {
    if (isUndecided(index, begin, size))
      continue;
    double largest = 0;
    for (double x : wanted.slice(begin, inLine))
      if (classify(x) == Kind::Finite)
        largest = std::max(largest, std::fabs(x));
    double eagerError = eager.getError(index, begin / inLine);
    accuracy.eagerError = std::max(accuracy.eagerError, eagerError);
    for (int64_t i = begin; i < begin + inLine; ++i) {
      auto complain = [&](double excess, const Twine &why) {
        accuracy.isWithin = false;
        noteFailure(index, i, size);
        if (excess <= worst)
          return;
        worst = excess;
        accuracy.message =
            ("'" + accuracy.name + "' at " +
             describePosition(i, shape, kernel.getResultOrder(index)) +
             llvm::formatv(" is {0:e7}, the oracle says {1:e7}", found[i],
                           wanted[i])
                 .str() +
             why)
                .str();
      };
      // Values that the result's type can't hold are infinite in it.
      Kind kind = classify(found[i]);
      Kind wantedKind = classify(roundTo(result.getDType(), wanted[i]));
      if (kind != Kind::Finite || wantedKind != Kind::Finite) {
        if (kind == wantedKind)
          continue;
        if (!eager.leadsTo(kind, index, i))
          complain(HUGE_VAL, "");
        else if (wantedKind == Kind::Finite)
          ++accuracy.overflows;
        continue;
      }
      double error = std::fabs(found[i] - wanted[i]);
      accuracy.error = std::max(accuracy.error, error);
      squaredError += error * error;
      squaredSize += wanted[i] * wanted[i];
      double bound = mostTimes * eagerError +
                     4 * roundoff * std::fabs(wanted[i]) +
                     8 * 0x1p-24 * largest + 4 * smallest;
      if (error > bound)
        complain(
            error / bound,
            llvm::formatv("; error {0:e2}, bound {1:e2}", error, bound).str());
    }
  }
  if (squaredError > 0)
    accuracy.relativeRms = std::sqrt(squaredError / squaredSize);
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// Whether blocks `in` and `out` of line `line` have nearly the same score.
bool AccuracyChecker::State::scoreAlike(nsa::TopKOp topk, int64_t line,
                                        int64_t in, int64_t out) const {
  const TensorValue &scores = exact.context.getTensor(topk.getImportance());
  int64_t width = scores.shape.back();
  if (in >= width || out >= width)
    return false;
  auto getScore = [&](int64_t block) {
    return scores.reals[line * width + block];
  };
  return std::fabs(getScore(in) - getScore(out)) <=
         2 * mostTimes * eager.getScoreError(topk, line) + tooSmall;
}

/// Whether `found` is a possible selection, or union with one, if the scores of
/// line `line` are rounded: replaced blocks must have nearly the same score as
/// their replacement.
bool AccuracyChecker::State::mayBeSelected(Value whole,
                                           ArrayRef<nsa::TopKOp> topks,
                                           int64_t line,
                                           ArrayRef<int64_t> found) const {
  const SelectionValue &selection = exact.context.getSelection(whole);
  std::set<int64_t> wanted, chosen;
  for (int64_t block :
       selection.get(line / selection.heads, line % selection.heads))
    if (block >= 0)
      wanted.insert(block);
  for (auto [place, block] : llvm::enumerate(found)) {
    if (block < -1)
      return false;
    bool ascends = place == 0 || block < 0 || found[place - 1] < block;
    if (!ascends || (block >= 0 && place > 0 && found[place - 1] < 0))
      return false;
    if (block >= 0)
      chosen.insert(block);
  }
  for (nsa::TopKOp topk : topks)
    if (topk.getShareTokens() != 1 || topk.getShareHeads() != 1 ||
        exact.context.getSelection(topk.getResult()).heads != selection.heads)
      return true;
  for (int64_t in : chosen)
    for (int64_t out : wanted)
      if (!wanted.count(in) && !chosen.count(out) &&
          llvm::none_of(topks, [&](nsa::TopKOp topk) {
            return scoreAlike(topk, line, in, out);
          }))
        return false;
  return true;
}

/// The scores of a wrong block and the right one, and the error that rounding
/// makes in them.
std::string AccuracyChecker::State::describeScores(nsa::TopKOp topk,
                                                   int64_t line, int64_t found,
                                                   int64_t wanted) const {
  std::string text = "; exact scores";
  const TensorValue &scores = exact.context.getTensor(topk.getImportance());
  int64_t width = scores.shape.back();
  for (int64_t block : {found, wanted})
    if (block >= 0 && block < width)
      text += llvm::formatv(" {0:e9}", scores.reals[line * width + block]);
  return text + llvm::formatv(", eager errors to {0:e2}",
                              eager.getScoreError(topk, line))
                    .str();
}

/// The selections that an integer is computed from.
static SmallVector<nsa::TopKOp> findSelections(Value integers) {
  llvm::SetVector<nsa::TopKOp> found;
  SmallVector<Value> values = {integers};
  llvm::DenseSet<Value> seen;
  while (!values.empty()) {
    Value value = values.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second)
      continue;
    if (auto topk = dyn_cast<nsa::TopKOp>(op))
      found.insert(topk);
    else
      llvm::append_range(values, op->getOperands());
  }
  return found.takeVector();
}

void AccuracyChecker::State::checkIntegers(unsigned index, const Tensor &result,
                                           Accuracy &accuracy) {
  std::vector<int64_t> found = result.toIntegers();
  std::vector<int64_t> wanted = exact.results[index].toIntegers();
  ArrayRef<int64_t> shape = result.getShape();
  Operation *terminator = kernel.getBody().front().getTerminator();
  Value returned = terminator->getOperand(index);
  auto indices = returned.getDefiningOp<nsa::IndicesOp>();
  SmallVector<nsa::TopKOp> topks = findSelections(returned);
  auto isPart = [&](nsa::TopKOp topk) {
    return indices && llvm::is_contained(nsa::getParts(indices.getSelection()),
                                         topk.getResult());
  };
  bool areSelected = llvm::all_of(topks, isPart);
  int64_t size = found.size();
  bool isOfRows =
      eager.findSelectingRow(eager.getType(index), 0, size).has_value();
  // Whether element `i` belongs to a different selection that is also right.
  auto mayDiffer = [&](int64_t i) {
    if (topks.empty() || !isUndecided(index, i, size))
      return false;
    // Integers that are computed from indices are left out, as reals are.
    if (!areSelected)
      return true;
    int64_t width = shape.back(), line = i / width;
    return mayBeSelected(indices.getSelection(), topks, line,
                         ArrayRef(found).slice(line * width, width));
  };
  for (int64_t i = 0; i < size; ++i) {
    if (found[i] == wanted[i] || mayDiffer(i))
      continue;
    noteFailure(index, i, size);
    if (!accuracy.isWithin)
      continue;
    accuracy.isWithin = false;
    accuracy.message =
        "'" + accuracy.name + "' at " +
        describePosition(i, shape, kernel.getResultOrder(index)) + " is " +
        std::to_string(found[i]) + ", the oracle says " +
        std::to_string(wanted[i]);
    if (areSelected && topks.size() == 1 && isOfRows)
      accuracy.message +=
          describeScores(topks.front(), i / shape.back(), found[i], wanted[i]);
  }
}

//===----------------------------------------------------------------------===//
// All results
//===----------------------------------------------------------------------===//

Accuracy AccuracyChecker::State::check(unsigned index, const Tensor &result) {
  Accuracy accuracy;
  accuracy.name = kernel.getResultName(index);
  accuracy.rows = eager.getUndecidedRows().size();
  accuracy.undecidedRows = llvm::count(eager.getUndecidedRows(), true);
  if (result.getNumElements() == 0)
    return accuracy;
  if (isReal(result.getDType()))
    checkReals(index, result, accuracy);
  else
    checkIntegers(index, result, accuracy);
  return accuracy;
}

std::vector<Accuracy> AccuracyChecker::State::check(ArrayRef<Tensor> results) {
  failures.outsideOfRows = false;
  failures.rows.assign(eager.getRows().getNumRows(), false);
  failures.selecting.assign(eager.getUndecidedRows().size(), false);
  std::vector<Accuracy> accuracies;
  for (auto [index, result] : llvm::enumerate(results))
    accuracies.push_back(
        check(index, result.permuteBack(kernel.getResultOrder(index))));
  return accuracies;
}

AccuracyChecker::AccuracyChecker(std::unique_ptr<State> state)
    : state(std::move(state)) {}
AccuracyChecker::AccuracyChecker(AccuracyChecker &&) = default;
AccuracyChecker::~AccuracyChecker() = default;

llvm::Expected<AccuracyChecker> AccuracyChecker::create(nsa::KernelOp kernel,
                                                        ArrayRef<Tensor> inputs,
                                                        unsigned threads) {
  std::atomic<int64_t> operations = 0;
  llvm::Expected<TracedRun> exact = runTraced(
      kernel, inputs,
      {.threads = threads, .keepF64 = true, .usefulOperations = &operations});
  if (!exact)
    return exact.takeError();
  auto state =
      std::make_unique<State>(kernel, inputs, threads, std::move(*exact));
  state->usefulOperations = operations;
  return AccuracyChecker(std::move(state));
}

int64_t AccuracyChecker::getUsefulOperations() const {
  return state->usefulOperations;
}

ArrayRef<Tensor> AccuracyChecker::getExpected() const {
  return state->expected;
}

std::vector<Accuracy> AccuracyChecker::check(ArrayRef<Tensor> results) {
  auto isWithin = [](const Accuracy &accuracy) { return accuracy.isWithin; };
  std::vector<Accuracy> accuracies;
  // The first evaluation covers all rows, whichever results it is for.
  unsigned done = std::min(state->eager.getNumEvaluations(), 1u);
  for (unsigned number : numbersOfEvaluations) {
    state->evaluate(number - done);
    done = number;
    accuracies = state->check(results);
    if (llvm::all_of(accuracies, isWithin))
      break;
  }
  return accuracies;
}
