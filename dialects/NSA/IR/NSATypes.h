//===- NSATypes.h - Types and attributes of the nsa dialect -----*- C++ -*-===//

#ifndef NSACC_NSA_IR_NSATYPES_H
#define NSACC_NSA_IR_NSATYPES_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Types.h"
#include "llvm/ADT/SmallBitVector.h"

#include "NSA/IR/NSAEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "NSA/IR/NSAAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "NSA/IR/NSATypes.h.inc"

namespace nsacc::nsa {

/// The dimension as messages spell it: `T`, `ragged T`, `pool(S, 32, 16,
/// drop)`, … Assembly puts some names in quotes.
std::string toString(mlir::Attribute dim);
/// `[B, T, HQ, D]`
std::string toString(llvm::ArrayRef<mlir::Attribute> dims);

/// The name of the token dimension of a sequence dimension: `S` for `S`,
/// `ragged S`, `pool(S, …)`, `pooled(N of S, …)` and `blocks(S, …)`; empty for
/// others.
llvm::StringRef getTokenDim(mlir::Attribute dim);

/// Some of a tensor's dimensions, a bit for each.
using DimSet = llvm::SmallBitVector;
/// The dimensions of `whole` that match `part`, in order. If numbers leave a
/// choice, as `[4]` in `[4, T, 4]`, the first ones are taken.
struct DimMatch {
  DimSet dims;
  bool isUnique;
};
/// None if `part` isn't a subsequence of `whole`.
std::optional<DimMatch> matchDims(llvm::ArrayRef<mlir::Attribute> part,
                                  llvm::ArrayRef<mlir::Attribute> whole);
/// Composes sets: `outer` marks a tensor's dimensions within a third tensor,
/// and `part` marks some of that tensor's dimensions. Gives the latter within
/// the third.
DimSet compose(const DimSet &outer, const DimSet &part);

} // namespace nsacc::nsa

#endif // NSACC_NSA_IR_NSATYPES_H
