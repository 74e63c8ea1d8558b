//===- Explain.h - Explanations of programs, for Python ---------*- C++ -*-===//

#ifndef NSACC_PYTHON_EXPLAIN_H
#define NSACC_PYTHON_EXPLAIN_H

#include <pybind11/pybind11.h>

namespace nsacc::python {

void bindExplain(pybind11::module_ &module);

} // namespace nsacc::python

#endif // NSACC_PYTHON_EXPLAIN_H
