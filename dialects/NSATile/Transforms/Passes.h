//===- Passes.h - Passes over the tile level --------------------*- C++ -*-===//

#ifndef NSACC_NSATILE_TRANSFORMS_PASSES_H
#define NSACC_NSATILE_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace nsacc::nsatile {

/// Discardable attribute of a program: the symbol of a program with smaller
/// tiles that computes the same results, and is launched behind it
/// (`nsatile-assume-finite`).
inline constexpr llvm::StringLiteral kExactProgramAttrName = "nsatile.exact";

#define GEN_PASS_DECL
#include "NSATile/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "NSATile/Transforms/Passes.h.inc"

} // namespace nsacc::nsatile

#endif // NSACC_NSATILE_TRANSFORMS_PASSES_H
