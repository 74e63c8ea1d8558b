//===- Assertions.h - Messages of programs that fail ------------*- C++ -*-===//

#ifndef NSACC_NSATILE_IR_ASSERTIONS_H
#define NSACC_NSATILE_IR_ASSERTIONS_H

#include "mlir/IR/BuiltinOps.h"

namespace nsacc::nsatile {

/// Attribute of a module: [message, number of values] of each
/// `nsatile.assert`, by its number.
constexpr llvm::StringLiteral kAssertionsAttrName = "nsacc.assertions";
/// Attribute of `nsatile.assert`: its number.
constexpr llvm::StringLiteral kFailureIdAttrName = "nsacc.failure_id";

/// Numbers a module's assertions, and notes what stands in their messages for
/// the one who runs the programs. False where there are none.
bool numberAssertions(mlir::ModuleOp module);

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_IR_ASSERTIONS_H
