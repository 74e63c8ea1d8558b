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

/// The dimension as it stands in a type: `T`, `ragged T`, `pool(S, 32, 16,
/// drop)`, …
std::string toString(mlir::Attribute dim);
/// `[B, T, HQ, D]`
std::string toString(llvm::ArrayRef<mlir::Attribute> dims);

/// The name of the token dimension behind a sequence dimension: `S` for `S`,
/// `ragged S`, `pool(S, …)`, `pooled(N of S, …)` and `blocks(S, …)`; empty for
/// others.
llvm::StringRef getTokenDim(mlir::Attribute dim);

/// Some of a tensor's dimensions, a bit for each.
using DimSet = llvm::SmallBitVector;
/// Those dimensions of `whole` that `part` is, in this order. Numbers may leave
/// a choice, `[4]` in `[4, T, 4]`; then it is the first ones.
struct DimMatch {
  DimSet dims;
  bool isUnique;
};
/// Nothing if `part` is no subsequence of `whole`.
std::optional<DimMatch> matchDims(llvm::ArrayRef<mlir::Attribute> part,
                                  llvm::ArrayRef<mlir::Attribute> whole);
/// The dimensions `part` of the tensor whose own are `outer` of a third one, in
/// that.
DimSet compose(const DimSet &outer, const DimSet &part);

} // namespace nsacc::nsa

#endif // NSACC_NSA_IR_NSATYPES_H
