//===- Reductions.h - Sums and maxima of registers --------------*- C++ -*-===//

#ifndef NSACC_LIB_CONVERSION_NSATILETONVVM_REDUCTIONS_H
#define NSACC_LIB_CONVERSION_NSATILETONVVM_REDUCTIONS_H

#include "CodeBuilder.h"
#include "NSATile/IR/NSATileOps.h"

namespace nsacc {

float getNeutral(nsatile::ReduceKind kind);
mlir::Value combine(CodeBuilder &b, nsatile::ReduceKind kind, mlir::Value lhs,
                    mlir::Value rhs, bool ignoresNaN = false);
/// Combines many values, in four chains.
mlir::Value combineAll(CodeBuilder &b, nsatile::ReduceKind kind,
                       llvm::ArrayRef<mlir::Value> values,
                       bool ignoresNaN = false);
/// The sum of 0 · x: 0 if all values are finite, otherwise NaN.
mlir::Value addUpMarks(CodeBuilder &b, llvm::ArrayRef<mlir::Value> values);
/// Combines the values of the four lanes that hold a row.
mlir::Value combineRow(CodeBuilder &b, nsatile::ReduceKind kind,
                       mlir::Value value, bool ignoresNaN = false);

} // namespace nsacc

#endif // NSACC_LIB_CONVERSION_NSATILETONVVM_REDUCTIONS_H
