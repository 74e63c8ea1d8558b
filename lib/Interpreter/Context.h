//===- Context.h - The state of a running kernel ----------------*- C++ -*-===//

#ifndef NSACC_LIB_INTERPRETER_CONTEXT_H
#define NSACC_LIB_INTERPRETER_CONTEXT_H

#include "Environment.h"
#include "Rounding.h"
#include "Values.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include <atomic>
#include <cmath>

namespace nsacc::interpreter {

/// The denominator of a softmax, as Σ exp(s - most) and `most`: if `most` is
/// large, fp64 has too few digits for both in one number.
struct Normalizer {
  double most = absent, sum = 1;

  /// exp(s) divided by Σ exp(s).
  double getShare(double score, Rounding round) const {
    return round(round(std::exp(round(score - most))) / sum);
  }
  double getLse(Rounding round) const {
    return std::isinf(most) ? most : round(most + round(std::log(sum)));
  }
};

struct Context {
  Environment environment;
  unsigned threads = 1;
  std::atomic<int64_t> *usefulOperations = nullptr;
  Rounding rounding{};
  /// For each packed query row, whether it is computed; null: all are.
  const std::vector<bool> *onlyRows = nullptr;
  llvm::DenseMap<mlir::Value, std::shared_ptr<const TensorValue>> tensors{};
  llvm::DenseMap<mlir::Value, std::shared_ptr<const SelectionValue>>
      selections{};
  /// Denominators of log-sum-exps that this run has computed, if they stay in
  /// fp64.
  llvm::DenseMap<mlir::Value, std::shared_ptr<const std::vector<Normalizer>>>
      normalizers{};

  bool needsRow(int64_t row) const { return !onlyRows || (*onlyRows)[row]; }
  const TensorValue &getTensor(mlir::Value value) const {
    return *tensors.find(value)->second;
  }
  const SelectionValue &getSelection(mlir::Value value) const {
    return *selections.find(value)->second;
  }
  /// The denominator of element `index` of a log-sum-exp.
  Normalizer getNormalizer(mlir::Value lse, int64_t index) const {
    auto found = normalizers.find(lse);
    return found != normalizers.end() ? (*found->second)[index]
                                      : Normalizer{getTensor(lse).reals[index]};
  }
};

} // namespace nsacc::interpreter

#endif // NSACC_LIB_INTERPRETER_CONTEXT_H
