//===- Edits.h - Ways to make a module smaller ------------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_REDUCE_EDITS_H
#define NSACC_TOOLS_NSACC_REDUCE_EDITS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace nsacc {

/// Makes one op smaller, or returns false. Values that become unused are erased
/// afterwards.
using Edit = bool (*)(mlir::Operation *op);

/// Every edit, the ones that remove most first.
llvm::ArrayRef<Edit> getEdits();

/// Erases unused ops, and unused arguments of kernels.
void eraseDead(mlir::ModuleOp module);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_REDUCE_EDITS_H
