//===- Errors.h - Errors with formatted messages ----------------*- C++ -*-===//

#ifndef NSACC_LIB_TENSOR_ERRORS_H
#define NSACC_LIB_TENSOR_ERRORS_H

#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

namespace nsacc {

/// An error with a message formatted by llvm::formatv.
template <typename... Args>
llvm::Error makeError(const char *format, Args &&...args) {
  return llvm::createStringError(
      llvm::formatv(format, std::forward<Args>(args)...).str());
}

} // namespace nsacc

#endif // NSACC_LIB_TENSOR_ERRORS_H
