//===- QueryProgram.h - Programs that run over query tiles ------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATONSATILE_QUERYPROGRAM_H
#define NSACC_LIB_CONVERSION_NSATONSATILE_QUERYPROGRAM_H

#include "PlanBuilder.h"
#include "QueryTile.h"

namespace nsacc {

/// What a program over query tiles needs to know of a kernel's attentions.
struct QueryShape {
  QueryDims dims;
  mlir::Attribute keyHead;
  int64_t group = 1; ///< query heads of a key head
};

/// The one shape of all ops that score pairs in the kernel; an error where they
/// differ or where sizes are missing.
llvm::FailureOr<QueryShape> getQueryShape(PlanBuilder &plan);

/// Launches over tiles of queries: token tiles, key heads, batch rows.
void launchQueryProgram(ProgramBuilder &program, const QueryShape &shape,
                        int64_t tokens);

/// Partial states of an attention in key-major order, into buffers that the
/// plan remembers.
void buildKeyMajorProgram(PlanBuilder &plan, const QueryShape &shape,
                          nsa::AttendOp op, nsatile::ScheduleAttr schedule);

/// One program that computes results of the kernel over query tiles, fused.
/// `results` are indices of the kernel's results.
llvm::LogicalResult buildQueryProgram(PlanBuilder &plan,
                                      const QueryShape &shape,
                                      llvm::ArrayRef<unsigned> results,
                                      nsatile::ScheduleAttr schedule);

/// An importance that is a result of the kernel.
mlir::LogicalResult buildImportanceProgram(PlanBuilder &plan,
                                           const QueryShape &shape,
                                           unsigned result,
                                           nsatile::ScheduleAttr schedule);

/// The log-sum-exp of attentions into workspace, which then stands for it.
mlir::LogicalResult materializeLse(PlanBuilder &plan, const QueryShape &shape,
                                   mlir::Value lse,
                                   nsatile::ScheduleAttr schedule);

/// Pooled keys and values into `buffer`.
llvm::LogicalResult buildPoolProgram(PlanBuilder &plan, nsa::PoolOp op);

/// The blocks of a handed-in selection, in order, into its buffer.
llvm::LogicalResult buildDeclaredSelectionProgram(PlanBuilder &plan,
                                                  nsa::DeclareSelectionOp op);

/// A selection's block indices into its buffer.
llvm::LogicalResult buildTopKProgram(PlanBuilder &plan, const QueryShape &shape,
                                     nsa::TopKOp op,
                                     nsatile::ScheduleAttr schedule);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATONSATILE_QUERYPROGRAM_H
