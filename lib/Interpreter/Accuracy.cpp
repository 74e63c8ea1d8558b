//===- Accuracy.cpp - Whether results are as exact as they must be --------===//
//
// docs/Numerics.md, "Compiled targets".
//
//===----------------------------------------------------------------------===//

#include "nsacc/Interpreter/Accuracy.h"
#include "NSA/IR/NSAOps.h"
#include "Traced.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <set>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::interpreter;

/// How many random roundings of the formula are tried before a result is wrong:
/// the first numbers are enough for most. Each rounding only widens the bound,
/// so the verdict is always that of the last number.
static constexpr unsigned numbersOfRuns[] = {1, 3, 20};
/// A compiled error may be this many times that of the formula in f32.
static constexpr double mostTimes = 2;
/// An exponential below about 2^-120 may be 0: such scores are ties.
static constexpr double tooSmall = 0x1p-114;

class AccuracyChecker::State {
public:
  State(nsa::KernelOp kernel, ArrayRef<Tensor> inputs, unsigned threads,
        TracedRun exact)
      : kernel(kernel), inputs(inputs), threads(threads),
        exact(std::move(exact)) {}

  std::vector<Accuracy> check(ArrayRef<Tensor> results, unsigned runs);

  nsa::KernelOp kernel;
  std::vector<Tensor> inputs;
  unsigned threads;
  TracedRun exact;
  int64_t usefulOperations = 0;

private:
  void runEagerly(unsigned runs);
  void findUndecidedRows();
  bool hasQueryRows(nsa::NamedTensorType type) const;
  Accuracy check(unsigned index, const Tensor &result);
  void checkReals(unsigned index, const Tensor &result, Accuracy &accuracy);
  void checkIntegers(unsigned index, const Tensor &result, Accuracy &accuracy);
  std::string describeScores(nsa::TopKOp topk, int64_t line, int64_t found,
                             int64_t wanted) const;
  bool mayBeSelected(nsa::TopKOp topk, int64_t line,
                     ArrayRef<int64_t> found) const;

  unsigned tried = 0;
  std::vector<TracedRun> eager;
  /// Dimensions of query rows, and which of the rows rounding decides on.
  SmallVector<Attribute> rowDims;
  std::vector<bool> isUndecided;
};

//===----------------------------------------------------------------------===//
// Rows whose selections depend on rounding
//===----------------------------------------------------------------------===//

void AccuracyChecker::State::runEagerly(unsigned runs) {
  for (; tried < runs; ++tried) {
    // Where rounding makes an error of it, it says nothing.
    if (auto run = runTraced(
            kernel, inputs,
            {.roundStorage = true, .threads = threads, .eagerSeed = tried}))
      eager.push_back(std::move(*run));
    else
      llvm::consumeError(run.takeError());
  }
}

void AccuracyChecker::State::findUndecidedRows() {
  kernel.walk([&](nsa::TopKOp topk) {
    ArrayRef<Attribute> dims = topk.getResult().getType().getDims();
    rowDims.assign(dims.begin(), dims.end() - 1);
    const SelectionValue &wanted = exact.context.getSelection(topk.getResult());
    int64_t rows = exact.context.environment.getRows(dims).getNumRows();
    isUndecided.resize(rows);
    for (const TracedRun &run : eager) {
      const SelectionValue &found = run.context.getSelection(topk.getResult());
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t head = 0; head < wanted.heads; ++head)
          if (wanted.get(row, head) != found.get(row, head))
            isUndecided[row] = true;
    }
  });
}

bool AccuracyChecker::State::hasQueryRows(nsa::NamedTensorType type) const {
  return !rowDims.empty() && type.getDims().size() >= rowDims.size() &&
         type.getDims().take_front(rowDims.size()) == ArrayRef(rowDims);
}

//===----------------------------------------------------------------------===//
// Reals
//===----------------------------------------------------------------------===//

/// Half the spacing of numbers around 1, and what is too small to matter: an
/// exponential below about 2^-120 may be 0.
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

/// Finite, NaN, or an infinity.
static int classify(double value) {
  if (std::isnan(value))
    return 1;
  return std::isinf(value) ? (value > 0 ? 2 : 3) : 0;
}

