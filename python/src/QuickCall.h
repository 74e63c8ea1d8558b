//===- QuickCall.h - Calls with tensors of torch ----------------*- C++ -*-===//

#ifndef NSACC_PYTHON_QUICKCALL_H
#define NSACC_PYTHON_QUICKCALL_H

#include <pybind11/pybind11.h>

namespace nsacc::python {

/// The fast path of a program's calls. All errors and special cases are left to
/// nsacc.program, which words the messages.
void bindQuickCall(pybind11::module_ &module);

} // namespace nsacc::python

#endif // NSACC_PYTHON_QUICKCALL_H
