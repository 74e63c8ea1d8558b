//===- EagerErrors.cpp - What rounding does to a formula ------------------===//

#include "EagerErrors.h"
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

/// The channels of one query and head.
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
    undecided.resize(numRows);
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
  return element * int64_t(undecided.size()) / numElements;
}

void EagerErrors::evaluate(const std::vector<bool> *onlyRows) {
  if (rows.getNumRows() == 0)
    onlyRows = nullptr;
  llvm::Expected<TracedRun> run = runTraced(
      kernel, inputs,
      {.roundStorage = true, .threads = threads, .eagerSeed = evaluations++},
      onlyRows);
  // Where rounding makes an error of it, it says nothing.
  if (!run) {
    llvm::consumeError(run.takeError());
    return;
  }
  for (auto [index, result] : llvm::enumerate(run->results))
    if (isReal(result.getDType()))
      add(index, result, onlyRows);
  kernel.walk([&](nsa::TopKOp topk) { add(topk, run->context, onlyRows); });
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

/// Whether a score that is chosen and one that isn't are no further apart.
/// Padding, and blocks that are forced, may have no score.
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
                      const std::vector<bool> *onlyRows) {
  const SelectionValue &wanted = exact.context.getSelection(topk.getResult());
  const SelectionValue &selected = found.getSelection(topk.getResult());
  const TensorValue &exactScores =
      exact.context.getTensor(topk.getImportance());
  const TensorValue &scores = found.getTensor(topk.getImportance());
  int64_t width = scores.shape.back();
  std::vector<ScoreErrors> &errors = scoreErrors[topk];
  for (int64_t line = 0, e = errors.size(); line < e; ++line) {
    int64_t row = line / wanted.heads, head = line % wanted.heads;
    if (onlyRows && !(*onlyRows)[row])
      continue;
    if (wanted.get(row, head) != selected.get(row, head))
      undecided[row] = true;
    ScoreErrors &error = errors[line];
    double least = INFINITY, most = -INFINITY;
    for (int64_t i = line * width; i < (line + 1) * width; ++i) {
      double moved = scores.reals[i] - exactScores.reals[i];
      // Absent entries are infinite in both; one that overflows is as far off
      // as can be.
      if (!std::isfinite(exactScores.reals[i]) || std::isnan(moved))
        continue;
      least = std::min(least, moved);
      most = std::max(most, moved);
      error.most = std::max(error.most, std::fabs(moved));
    }
    if (least < most)
      error.apart = std::max(error.apart, most - least);
    // A compiled program may move scores twice as far as the formula in low
    // precision does, and so break ties that no evaluation breaks.
    if (onlyRows && error.apart > 0 &&
        areNear(wanted.get(row, head),
                ArrayRef(exactScores.reals).slice(line * width, width),
                2 * error.apart))
      undecided[row] = true;
  }
}
