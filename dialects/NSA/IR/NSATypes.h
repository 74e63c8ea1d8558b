//===- NSATypes.h - Types and attributes of the nsa dialect -----*- C++ -*-===//

#ifndef NSACC_NSA_IR_NSATYPES_H
#define NSACC_NSA_IR_NSATYPES_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Types.h"

#include "NSA/IR/NSAEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "NSA/IR/NSAAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "NSA/IR/NSATypes.h.inc"

namespace nsacc::nsa {

/// The dimension as it stands in a type: `T`, `ragged T`, `pool(S, 32, 16,
/// drop)`, …
std::string toString(mlir::Attribute dim);
/// `[B, T, HQ, D]`
std::string toString(llvm::ArrayRef<mlir::Attribute> dims);

/// The name of the token dimension behind a sequence dimension: `S` for `S`,
/// `ragged S`, `pool(S, …)`, `pooled(N of S, …)` and `blocks(S, …)`; empty for
/// others.
llvm::StringRef getTokenDim(mlir::Attribute dim);

} // namespace nsacc::nsa

#endif // NSACC_NSA_IR_NSATYPES_H
