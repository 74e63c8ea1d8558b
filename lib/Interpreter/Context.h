//===- Context.h - The state of a running kernel ----------------*- C++ -*-===//

#ifndef NSACC_LIB_INTERPRETER_CONTEXT_H
#define NSACC_LIB_INTERPRETER_CONTEXT_H

#include "Environment.h"
#include "Rounding.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include <atomic>

namespace nsacc::interpreter {

struct Context {
  Environment environment;
  unsigned threads = 1;
  std::atomic<int64_t> *usefulOperations = nullptr;
  Rounding rounding{};
  /// By packed query row: whether it is computed; null: all are.
  const std::vector<bool> *onlyRows = nullptr;
  llvm::DenseMap<mlir::Value, std::shared_ptr<const TensorValue>> tensors{};
  llvm::DenseMap<mlir::Value, std::shared_ptr<const SelectionValue>>
      selections{};

  bool needsRow(int64_t row) const { return !onlyRows || (*onlyRows)[row]; }
  const TensorValue &getTensor(mlir::Value value) const {
    return *tensors.find(value)->second;
  }
  const SelectionValue &getSelection(mlir::Value value) const {
    return *selections.find(value)->second;
  }
};

} // namespace nsacc::interpreter

#endif // NSACC_LIB_INTERPRETER_CONTEXT_H
