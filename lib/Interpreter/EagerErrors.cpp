//===- EagerErrors.cpp - Effect of rounding on a formula ------------------===//

#include "EagerErrors.h"
#include "llvm/ADT/Sequence.h"
#include <cmath>

using namespace mlir;
using namespace nsacc;
using namespace nsacc::interpreter;

Kind nsacc::interpreter::classify(double value) {
  if (std::isnan(value))
    return Kind::NaN;
  if (std::isinf(value))
    return value > 0 ? Kind::Infinity : Kind::MinusInfinity;
  return Kind::Finite;
}

/// Number of channels of one query and head.
int64_t nsacc::interpreter::getElementsInLine(nsa::NamedTensorType type,
                                              ArrayRef<int64_t> shape) {
  int64_t leading = type.isRagged() ? 2 : 3;
  bool hasChannels = int64_t(type.getRank()) > leading;
  return hasChannels ? std::max<int64_t>(shape.back(), 1) : 1;
}

EagerErrors::EagerErrors(nsa::KernelOp kernel, ArrayRef<Tensor> inputs,
                         unsigned threads, const TracedRun &exact)
    : kernel(kernel), inputs(inputs), threads(threads), exact(exact),
      rows(kernel, exact.context.environment), results(exact.results.size()) {
  for (auto [errors, type, result] :
       llvm::zip_equal(results, kernel.getResultTypes(), exact.results)) {
    errors.type = cast<nsa::NamedTensorType>(type);
    if (!isReal(result.getDType()))
      continue;
    errors.exact = result.toReals();
    errors.inLine = getElementsInLine(errors.type, result.getShape());
    errors.errors.resize(errors.exact.size() / errors.inLine);
    errors.kinds.resize(errors.exact.size());
  }
  kernel.walk([&](nsa::TopKOp topk) {
    ArrayRef<Attribute> dims = topk.getResult().getType().getDims();
    selectingDims.assign(dims.begin(), dims.end() - 1);
    int64_t numRows = exact.context.environment.getRows(dims).getNumRows();
    int64_t heads = exact.context.getSelection(topk.getResult()).heads;
    selectingRows = numRows;
    undecided.resize(std::max<size_t>(undecided.size(), numRows));
    scoreErrors[topk].resize(numRows * heads);
  });
}

std::optional<int64_t>
EagerErrors::findSelectingRow(nsa::NamedTensorType type, int64_t element,
                              int64_t numElements) const {
  size_t rank = selectingDims.size();
  if (rank == 0 || size_t(type.getRank()) < rank ||
      type.getDims().take_front(rank) != ArrayRef(selectingDims))
    return std::nullopt;
  return element * selectingRows / numElements;
}

void EagerErrors::evaluate(const std::vector<bool> *onlyRows,
                           const std::vector<bool> *suspects) {
  if (rows.getNumRows() == 0)
    onlyRows = nullptr;
  llvm::Expected<TracedRun> run = runTraced(
      kernel, inputs,
      {.roundStorage = true, .threads = threads, .eagerSeed = evaluations++},
      onlyRows);
  // If rounding causes an error of the run, the run says nothing about results.
  if (!run) {
    llvm::consumeError(run.takeError());
    return;
  }
  for (auto [index, result] : llvm::enumerate(run->results))
    if (isReal(result.getDType()))
      add(index, result, onlyRows);
  kernel.walk([&](nsa::TopKOp topk) {
    compareSharedScores(
        topk, exact.context, run->context,
        [&](const SharingGroup &group, ArrayRef<double> exactScores,
            ArrayRef<double> scores) {
          if (!onlyRows || (*onlyRows)[group.begin])
            add(topk, run->context, group, exactScores, scores, suspects);
        });
  });
}

void EagerErrors::add(unsigned index, const Tensor &result,
                      const std::vector<bool> *onlyRows) {
  ResultErrors &errors = results[index];
  std::vector<double> found = result.toReals();
  int64_t size = found.size();
  for (auto [line, most] : llvm::enumerate(errors.errors)) {
    int64_t begin = line * errors.inLine;
    std::optional<int64_t> row = rows.find(errors.type, begin, size);
    if (onlyRows && row && !(*onlyRows)[*row])
      continue;
    for (int64_t i = begin; i < begin + errors.inLine; ++i) {
      Kind kind = classify(found[i]);
      errors.kinds[i] |= 1 << unsigned(kind);
      if (kind == Kind::Finite && classify(errors.exact[i]) == Kind::Finite)
        most = std::max(most, std::fabs(found[i] - errors.exact[i]));
    }
  }
}

/// Whether a chosen score and another one differ by at most `distance`.
/// Padding, and forced blocks, may have no score.
static bool areNear(ArrayRef<int64_t> chosen, ArrayRef<double> scores,
                    double distance) {
  int64_t size = scores.size();
  for (int64_t in : chosen)
    for (int64_t out = 0; in >= 0 && in < size && out < size; ++out)
      if (std::fabs(scores[in] - scores[out]) <= distance &&
          !llvm::is_contained(chosen, out))
        return true;
  return false;
}

void EagerErrors::add(nsa::TopKOp topk, const Context &found,
                      const SharingGroup &group, ArrayRef<double> exactScores,
                      ArrayRef<double> scores,
                      const std::vector<bool> *suspects) {
  const SelectionValue &wanted = exact.context.getSelection(topk.getResult());
  const SelectionValue &selected = found.getSelection(topk.getResult());
  ArrayRef<int64_t> chosen = wanted.get(group.begin, group.firstHead);
  double least = INFINITY, most = -INFINITY, largest = 0;
  for (auto [exactScore, score] : llvm::zip_equal(exactScores, scores)) {
    double moved = score - exactScore;
    // Absent entries are infinite in both. A score that overflows has an
    // infinite error.
    if (!std::isfinite(exactScore) || std::isnan(moved))
      continue;
    least = std::min(least, moved);
    most = std::max(most, moved);
    largest = std::max(largest, std::fabs(moved));
  }
  double apart = 0;
  std::vector<ScoreErrors> &errors = scoreErrors[topk];
  for (int64_t row = group.begin; row < group.end; ++row)
    for (int64_t head = 0; head < group.numHeads; ++head) {
      ScoreErrors &error = errors[row * wanted.heads + group.firstHead + head];
      error.most = std::max(error.most, largest);
      if (least < most)
        error.apart = std::max(error.apart, most - least);
      apart = error.apart;
    }
  auto isSuspect = [&](int64_t row) { return suspects && (*suspects)[row]; };
  // A compiled program's errors of scores may be twice those of the formula in
  // low precision, and so break ties that no evaluation breaks.
  if (chosen != selected.get(group.begin, group.firstHead) ||
      (apart > 0 &&
       llvm::any_of(llvm::seq(group.begin, group.end), isSuspect) &&
       areNear(chosen, exactScores, 2 * apart)))
    std::fill(undecided.begin() + group.begin, undecided.begin() + group.end,
              true);
}
