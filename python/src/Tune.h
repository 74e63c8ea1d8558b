//===- Tune.h - Measuring schedules from Python -----------------*- C++ -*-===//

#ifndef NSACC_PYTHON_TUNE_H
#define NSACC_PYTHON_TUNE_H

#include <pybind11/pybind11.h>

namespace nsacc::python {

void bindTune(pybind11::module_ &module);

} // namespace nsacc::python

#endif // NSACC_PYTHON_TUNE_H
