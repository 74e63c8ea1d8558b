//===- EagerErrors.h - Effect of rounding on a formula ----------*- C++ -*-===//
//
// docs/Numerics.md, "Compiled targets".
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_LIB_INTERPRETER_EAGERERRORS_H
#define NSACC_LIB_INTERPRETER_EAGERERRORS_H

#include "QueryRows.h"
#include "SharedScores.h"
#include "Traced.h"

namespace nsacc::interpreter {

enum class Kind : uint8_t { Finite, NaN, Infinity, MinusInfinity };

Kind classify(double value);

/// Number of a result's innermost elements, which share a bound.
int64_t getElementsInLine(nsa::NamedTensorType type,
                          llvm::ArrayRef<int64_t> shape);

/// Evaluates a kernel's formula again and again with random roundings, and
/// keeps the largest errors against the exact results, not the results.
class EagerErrors {
public:
  /// `kernel`, `inputs` and `exact` must outlive this object.
  EagerErrors(nsa::KernelOp kernel, llvm::ArrayRef<Tensor> inputs,
              unsigned threads, const TracedRun &exact);

  unsigned getNumEvaluations() const { return evaluations; }
  const QueryRows &getRows() const { return rows; }

  /// Evaluates once more: these rows, or all. For rows in `suspects`, numbered
  /// as in findSelectingRow, nearly equal scores count as undecided, too.
  void evaluate(const std::vector<bool> *onlyRows = nullptr,
                const std::vector<bool> *suspects = nullptr);

  nsa::NamedTensorType getType(unsigned result) const {
    return results[result].type;
  }
  /// A result of reals in fp64.
  llvm::ArrayRef<double> getExact(unsigned result) const {
    return results[result].exact;
  }
  /// The largest error in a line of a result of reals.
  double getError(unsigned result, int64_t line) const {
    return results[result].errors[line];
  }
  /// Whether rounding can give this kind of number.
  bool leadsTo(Kind kind, unsigned result, int64_t element) const {
    return results[result].kinds[element] >> unsigned(kind) & 1;
  }

  /// Packed query rows whose selections depend on rounding.
  const std::vector<bool> &getUndecidedRows() const { return undecided; }
  /// The row of an element of a tensor of this type.
  std::optional<int64_t> findSelectingRow(nsa::NamedTensorType type,
                                          int64_t element,
                                          int64_t numElements) const;
  /// The largest error of a row and head's scores.
  double getScoreError(nsa::TopKOp topk, int64_t line) const {
    return scoreErrors.find(topk)->second[line].most;
  }

private:
  struct ResultErrors {
    nsa::NamedTensorType type;
    /// The other members are for reals only.
    std::vector<double> exact;
    std::vector<double> errors;
    /// For each element, a bit for each kind that occurred.
    std::vector<uint8_t> kinds;
    int64_t inLine = 1;
  };

  /// Errors of the scores of one row and head: the largest error, and the
  /// largest change of the difference of two scores.
  struct ScoreErrors {
    double most = 0, apart = 0;
  };

  void add(unsigned index, const Tensor &result,
           const std::vector<bool> *onlyRows);
  void add(nsa::TopKOp topk, const Context &found, const SharingGroup &group,
           llvm::ArrayRef<double> exactScores, llvm::ArrayRef<double> scores,
           const std::vector<bool> *suspects);

  nsa::KernelOp kernel;
  llvm::ArrayRef<Tensor> inputs;
  unsigned threads;
  const TracedRun &exact;
  QueryRows rows;
  unsigned evaluations = 0;
  std::vector<ResultErrors> results;
  llvm::SmallVector<mlir::Attribute> selectingDims;
  int64_t selectingRows = 0;
  std::vector<bool> undecided;
  llvm::DenseMap<mlir::Operation *, std::vector<ScoreErrors>> scoreErrors;
};

} // namespace nsacc::interpreter

#endif // NSACC_LIB_INTERPRETER_EAGERERRORS_H
