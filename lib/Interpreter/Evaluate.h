//===- Evaluate.h - The meaning of each op of the nsa dialect ---*- C++ -*-===//

#ifndef NSACC_LIB_INTERPRETER_EVALUATE_H
#define NSACC_LIB_INTERPRETER_EVALUATE_H

#include "Context.h"
#include "NSA/IR/NSAOps.h"

namespace nsacc::interpreter {

/// An attention's output and, for softmax, its log-sum-exp and the
/// denominators.
struct AttendResult {
  TensorValue output, lse;
  std::vector<Normalizer> normalizers;
};

llvm::Expected<TensorValue> evaluatePool(nsa::PoolOp op,
                                         const Context &context);
llvm::Expected<AttendResult> evaluateAttend(nsa::AttendOp op,
                                            const Context &context);
llvm::Expected<AttendResult> evaluateMerge(nsa::MergeOp op,
                                           const Context &context);
llvm::Expected<TensorValue> evaluateImportance(nsa::ImportanceOp op,
                                               const Context &context);
llvm::Expected<TensorValue> evaluateBlocks(nsa::BlocksOp op,
                                           const Context &context);
llvm::Expected<TensorValue> evaluateMap(nsa::MapOp op, const Context &context);
llvm::Expected<SelectionValue> evaluateTopK(nsa::TopKOp op,
                                            const Context &context);
llvm::Expected<SelectionValue>
evaluateDeclareSelection(nsa::DeclareSelectionOp op, const Context &context);
SelectionValue evaluateUnion(nsa::UnionOp op, const Context &context);
/// Checks that each count of blocks is 0 to `top`.
llvm::Error checkCounts(mlir::Value tensor, const TensorValue &counts,
                        int64_t top);
TensorValue evaluateIndices(nsa::IndicesOp op, const Context &context);

} // namespace nsacc::interpreter

#endif // NSACC_LIB_INTERPRETER_EVALUATE_H
