//===- Program.cpp - Compiled programs in Python --------------------------===//

#include "Program.h"
#include "Errors.h"
#include "Handles.h"
#include "HostTensor.h"
#include "Unlocked.h"
#include <map>
#include <pybind11/stl.h>

namespace py = pybind11;
using namespace nsacc::python;

namespace {
/// The result of nsacc.compile.
class Program {
public:
  Program(const std::string &source, const std::string &file,
          const std::string &target, const std::optional<std::string> &device,
          const std::string &schedule, const std::string &dtype,
          const std::optional<std::string> &kernel,
          const std::map<std::string, std::string> &params,
          const std::vector<std::string> &ptxas, uint32_t threads,
          const std::optional<std::string> &tune,
          const std::vector<std::string> &worker);

  /// Loads a package.
  explicit Program(const py::bytes &package);

  const nsacc_program *get() const { return handle.get(); }
  py::bytes
  package(const std::vector<std::map<std::string, int64_t>> &sets) const;
  std::string getIR(const std::string &phase) const;
  std::string getTileIR(const std::map<std::string, int64_t> &sizes) const {
    return printForSizes(nsacc_program_tile_ir, sizes);
  }
  std::string getSchedule(const std::map<std::string, int64_t> &sizes) const {
    return printForSizes(nsacc_program_schedule, sizes);
  }
  py::tuple inferShapes(const std::vector<const HostTensor *> &inputs,
                        std::optional<int> device, uintptr_t stream) const;
  py::tuple run(const std::vector<const HostTensor *> &inputs,
                const std::vector<const HostTensor *> &outputs,
                uint32_t threads, bool roundStorage, bool f64Results,
                std::optional<int> device, uintptr_t stream) const;
  void checkRuns(int device, uintptr_t stream) const;
  std::string takeWarnings() const;

private:
  std::string printForSizes(decltype(&nsacc_program_tile_ir) print,
                            const std::map<std::string, int64_t> &sizes) const;

  Handle<nsacc_program> handle;
};
} // namespace

//===----------------------------------------------------------------------===//
// Compiling and running
//===----------------------------------------------------------------------===//

Program::Program(const std::string &source, const std::string &file,
                 const std::string &target,
                 const std::optional<std::string> &device,
                 const std::string &schedule, const std::string &dtype,
                 const std::optional<std::string> &kernel,
                 const std::map<std::string, std::string> &params,
                 const std::vector<std::string> &ptxas, uint32_t threads,
                 const std::optional<std::string> &tune,
                 const std::vector<std::string> &worker) {
  Handle<nsacc_options> options = checkMemory(nsacc_options_create());
  check(nsacc_options_set_target(options.get(), target.c_str()), nullptr);
  if (device)
    check(nsacc_options_set_device(options.get(), device->c_str()), nullptr);
  check(nsacc_options_set_schedule(options.get(), schedule.c_str()), nullptr);
  check(nsacc_options_set_dtype(options.get(), dtype.c_str()), nullptr);
  if (kernel)
    check(nsacc_options_set_kernel(options.get(), kernel->c_str()), nullptr);
  for (const auto &[name, value] : params)
    check(nsacc_options_set_param(options.get(), name.c_str(), value.c_str()),
          nullptr);
  for (const std::string &path : ptxas)
    check(nsacc_options_add_ptxas(options.get(), path.c_str()), nullptr);
  check(nsacc_options_set_threads(options.get(), threads), nullptr);
  callUnlocked([&](nsacc_error **error) {
    return nsacc_options_set_cache_from_environment(options.get(), error);
  });
  callUnlocked([&](nsacc_error **error) {
    return nsacc_options_set_tuning_from_environment(options.get(), error);
  });
  if (tune)
    check(nsacc_options_set_tuning(options.get(), tune->c_str(), nullptr),
          nullptr);
  for (const std::string &argument : worker)
    check(nsacc_options_add_worker(options.get(), argument.c_str()), nullptr);
  nsacc_program *program = nullptr;
  callUnlocked([&](nsacc_error **error) {
    return nsacc_compile(source.data(), source.size(), file.c_str(),
                         options.get(), &program, error);
  });
  handle.reset(program);
}

