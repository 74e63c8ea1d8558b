//===- Program.h - Compiled programs in Python ------------------*- C++ -*-===//

#ifndef NSACC_PYTHON_PROGRAM_H
#define NSACC_PYTHON_PROGRAM_H

#include "nsacc-c/nsacc.h"
#include <pybind11/pybind11.h>

namespace nsacc::python {

/// The program in an _nsacc.Program; valid while that lives.
const nsacc_program *getProgram(pybind11::handle program);

void bindProgram(pybind11::module_ &module);

} // namespace nsacc::python

#endif // NSACC_PYTHON_PROGRAM_H
