//===- Module.cpp - The extension module _nsacc ---------------------------===//

#include "Errors.h"
#include "Explain.h"
#include "HostTensor.h"
#include "Program.h"
#include "QuickCall.h"
#include "Tune.h"
#include "Unlocked.h"
#include "nsacc-c/nsacc.h"
#include <string>

namespace py = pybind11;
using namespace nsacc::python;

/// A tuple of `get(0)`, `get(1)`, …
static py::tuple toTuple(size_t count, const char *(*get)(size_t)) {
  py::tuple result(count);
  for (size_t index = 0; index < count; ++index)
    result[index] = py::str(get(index));
  return result;
}

PYBIND11_MODULE(_nsacc, module) {
  module.doc() = "The C interface of nsacc; use the package nsacc instead.";
  if (nsacc_abi_version() != NSACC_ABI_VERSION)
    throw py::import_error("libnsacc.so has ABI version " +
                           std::to_string(nsacc_abi_version()) + ", expected " +
                           std::to_string(NSACC_ABI_VERSION) +
                           ": another nsacc comes first on the library path");
  module.attr("version") = nsacc_version();
  module.attr("llvm_version") = nsacc_llvm_version();
  module.attr("abi_version") = nsacc_abi_version();
  module.attr("targets") = toTuple(nsacc_num_targets(), nsacc_target_name);
  module.attr("variables") =
      toTuple(nsacc_num_variables(), nsacc_variable_name);
  module.def("threads_from_environment", [] {
    uint32_t threads = 0;
    nsacc_error *error = nullptr;
    nsacc_status status = nsacc_threads_from_environment(&threads, &error);
    check(status, ErrorHandle(error));
    return threads;
  });
  watchInterpreter();
  bindHostTensor(module);
  bindProgram(module);
  bindExplain(module);
  bindTune(module);
  bindQuickCall(module);
}