Program::Program(const py::bytes &package) {
  std::string_view bytes = package;
  nsacc_program *program = nullptr;
  callUnlocked([&](nsacc_error **error) {
    return nsacc_load_package(bytes.data(), bytes.size(), &program, error);
  });
  handle.reset(program);
}

static py::bytes toBytes(nsacc_text *text) {
  Handle<nsacc_text> owner(text);
  return py::bytes(nsacc_text_data(text), nsacc_text_size(text));
}

py::bytes Program::package(
    const std::vector<std::map<std::string, int64_t>> &sets) const {
  std::vector<const char *> names;
  std::vector<int64_t> sizes;
  std::vector<size_t> lengths;
  for (const auto &set : sets) {
    for (const auto &[name, size] : set) {
      names.push_back(name.c_str());
      sizes.push_back(size);
    }
    lengths.push_back(set.size());
  }
  nsacc_text *text = nullptr;
  callUnlocked([&](nsacc_error **error) {
    return nsacc_program_package(handle.get(), names.data(), sizes.data(),
                                 lengths.data(), lengths.size(), &text, error);
  });
  return toBytes(text);
}

static py::bytes combinePackages(const std::vector<py::bytes> &packages) {
  std::vector<const void *> data;
  std::vector<size_t> sizes;
  for (const py::bytes &package : packages) {
    std::string_view bytes = package;
    data.push_back(bytes.data());
    sizes.push_back(bytes.size());
  }
  nsacc_text *text = nullptr;
  callUnlocked([&](nsacc_error **error) {
    return nsacc_combine_packages(data.data(), sizes.data(), data.size(), &text,
                                  error);
  });
  return toBytes(text);
}

static std::vector<nsacc_tensor>
toC(const std::vector<const HostTensor *> &tensors) {
  std::vector<nsacc_tensor> result;
  for (const HostTensor *tensor : tensors)
    result.push_back(tensor->get());
  return result;
}

std::string Program::getIR(const std::string &phase) const {
  const char *text = nullptr;
  nsacc_error *error = nullptr;
  nsacc_status status =
      nsacc_program_ir(handle.get(), phase.c_str(), &text, &error);
  check(status, ErrorHandle(error));
  return text;
}

std::string
Program::printForSizes(decltype(&nsacc_program_tile_ir) print,
                       const std::map<std::string, int64_t> &sizes) const {
  std::vector<const char *> names;
  std::vector<int64_t> values;
  for (const auto &[name, size] : sizes) {
    names.push_back(name.c_str());
    values.push_back(size);
  }
  nsacc_text *text = nullptr;
  callUnlocked([&](nsacc_error **error) {
    return print(handle.get(), names.data(), values.data(), names.size(), &text,
                 error);
  });
  return nsacc_text_data(Handle<nsacc_text>(text).get());
}

/// The results' shapes, and a warning if the inputs' shapes are odd.
py::tuple Program::inferShapes(const std::vector<const HostTensor *> &inputs,
                               std::optional<int> device,
                               uintptr_t stream) const {
  std::vector<nsacc_tensor> tensors = toC(inputs);
  Handle<nsacc_run_options> options = makeRunOptions(device, stream);
  nsacc_shapes *pointer = nullptr;
  callUnlocked([&](nsacc_error **error) {
    return nsacc_program_infer_shapes_with(handle.get(), tensors.data(),
                                           tensors.size(), options.get(),
                                           &pointer, error);
  });
  Handle<nsacc_shapes> shapes(pointer);
  py::list result;
  for (size_t i = 0, e = nsacc_program_num_results(handle.get()); i < e; ++i) {
    const int64_t *sizes = nsacc_shapes_sizes(pointer, i);
    size_t rank = nsacc_shapes_rank(pointer, i);
    result.append(
        py::tuple(py::cast(std::vector<int64_t>(sizes, sizes + rank))));
  }
  return py::make_tuple(std::move(result), nsacc_shapes_warning(pointer));
}

