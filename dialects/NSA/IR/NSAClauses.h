//===- NSAClauses.h - Regions of scalar code of nsa ops ---------*- C++ -*-===//

#ifndef NSACC_NSA_IR_NSACLAUSES_H
#define NSACC_NSA_IR_NSACLAUSES_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace nsacc::nsa {

/// A region of scalar code over positions.
enum class Clause { Scale, Mask, Score, Weight, Normalize, Sink };

/// The keyword that introduces the clause in assembly ("mask").
llvm::StringRef getClauseName(Clause clause);

/// The types of the region's arguments, in order; see nsa.attend.
llvm::SmallVector<mlir::Type>
getClauseArgumentTypes(Clause clause, mlir::MLIRContext *context);

/// The type that the region yields.
mlir::Type getClauseResultType(Clause clause, mlir::MLIRContext *context);

} // namespace nsacc::nsa

#endif // NSACC_NSA_IR_NSACLAUSES_H
