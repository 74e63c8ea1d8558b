//===- QueryProgram.h - Programs that run over query tiles ------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_QUERYPROGRAM_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_QUERYPROGRAM_H

#include "PlanBuilder.h"
#include "QueryGrid.h"

namespace nsacc {

/// Greatest sizes that a target compiles.
struct ShapeLimits {
  int64_t channels; ///< channels of a head
  int64_t group;    ///< query heads per key head
  int64_t scores;   ///< scores of a tile
};
/// Checks the shapes of all attentions of the kernel. Fails where sizes are
/// missing, don't go together, or are beyond the target's limits.
llvm::LogicalResult checkQueryShapes(PlanBuilder &plan,
                                     const ShapeLimits &limits);
/// Shape of the attentions that a tensor is computed from, up to materialized
/// values.
FoundShape findQueryShape(PlanBuilder &plan, mlir::Value tensor);
/// Shape of the attentions that a selection's importance is computed from.
llvm::FailureOr<QueryShape> getSelectionShape(PlanBuilder &plan,
                                              nsa::TopKOp op);

/// Whether products for scores, and an attention's products with values, have
/// 16-bit operands.
bool multipliesIn16Bits(nsa::ScoringOpInterface op);

/// Computes partial states of an attention in key-major order, into buffers
/// that the plan remembers.
void buildKeyMajorProgram(PlanBuilder &plan, const QueryShape &shape,
                          nsa::ScoringOpInterface op);

/// Computes partial states of an attention under a selection, block by block.
/// The programs of a block's tokens leave a state for each entry of a list.
llvm::LogicalResult buildInvertedPrograms(PlanBuilder &plan,
                                          const QueryShape &shape,
                                          nsa::ScoringOpInterface op);

/// Computes partial states of an attention with programs that have a query tile
/// and a part of its keys each.
llvm::LogicalResult buildSplitProgram(PlanBuilder &plan,
                                      const QueryShape &shape,
                                      nsa::ScoringOpInterface op);

/// A tensor of the kernel and the buffer that it's computed into.
struct Target {
  mlir::Value tensor, buffer;
};
/// Builds one program that computes tensors over query tiles, fused.
llvm::FailureOr<nsatile::ProgramOp>
buildQueryProgram(PlanBuilder &plan, const FoundShape &found,
                  llvm::ArrayRef<Target> targets);
/// Computes an importance into a buffer.
llvm::LogicalResult buildImportanceProgram(PlanBuilder &plan,
                                           const FoundShape &found,
                                           mlir::Value tensor,
                                           mlir::Value buffer);
/// Computes elementwise code over materialized tensors.
llvm::LogicalResult buildMapProgram(PlanBuilder &plan, mlir::Value tensor,
                                    mlir::Value buffer);

/// Computes the log-sum-exp of attentions into workspace, and binds it to that.
llvm::LogicalResult materializeLse(PlanBuilder &plan, const QueryShape &shape,
                                   mlir::Value lse,
                                   nsatile::ScheduleAttr schedule);

/// Pools keys or values into their buffer.
llvm::LogicalResult buildPoolProgram(PlanBuilder &plan, nsa::PoolOp op);

/// Writes the blocks of a handed-in selection into its buffer, ordered where
/// needed.
llvm::LogicalResult buildDeclaredSelectionProgram(PlanBuilder &plan,
                                                  nsa::DeclareSelectionOp op);
/// Writes the blocks of a union of selections into its buffer, ordered where
/// needed.
llvm::LogicalResult buildUnionProgram(PlanBuilder &plan, nsa::UnionOp op);

/// Writes a selection's block indices into its buffer.
llvm::LogicalResult buildTopKProgram(PlanBuilder &plan, const QueryShape &shape,
                                     nsa::TopKOp op);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_QUERYPROGRAM_H
