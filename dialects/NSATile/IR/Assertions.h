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

/// Numbers a module's assertions, and records their messages for the code that
/// runs the programs. False if there are no assertions.
bool numberAssertions(mlir::ModuleOp module);

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_IR_ASSERTIONS_H