/// Runs the program. Gives seconds of compiling and running, and bytes of
/// workspace.
py::tuple Program::run(const std::vector<const HostTensor *> &inputs,
                       const std::vector<const HostTensor *> &outputs,
                       uint32_t threads, bool roundStorage, bool f64Results,
                       std::optional<int> device, uintptr_t stream) const {
  for (const HostTensor *output : outputs)
    if (output->isReadOnly())
      throw py::value_error("an output is read-only");
  std::vector<nsacc_tensor> inputTensors = toC(inputs);
  std::vector<nsacc_tensor> outputTensors = toC(outputs);
  Handle<nsacc_run_options> options = makeRunOptions(device, stream);
  nsacc_run_options_set_threads(options.get(), threads);
  nsacc_run_options_set_round_storage(options.get(), roundStorage);
  nsacc_run_options_set_f64_results(options.get(), f64Results);
  nsacc_statistics statistics = {};
  nsacc_run_options_set_statistics(options.get(), &statistics);
  nsacc_run_options_set_interrupt(options.get(), checkSignals, nullptr);
  callUnlocked([&](nsacc_error **error) {
    return nsacc_program_run(handle.get(), inputTensors.data(),
                             inputTensors.size(), outputTensors.data(),
                             outputTensors.size(), options.get(), error);
  });
  return py::make_tuple(statistics.compile_seconds, statistics.run_seconds,
                        statistics.workspace_bytes);
}

void Program::checkRuns(int device, uintptr_t stream) const {
  callUnlocked([&](nsacc_error **error) {
    return nsacc_program_check(handle.get(), device,
                               reinterpret_cast<void *>(stream), error);
  });
}

