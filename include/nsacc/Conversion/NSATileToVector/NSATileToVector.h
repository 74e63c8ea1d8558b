//===- NSATileToVector.h - Tile programs as loops over vectors --*- C++ -*-===//

#ifndef NSACC_CONVERSION_NSATILETOVECTOR_H
#define NSACC_CONVERSION_NSATILETOVECTOR_H

#include "mlir/Pass/Pass.h"
#include "nsacc/RT/HostNames.h"

namespace nsacc {

/// Attribute of the resulting functions: bytes of stack that a call takes.
constexpr llvm::StringLiteral kScratchBytesAttrName = "nsacc.scratch_bytes";
/// Attribute of the resulting functions: the type of the largest buffer on
/// their stack.
constexpr llvm::StringLiteral kLargestScratchAttrName = "nsacc.largest_scratch";
/// The function that programs call if a condition doesn't hold. Its arguments
/// are the number of the assertion and the address of the assertion's values,
/// i64 each.
constexpr llvm::StringLiteral kReportFailureName = rt::kReportFailureName;

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "nsacc/Conversion/NSATileToVector/NSATileToVector.h.inc"

} // namespace nsacc

#endif // NSACC_CONVERSION_NSATILETOVECTOR_H
