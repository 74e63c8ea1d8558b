//===- NSATileToVector.h - Tile programs as loops over vectors --*- C++ -*-===//

#ifndef NSACC_CONVERSION_NSATILETOVECTOR_H
#define NSACC_CONVERSION_NSATILETOVECTOR_H

#include "mlir/Pass/Pass.h"

namespace nsacc {

/// Attribute of the resulting functions: bytes of stack that they take.
constexpr llvm::StringLiteral kScratchBytesAttrName = "nsacc.scratch_bytes";

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "nsacc/Conversion/NSATileToVector/NSATileToVector.h.inc"

} // namespace nsacc

#endif // NSACC_CONVERSION_NSATILETOVECTOR_H
