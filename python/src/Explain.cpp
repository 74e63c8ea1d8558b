//===- Explain.cpp - Explanations of programs, for Python -----------------===//

#include "Explain.h"
#include "Handles.h"
#include "Program.h"
#include "Unlocked.h"
#include <string>

namespace py = pybind11;
using namespace nsacc::python;

static std::string explain(py::handle program, const std::string &request) {
  const nsacc_program *handle = getProgram(program);
  nsacc_text *text = nullptr;
  callUnlocked([&](nsacc_error **error) {
    return nsacc_program_explain(handle, request.c_str(), &text, error);
  });
  Handle<nsacc_text> found(text);
  return {nsacc_text_data(text), nsacc_text_size(text)};
}

void nsacc::python::bindExplain(py::module_ &module) {
  module.def("explain", explain, py::arg("program"), py::arg("request"));
}
