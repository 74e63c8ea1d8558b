//===- Program.h - Compiled programs in Python ------------------*- C++ -*-===//

#ifndef NSACC_PYTHON_PROGRAM_H
#define NSACC_PYTHON_PROGRAM_H

#include <pybind11/pybind11.h>

namespace nsacc::python {

void bindProgram(pybind11::module_ &module);

} // namespace nsacc::python

#endif // NSACC_PYTHON_PROGRAM_H
