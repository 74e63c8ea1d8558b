//===- Edits.h - Ways to make a module smaller ------------------*- C++ -*-===//

#ifndef NSACC_TOOLS_NSACC_REDUCE_EDITS_H
#define NSACC_TOOLS_NSACC_REDUCE_EDITS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace nsacc {

/// Makes one op smaller, or says no. What nobody reads then goes by itself.
using Edit = bool (*)(mlir::Operation *op);

/// Every edit, those that take most away first.
llvm::ArrayRef<Edit> getEdits();

/// Erases ops and arguments of kernels that nothing reads.
void eraseDead(mlir::ModuleOp module);

} // namespace nsacc

#endif // NSACC_TOOLS_NSACC_REDUCE_EDITS_H