/// Results that stand next to each other in one row of one head.
static int64_t getInnerSize(nsa::NamedTensorType type,
                            ArrayRef<int64_t> shape) {
  int64_t leading = type.isRagged() ? 2 : 3;
  return int64_t(type.getRank()) > leading ? shape.back() : 1;
}

void AccuracyChecker::State::checkReals(unsigned index, const Tensor &result,
                                        Accuracy &accuracy) {
  auto type = cast<nsa::NamedTensorType>(kernel.getResultTypes()[index]);
  ArrayRef<int64_t> shape = result.getShape();
  std::vector<double> found = result.toReals();
  std::vector<double> wanted = exact.results[index].toReals();
  SmallVector<std::vector<double>> others;
  for (const TracedRun &run : eager)
    others.push_back(run.results[index].toReals());
  auto [roundoff, smallest] = getPrecision(result.getDType());
  int64_t inner = std::max<int64_t>(getInnerSize(type, shape), 1);
  int64_t size = found.size();
  double worst = 0;
  for (int64_t begin = 0; begin < size; begin += inner) {
    if (hasQueryRows(type) &&
        isUndecided[begin * int64_t(isUndecided.size()) / size])
      continue;
    double eagerError = 0, largest = 0;
    for (int64_t i = begin; i < begin + inner; ++i) {
      if (classify(wanted[i]))
        continue;
      largest = std::max(largest, std::fabs(wanted[i]));
      for (const std::vector<double> &other : others)
        if (!classify(other[i]))
          eagerError = std::max(eagerError, std::fabs(other[i] - wanted[i]));
    }
    accuracy.eagerError = std::max(accuracy.eagerError, eagerError);
    for (int64_t i = begin; i < begin + inner; ++i) {
      auto complain = [&](double excess, const Twine &why) {
        accuracy.isWithin = false;
        if (excess <= worst)
          return;
        worst = excess;
        accuracy.message =
            ("'" + accuracy.name + "' at " + describePosition(i, shape) +
             llvm::formatv(" is {0:e7}, the oracle says {1:e7}", found[i],
                           wanted[i])
                 .str() +
             why)
                .str();
      };
      int kind = classify(found[i]);
      if (kind || classify(wanted[i])) {
        bool isExpected =
            kind == classify(wanted[i]) ||
            llvm::any_of(others, [&](const std::vector<double> &other) {
              return kind == classify(other[i]);
            });
        if (!isExpected)
          complain(HUGE_VAL, "");
        continue;
      }
      double error = std::fabs(found[i] - wanted[i]);
      accuracy.error = std::max(accuracy.error, error);
      double bound = mostTimes * eagerError +
                     4 * roundoff * std::fabs(wanted[i]) +
                     8 * 0x1p-24 * largest + 4 * smallest;
      if (error > bound)
        complain(
            error / bound,
            llvm::formatv("; error {0:e2}, bound {1:e2}", error, bound).str());
    }
  }
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// Whether `found` is a selection that rounding the scores of line `line` may
/// lead to: blocks that took another's place have nearly its score.
bool AccuracyChecker::State::mayBeSelected(nsa::TopKOp topk, int64_t line,
                                           ArrayRef<int64_t> found) const {
  const TensorValue &scores = exact.context.getTensor(topk.getImportance());
  const SelectionValue &selection =
      exact.context.getSelection(topk.getResult());
  int64_t width = scores.shape.back();
  std::set<int64_t> wanted, chosen;
  for (int64_t block :
       selection.get(line / selection.heads, line % selection.heads))
    if (block >= 0)
      wanted.insert(block);
  for (auto [place, block] : llvm::enumerate(found)) {
    if (block < -1 || block >= width)
      return false;
    bool ascends = place == 0 || block < 0 || found[place - 1] < block;
    if (!ascends || (block >= 0 && place > 0 && found[place - 1] < 0))
      return false;
    if (block >= 0)
      chosen.insert(block);
  }
  if (topk.getShareTokens() != 1 || topk.getShareHeads() != 1)
    return true;
  auto getScore = [&](const TensorValue &of, int64_t block) {
    return of.reals[line * width + block];
  };
  double error = 0;
  for (const TracedRun &run : eager)
    for (int64_t block = 0; block < width; ++block) {
      double moved = std::fabs(
          getScore(run.context.getTensor(topk.getImportance()), block) -
          getScore(scores, block));
      if (std::isfinite(moved))
        error = std::max(error, moved);
    }
  for (int64_t in : chosen)
    for (int64_t out : wanted)
      if (!wanted.count(in) && !chosen.count(out) &&
          std::fabs(getScore(scores, in) - getScore(scores, out)) >
              2 * mostTimes * error + tooSmall)
        return false;
  return true;
}

/// What a wrong block and the right one score, exactly and eagerly.
std::string AccuracyChecker::State::describeScores(nsa::TopKOp topk,
                                                   int64_t line, int64_t found,
                                                   int64_t wanted) const {
  std::string text;
  auto describe = [&](const TracedRun &run) {
    const TensorValue &scores = run.context.getTensor(topk.getImportance());
    int64_t width = scores.shape.back();
    for (int64_t block : {found, wanted})
      if (block >= 0 && block < width)
        text += llvm::formatv(" {0:e9}", scores.reals[line * width + block]);
  };
  text = "; exact scores";
  describe(exact);
  if (!eager.empty()) {
    text += ", eager";
    describe(eager.front());
  }
  return text;
}

void AccuracyChecker::State::checkIntegers(unsigned index, const Tensor &result,
                                           Accuracy &accuracy) {
  std::vector<int64_t> found = result.toIntegers();
  std::vector<int64_t> wanted = exact.results[index].toIntegers();
  auto type = cast<nsa::NamedTensorType>(kernel.getResultTypes()[index]);
  ArrayRef<int64_t> shape = result.getShape();
  nsa::TopKOp topk;
  Operation *terminator = kernel.getBody().front().getTerminator();
  if (auto indices =
          terminator->getOperand(index).getDefiningOp<nsa::IndicesOp>())
    topk = indices.getSelection().getDefiningOp<nsa::TopKOp>();
  int64_t size = found.size();
  for (int64_t i = 0; i < size; ++i) {
    if (found[i] == wanted[i])
      continue;
    int64_t line = i / shape.back() * shape.back();
    if (topk && hasQueryRows(type) &&
        isUndecided[i * int64_t(isUndecided.size()) / size] &&
        mayBeSelected(topk, i / shape.back(),
                      ArrayRef(found).slice(line, shape.back())))
      continue;
    accuracy.isWithin = false;
    accuracy.message = "'" + accuracy.name + "' at " +
                       describePosition(i, shape) + " is " +
                       std::to_string(found[i]) + ", the oracle says " +
                       std::to_string(wanted[i]);
    if (topk && hasQueryRows(type))
      accuracy.message +=
          describeScores(topk, i / shape.back(), found[i], wanted[i]);
    return;
  }
}

//===----------------------------------------------------------------------===//
// All results
//===----------------------------------------------------------------------===//

Accuracy AccuracyChecker::State::check(unsigned index, const Tensor &result) {
  Accuracy accuracy;
  accuracy.name = kernel.getResultName(index);
  accuracy.rows = isUndecided.size();
  accuracy.undecidedRows = llvm::count(isUndecided, true);
  if (result.getNumElements() == 0)
    return accuracy;
  if (isReal(result.getDType()))
    checkReals(index, result, accuracy);
  else
    checkIntegers(index, result, accuracy);
  return accuracy;
}

std::vector<Accuracy> AccuracyChecker::State::check(ArrayRef<Tensor> results,
                                                    unsigned runs) {
  runEagerly(runs);
  findUndecidedRows();
  std::vector<Accuracy> accuracies;
  for (auto [index, result] : llvm::enumerate(results))
    accuracies.push_back(check(index, result));
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
  return state->exact.results;
}

std::vector<Accuracy> AccuracyChecker::check(ArrayRef<Tensor> results) {
  auto isWithin = [](const Accuracy &accuracy) { return accuracy.isWithin; };
  std::vector<Accuracy> accuracies;
  for (unsigned runs : numbersOfRuns) {
    accuracies = state->check(results, runs);
    if (llvm::all_of(accuracies, isWithin))
      break;
  }
  return accuracies;
}
