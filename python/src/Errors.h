//===- Errors.h - Errors of the C interface as exceptions -------*- C++ -*-===//

#ifndef NSACC_PYTHON_ERRORS_H
#define NSACC_PYTHON_ERRORS_H

#include "Unlocked.h"
#include "nsacc-c/nsacc.h"
#include <memory>
#include <pybind11/pybind11.h>

namespace nsacc::python {

struct ErrorDeleter {
  void operator()(nsacc_error *error) const { nsacc_error_destroy(error); }
};
using ErrorHandle = std::unique_ptr<nsacc_error, ErrorDeleter>;

/// Raises the exception of nsacc.errors for `error` unless `status` is
/// NSACC_OK.
void check(nsacc_status status, ErrorHandle error);

/// Calls `body(error)` without the GIL and raises its error.
template <typename Body> void callUnlocked(Body body) {
  nsacc_error *error = nullptr;
  nsacc_status status;
  {
    Unlocked unlocked;
    status = body(&error);
  }
  check(status, ErrorHandle(error));
}

/// An nsacc.errors.Diagnostic.
pybind11::object toPython(const nsacc_diagnostic *diagnostic);

} // namespace nsacc::python

#endif // NSACC_PYTHON_ERRORS_H