std::string Program::takeWarnings() const {
  nsacc_text *text = nullptr;
  nsacc_error *error = nullptr;
  nsacc_status status =
      nsacc_program_take_warnings(handle.get(), &text, &error);
  check(status, ErrorHandle(error));
  return nsacc_text_data(Handle<nsacc_text>(text).get());
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

static const char *getName(nsacc_dim_kind kind) {
  switch (kind) {
  case NSACC_DIM_CONSTANT:
    return "constant";
  case NSACC_DIM_NAMED:
    return "named";
  case NSACC_DIM_RAGGED:
    return "ragged";
  case NSACC_DIM_OFFSETS:
    return "offsets";
  case NSACC_DIM_POOL:
    return "pool";
  case NSACC_DIM_POOLED:
    return "pooled";
  case NSACC_DIM_BLOCKS:
    return "blocks";
  }
  return "named";
}

/// An nsacc.signature.Dim.
static py::object toPython(const nsacc_dim *dim) {
  using namespace py::literals;
  return py::module_::import("nsacc.signature")
      .attr("Dim")(
          "text"_a = nsacc_dim_text(dim),
          "kind"_a = getName(nsacc_dim_get_kind(dim)),
          "name"_a = nsacc_dim_name(dim), "count"_a = nsacc_dim_count(dim),
          "ragged"_a = nsacc_dim_is_ragged(dim) != 0,
          "size"_a = nsacc_dim_size(dim), "len"_a = nsacc_dim_len(dim),
          "stride"_a = nsacc_dim_stride(dim), "tail"_a = nsacc_dim_tail(dim),
          "block"_a = nsacc_dim_block(dim));
}

/// An nsacc.signature.TensorSpec.
static py::object toPython(const nsacc_value *value) {
  py::list dims;
  for (size_t i = 0, e = nsacc_value_rank(value); i < e; ++i)
    dims.append(toPython(nsacc_value_dim(value, i)));
  return py::module_::import("nsacc.signature")
      .attr("TensorSpec")(nsacc_value_name(value),
                          nsacc_dtype_name(nsacc_value_dtype(value)),
                          py::tuple(dims));
}

/// A tuple of `get(program, 0)`, `get(program, 1)`, …
template <typename Get>
static py::tuple toTuple(const Program &program,
                         size_t (*count)(const nsacc_program *), Get get) {
  py::list result;
  for (size_t i = 0, e = count(program.get()); i < e; ++i)
    result.append(get(program.get(), i));
  return py::tuple(result);
}

/// Sets of names of dimensions.
static py::tuple getSplits(const nsacc_program *program) {
  py::list splits;
  for (size_t i = 0, e = nsacc_program_num_splits(program); i < e; ++i) {
    py::list names;
    for (size_t j = 0, f = nsacc_program_split_size(program, i); j < f; ++j)
      names.append(nsacc_program_split_dim(program, i, j));
    splits.append(py::tuple(names));
  }
  return py::tuple(splits);
}

static py::dict getParams(const Program &program) {
  py::dict result;
  for (size_t i = 0, e = nsacc_program_num_params(program.get()); i < e; ++i)
    result[nsacc_program_param_name(program.get(), i)] =
        nsacc_program_param_value(program.get(), i);
  return result;
}

const nsacc_program *nsacc::python::getProgram(py::handle program) {
  return program.cast<const Program &>().get();
}

void nsacc::python::bindProgram(py::module_ &module) {
  module.def("combine_packages", &combinePackages, py::arg("packages"));
  py::class_<Program>(module, "Program", "A compiled kernel.")
      .def_static(
          "from_package",
          [](const py::bytes &package) {
            return std::make_unique<Program>(package);
          },
          py::arg("package"))
      .def("package", &Program::package, py::arg("sets"))
      .def(py::init<const std::string &, const std::string &,
                    const std::string &, const std::optional<std::string> &,
                    const std::string &, const std::string &,
                    const std::optional<std::string> &,
                    const std::map<std::string, std::string> &,
                    const std::vector<std::string> &, uint32_t,
                    const std::optional<std::string> &,
                    const std::vector<std::string> &>(),
           py::arg("source"), py::arg("file"), py::arg("target"),
           py::arg("device"), py::arg("schedule"), py::arg("dtype"),
           py::arg("kernel"), py::arg("params"),
           py::arg("ptxas") = std::vector<std::string>(),
           py::arg("threads") = 0, py::arg("tune") = std::nullopt,
           py::arg("worker") = std::vector<std::string>())
      .def_property_readonly("kernel",
                             [](const Program &program) {
                               return nsacc_program_kernel(program.get());
                             })
      .def_property_readonly("target",
                             [](const Program &program) {
                               return nsacc_program_target(program.get());
                             })
      .def_property_readonly("params", &getParams)
      .def_property_readonly(
          "splits",
          [](const Program &program) { return getSplits(program.get()); })
      .def_property_readonly(
          "inputs",
          [](const Program &program) {
            return toTuple(program, nsacc_program_num_inputs,
                           [](const nsacc_program *program, size_t index) {
                             return toPython(
                                 nsacc_program_input(program, index));
                           });
          })
      .def_property_readonly(
          "results",
          [](const Program &program) {
            return toTuple(program, nsacc_program_num_results,
                           [](const nsacc_program *program, size_t index) {
                             return toPython(
                                 nsacc_program_result(program, index));
                           });
          })
      .def_property_readonly(
          "diagnostics",
          [](const Program &program) {
            return toTuple(program, nsacc_program_num_diagnostics,
                           [](const nsacc_program *program, size_t index) {
                             return nsacc::python::toPython(
                                 nsacc_program_diagnostic(program, index));
                           });
          })
      .def_property_readonly(
          "phases",
          [](const Program &program) {
            return toTuple(program, nsacc_program_num_phases,
                           [](const nsacc_program *program, size_t index) {
                             return py::str(
                                 nsacc_program_phase_name(program, index));
                           });
          })
      .def("ir", &Program::getIR, py::arg("phase"))
      .def("tile_ir", &Program::getTileIR, py::arg("sizes"))
      .def("schedule", &Program::getSchedule, py::arg("sizes"))
      .def("infer_shapes", &Program::inferShapes, py::arg("inputs"),
           py::kw_only(), py::arg("device") = py::none(), py::arg("stream") = 0)
      .def("check", &Program::checkRuns, py::arg("device"), py::arg("stream"))
      .def("take_warnings", &Program::takeWarnings)
      .def("run", &Program::run, py::arg("inputs"), py::arg("outputs"),
           py::kw_only(), py::arg("threads") = 0,
           py::arg("round_storage") = false, py::arg("f64_results") = false,
           py::arg("device") = py::none(), py::arg("stream") = 0);
}
