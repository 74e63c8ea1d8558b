//===- TunedFields.h - Fields of tuned schedules ----------------*- C++ -*-===//

#ifndef NSACC_LIB_DRIVER_TUNEDFIELDS_H
#define NSACC_LIB_DRIVER_TUNEDFIELDS_H

#include "llvm/ADT/StringRef.h"

namespace nsacc {

/// Whether a text is printable; a line unless `isLine` is false.
bool isText(llvm::StringRef text, size_t most, bool isLine = true);

/// Whether a text is a date like "2026-11-27T15:00:00".
bool isDate(llvm::StringRef text);

constexpr llvm::StringLiteral kLineExpected =
    "expected a line of at most 4096 bytes without control characters";
constexpr llvm::StringLiteral kPolicyExpected =
    "expected how it was measured, as 'quick, eager, warm cache'";
constexpr llvm::StringLiteral kDateExpected =
    "expected a date as 2026-11-27T15:00:00";

} // namespace nsacc

#endif // NSACC_LIB_DRIVER_TUNEDFIELDS_H
