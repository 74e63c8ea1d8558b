//===- PlanNumbers.h - Integer arithmetic of a plan as steps ----*- C++ -*-===//

#ifndef NSACC_LIB_TARGET_PLAN_PLANNUMBERS_H
#define NSACC_LIB_TARGET_PLAN_PLANNUMBERS_H

#include "NSATile/IR/NSATileOps.h"
#include "nsacc/RT/Plan.h"
#include <map>

namespace nsacc {

/// Collects a plan's steps. Equal steps are merged.
class PlanNumbers {
public:
  /// `target` is the reader's name in messages.
  PlanNumbers(std::vector<rt::Step> &steps, llvm::StringRef target)
      : steps(steps), target(target) {}

  uint32_t constant(int64_t value);
  uint32_t dim(uint32_t parameter, int64_t dim);
  uint32_t add(rt::Step::Kind kind, llvm::ArrayRef<uint32_t> operands,
               int64_t value = 0);

  /// Reads an op of integers, not of buffers.
  mlir::LogicalResult read(mlir::Operation *op);
  void define(mlir::Value value, uint32_t number) { numbers[value] = number; }
  uint32_t lookup(mlir::Value value) const { return numbers.lookup(value); }

private:
  using Key = std::tuple<int, int64_t, uint32_t, uint32_t, uint32_t>;

  std::vector<rt::Step> &steps;
  llvm::StringRef target;
  std::map<Key, uint32_t> known;
  llvm::DenseMap<mlir::Value, uint32_t> numbers;
};

} // namespace nsacc

#endif // NSACC_LIB_TARGET_PLAN_PLANNUMBERS_H
