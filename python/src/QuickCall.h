//===- QuickCall.h - Calls with tensors of torch ----------------*- C++ -*-===//

#ifndef NSACC_PYTHON_QUICKCALL_H
#define NSACC_PYTHON_QUICKCALL_H

#include <pybind11/pybind11.h>

namespace nsacc::python {

/// Calls of a program that need no word to be said: whatever is wrong or out of
/// the ordinary is left to nsacc.program, which knows how to put it.
void bindQuickCall(pybind11::module_ &module);

} // namespace nsacc::python

#endif // NSACC_PYTHON_QUICKCALL_H
