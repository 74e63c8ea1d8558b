//===- Tune.cpp - Measuring schedules from Python -------------------------===//

#include "Tune.h"
#include "Handles.h"
#include "Program.h"
#include "Unlocked.h"
#include <string>

namespace py = pybind11;
using namespace nsacc::python;

namespace {
/// A Python function that is called with progress, and the exception that it
/// raised.
struct Reporter {
  py::object function;
  std::exception_ptr raised;
};
} // namespace

/// Not 0 if a signal's handler or the function raised an exception.
static int report(const char *progress, void *data) {
  if (checkSignals(nullptr))
    return 1;
  py::gil_scoped_acquire lock;
  auto &reporter = *static_cast<Reporter *>(data);
  if (!progress || reporter.function.is_none())
    return 0;
  try {
    reporter.function(progress);
  } catch (...) {
    reporter.raised = std::current_exception();
  }
  return reporter.raised != nullptr;
}

static std::string tune(py::handle program, const std::string &request,
                        py::object function) {
  Reporter reporter = {std::move(function), nullptr};
  const nsacc_program *handle = getProgram(program);
  nsacc_text *text = nullptr;
  nsacc_error *error = nullptr;
  nsacc_status status;
  {
    Unlocked unlocked;
    status = nsacc_program_tune(handle, request.c_str(), report, &reporter,
                                &text, &error);
  }
  ErrorHandle owner(error);
  if (reporter.raised)
    std::rethrow_exception(reporter.raised);
  if (PyErr_Occurred())
    throw py::error_already_set();
  check(status, std::move(owner));
  Handle<nsacc_text> found(text);
  return {nsacc_text_data(text), nsacc_text_size(text)};
}

void nsacc::python::bindTune(py::module_ &module) {
  module.def("tune", tune, py::arg("program"), py::arg("request"),
             py::arg("report"));
  module.def("run_worker",
             [](const std::string &job, const std::string &found) {
               Unlocked unlocked;
               return nsacc_run_worker(job.c_str(), found.c_str());
             });
}
