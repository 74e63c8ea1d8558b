//===- Errors.cpp - Errors of the C interface as exceptions ---------------===//

#include "Errors.h"

namespace py = pybind11;
using namespace nsacc::python;

/// Program texts needn't be UTF-8, and diagnostics may quote them.
static py::str toPython(const char *text) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(text, std::strlen(text), "replace"));
}

static const char *getClass(nsacc_error_kind kind) {
  switch (kind) {
  case NSACC_ERROR_KIND_COMPILE:
    return "CompileError";
  case NSACC_ERROR_KIND_ARGUMENT:
  case NSACC_ERROR_KIND_USAGE:
    return "ArgumentError";
  case NSACC_ERROR_KIND_TARGET:
    return "TargetError";
  case NSACC_ERROR_KIND_FILE:
    return "NsaccError";
  case NSACC_ERROR_KIND_INTERRUPTED:
    return "NsaccError";
  case NSACC_ERROR_KIND_INTERNAL:
    return "InternalError";
  }
  return "InternalError";
}

py::object nsacc::python::toPython(const nsacc_diagnostic *diagnostic) {
  py::list notes;
  for (size_t i = 0, e = nsacc_diagnostic_num_notes(diagnostic); i < e; ++i)
    notes.append(toPython(nsacc_diagnostic_note(diagnostic, i)));
  return py::module_::import("nsacc.errors")
      .attr("Diagnostic")(nsacc_diagnostic_severity_name(diagnostic),
                          ::toPython(nsacc_diagnostic_message(diagnostic)),
                          ::toPython(nsacc_diagnostic_file(diagnostic)),
                          nsacc_diagnostic_line(diagnostic),
                          nsacc_diagnostic_column(diagnostic),
                          nsacc_diagnostic_end_line(diagnostic),
                          nsacc_diagnostic_end_column(diagnostic),
                          py::tuple(notes),
                          ::toPython(nsacc_diagnostic_text(diagnostic)));
}

void nsacc::python::check(nsacc_status status, ErrorHandle error) {
  if (status == NSACC_OK)
    return;
  if (!error)
    throw std::bad_alloc();
  // The signal's handler raised an exception, usually KeyboardInterrupt.
  if (PyErr_Occurred())
    throw py::error_already_set();
  py::object type = py::module_::import("nsacc.errors")
                        .attr(getClass(nsacc_error_get_kind(error.get())));
  py::list diagnostics;
  for (size_t i = 0, e = nsacc_error_num_diagnostics(error.get()); i < e; ++i)
    diagnostics.append(toPython(nsacc_error_diagnostic(error.get(), i)));
  py::object exception =
      type(::toPython(nsacc_error_message(error.get())),
           ::toPython(nsacc_error_text(error.get())), py::tuple(diagnostics));
  PyErr_SetObject(type.ptr(), exception.ptr());
  throw py::error_already_set();
}
