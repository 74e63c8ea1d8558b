//===- NSATileToNVVM.h - Tile programs as GPU kernels -----------*- C++ -*-===//

#ifndef NSACC_CONVERSION_NSATILETONVVM_H
#define NSACC_CONVERSION_NSATILETONVVM_H

#include "mlir/Pass/Pass.h"

namespace nsacc {

/// Attribute of programs that weren't converted because a block has no room for
/// their tiles: smaller tiles may fit.
inline constexpr llvm::StringLiteral kNoRoomAttrName = "nsacc.no_room";

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "nsacc/Conversion/NSATileToNVVM/NSATileToNVVM.h.inc"

} // namespace nsacc

#endif // NSACC_CONVERSION_NSATILETONVVM_H
