//===- Error.h - Error objects of the C interface ---------------*- C++ -*-===//

#ifndef NSACC_LIB_CAPI_ERROR_H
#define NSACC_LIB_CAPI_ERROR_H

#include "nsacc-c/nsacc.h"
#include "nsacc/Frontend/Diagnostics.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

struct nsacc_diagnostic {
  explicit nsacc_diagnostic(nsacc::frontend::DiagnosticData data);

  nsacc::frontend::DiagnosticData data;
  std::vector<nsacc_diagnostic> notes;
  /// The diagnostic as the command line prints it; empty for notes.
  std::string text;
};

struct nsacc_error {
  nsacc_error_kind kind = NSACC_ERROR_KIND_INTERNAL;
  std::string message, text;
  std::vector<nsacc_diagnostic> diagnostics;
};

namespace nsacc::capi {

/// Null on success.
using Failure = std::unique_ptr<nsacc_error>;

Failure fail(nsacc_error_kind kind, std::string message);

/// Diagnostics with their texts. `source` is the program.
std::vector<nsacc_diagnostic>
toC(std::vector<frontend::DiagnosticData> diagnostics,
    llvm::MemoryBufferRef source);

/// An error made of diagnostics, at least one of which is an error. `source` is
/// the program.
Failure fail(nsacc_error_kind kind,
             std::vector<frontend::DiagnosticData> diagnostics,
             llvm::MemoryBufferRef source);

/// Gives `failure` to the caller, who may pass a null `error`.
nsacc_status report(Failure failure, nsacc_error **error);

/// An element of a list that C code visits by index; null past the end.
template <typename T> const T *at(const std::vector<T> &list, size_t index) {
  return index < list.size() ? &list[index] : nullptr;
}

/// Runs `body`, which returns a Failure. No exception leaves the library.
template <typename Body>
nsacc_status guarded(nsacc_error **error, Body body) noexcept {
  if (error)
    *error = nullptr;
  try {
    try {
      return report(body(), error);
    } catch (const std::bad_alloc &) {
      return report(fail(NSACC_ERROR_KIND_ARGUMENT,
                         "not enough memory for tensors of these shapes"),
                    error);
    } catch (const std::exception &exception) {
      return report(fail(NSACC_ERROR_KIND_INTERNAL, exception.what()), error);
    }
  } catch (...) {
    return NSACC_ERROR_INTERNAL;
  }
}

} // namespace nsacc::capi

#endif // NSACC_LIB_CAPI_ERROR_H
