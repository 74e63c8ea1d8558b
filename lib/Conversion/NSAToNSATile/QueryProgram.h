//===- QueryProgram.h - Programs that run over query tiles ------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_QUERYPROGRAM_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_QUERYPROGRAM_H

#include "PlanBuilder.h"
#include "QueryGrid.h"

namespace nsacc {

/// The most that a target compiles.
struct ShapeLimits {
  int64_t channels; ///< of a head
  int64_t group;    ///< query heads of a key head
  int64_t scores;   ///< of a tile
};
/// Checks the shapes of all attentions of the kernel; an error where sizes are
/// missing, don't go together, or are beyond what the target compiles.
llvm::LogicalResult checkQueryShapes(PlanBuilder &plan,
                                     const ShapeLimits &limits);
/// Of a tensor's attentions that the plan hasn't materialized.
FoundShape findQueryShape(PlanBuilder &plan, mlir::Value tensor);
/// The shape of what a selection's importance is computed from.
llvm::FailureOr<QueryShape> getSelectionShape(PlanBuilder &plan,
                                              nsa::TopKOp op);

/// Whether scores, and what an attention makes of values, are of 16-bit
/// operands.
bool multipliesIn16Bits(nsa::ScoringOpInterface op);

/// Whether products ask which pairs are visible, as those of a softmax will.
bool looksAtPairs(nsatile::ProgramOp program);

/// Partial states of an attention in key-major order, into buffers that the
/// plan remembers.
void buildKeyMajorProgram(PlanBuilder &plan, const QueryShape &shape,
                          nsa::AttendOp op);

/// The same of an attention under a selection, block by block: the programs of
/// a block's tokens leave a state for each entry of a list.
void buildInvertedPrograms(PlanBuilder &plan, const QueryShape &shape,
                           nsa::AttendOp op);

/// The same of an attention whose programs have a query tile and a part of its
/// keys each.
llvm::LogicalResult
buildSplitProgram(PlanBuilder &plan, const QueryShape &shape, nsa::AttendOp op);

/// A tensor of the kernel and the buffer that it's computed into.
struct Target {
  mlir::Value tensor, buffer;
};
/// One program that computes tensors over query tiles, fused; the program with
/// small tiles that looks at each pair where it is the exact one.
llvm::FailureOr<nsatile::ProgramOp>
buildQueryProgram(PlanBuilder &plan, const FoundShape &found,
                  llvm::ArrayRef<Target> targets, bool isExact);
/// An importance, as what it is in memory.
llvm::LogicalResult buildImportanceProgram(PlanBuilder &plan,
                                           const FoundShape &found,
                                           mlir::Value tensor,
                                           mlir::Value buffer);
/// Elementwise code over materialized tensors.
llvm::LogicalResult buildMapProgram(PlanBuilder &plan, mlir::Value tensor,
                                    mlir::Value buffer);

/// The log-sum-exp of attentions into workspace, which then stands for it.
llvm::LogicalResult materializeLse(PlanBuilder &plan, const QueryShape &shape,
                                   mlir::Value lse,
                                   nsatile::ScheduleAttr schedule);

/// Pooled keys and values into `buffer`.
llvm::LogicalResult buildPoolProgram(PlanBuilder &plan, nsa::PoolOp op);

/// The blocks of a handed-in selection, in order, into its buffer.
llvm::LogicalResult buildDeclaredSelectionProgram(PlanBuilder &plan,
                                                  nsa::DeclareSelectionOp op);
/// The blocks of a union of selections, in order, into its buffer.
llvm::LogicalResult buildUnionProgram(PlanBuilder &plan, nsa::UnionOp op);

/// A selection's block indices into its buffer.
llvm::LogicalResult buildTopKProgram(PlanBuilder &plan, const QueryShape &shape,
                                     nsa::TopKOp op);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_QUERYPROGRAM_H
