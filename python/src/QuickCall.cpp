//===- QuickCall.cpp - Calls with tensors of torch ------------------------===//

#include "QuickCall.h"
#include "Errors.h"
#include "Handles.h"
#include "HostTensor.h"
#include "Program.h"
#include "Torch.h"
#include "Unlocked.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace py = pybind11;
using namespace nsacc::python;

namespace {

/// With more dimensions, a program's calls are too slow for this to matter.
constexpr int mostDims = 8;

/// An input or a result, copied from torch's tensor: other threads may reshape
/// the tensor while the GIL is released.
struct View {
  nsacc_tensor get() const {
    return {data, dtype, rank, shape.data(), strides.data()};
  }

  void *data = nullptr;
  nsacc_dtype dtype = NSACC_DTYPE_F32;
  int32_t rank = 0;
  std::array<int64_t, mostDims> shape, strides;
  /// Holds a plain number; then `data` points here.
  alignas(8) std::array<char, 8> number;
};

/// The shapes of results for the shapes of inputs, both from the last call.
struct KnownShapes {
  std::vector<int64_t> inputs;
  std::vector<py::tuple> results;
};

class QuickCall {
public:
  QuickCall(py::object program, bool runsOnGPU, py::object makeResults,
            py::object tell);

  /// The results; None if this path can't take the call. Then nothing has been
  /// done.
  py::object call(const py::tuple &inputs);

private:
  /// A call's inputs and their device.
  struct Call {
    explicit Call(const Torch &torch) : torch(torch) {}

    const Torch &torch;
    std::vector<View> inputs;
    std::vector<int64_t> sizes;
    /// Indices of the inputs that are numbers, and on a GPU the tensors that
    /// hold them.
    std::vector<size_t> numbers;
    std::vector<py::object> owners;
    int device = hostDevice;
    uintptr_t stream = 0;
  };
  static constexpr int hostDevice = -1, noDevice = -2;

  static std::optional<int> getDevice(int device) {
    return device == hostDevice ? std::nullopt : std::optional(device);
  }
  bool bind(const py::tuple &inputs, Call &call) const;
  bool bindTensor(py::handle input, size_t index, Call &call) const;
  bool moveNumbers(const py::tuple &inputs, Call &call) const;
  const std::vector<py::tuple> *findShapes(const Call &call);
  py::object run(const Call &call, const std::vector<py::tuple> &shapes) const;
  py::object toResult(std::vector<py::object> tensors) const;

  py::object program;
  const nsacc_program *handle;
  bool runsOnGPU;
  /// A class of tuples for several results, else None.
  py::object makeResults;
  /// Reports warnings that arose while code was made.
  py::object tell;
  std::vector<nsacc_dtype> inputTypes, resultTypes;
  std::vector<size_t> ranks;
  bool areShapesOfShapes = true, hasWarned = false;
  KnownShapes known;
};

} // namespace

QuickCall::QuickCall(py::object object, bool runsOnGPU, py::object makeResults,
                     py::object tell)
    : program(std::move(object)), handle(getProgram(program)),
      runsOnGPU(runsOnGPU), makeResults(std::move(makeResults)),
      tell(std::move(tell)) {
  for (size_t i = 0, e = nsacc_program_num_inputs(handle); i < e; ++i) {
    const nsacc_value *input = nsacc_program_input(handle, i);
    inputTypes.push_back(nsacc_value_dtype(input));
    ranks.push_back(nsacc_value_rank(input));
    // The lengths of rows depend on the values of their offsets.
    if (ranks.back() == 1 &&
        nsacc_dim_get_kind(nsacc_value_dim(input, 0)) == NSACC_DIM_OFFSETS)
      areShapesOfShapes = false;
  }
  for (size_t i = 0, e = nsacc_program_num_results(handle); i < e; ++i)
    resultTypes.push_back(nsacc_value_dtype(nsacc_program_result(handle, i)));
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// Borrows a tensor. False if its type isn't the program's, or it has too many
/// dimensions.
static bool borrow(const dlpack::Tensor &from, nsacc_dtype dtype, View &view) {
  std::optional<nsacc_dtype> found = findDType(from.dtype);
  if (found != dtype || from.ndim > mostDims || (from.ndim && !from.strides))
    return false;
  view.data = static_cast<char *>(from.data) + from.byteOffset;
  view.dtype = dtype;
  view.rank = from.ndim;
  std::copy_n(from.shape, from.ndim, view.shape.begin());
  std::copy_n(from.strides, from.ndim, view.strides.begin());
  return true;
}

template <typename T> static bool write(T number, View &view) {
  std::memcpy(view.number.data(), &number, sizeof(T));
  return true;
}

template <typename T> static bool writeInteger(PyObject *number, View &view) {
  int overflow = 0;
  long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow || value < std::numeric_limits<T>::min() ||
      value > std::numeric_limits<T>::max())
    return false;
  return write(T(value), view);
}

static bool writeReal(PyObject *number, View &view) {
  double value = PyFloat_CheckExact(number) ? PyFloat_AS_DOUBLE(number)
                                            : PyLong_AsDouble(number);
  if (PyErr_Occurred()) {
    PyErr_Clear();
    return false;
  }
  float narrow = float(value);
  return std::isinf(narrow) == std::isinf(value) && write(narrow, view);
}

/// Converts a plain number. False if its type can't hold it, and for f16 and
/// bf16, for which NumPy rounds.
static bool convert(PyObject *number, nsacc_dtype dtype, View &view) {
  view.data = view.number.data();
  view.dtype = dtype;
  if (dtype == NSACC_DTYPE_BOOL)
    return PyBool_Check(number) && write(number == Py_True, view);
  if (dtype == NSACC_DTYPE_I32)
    return PyLong_CheckExact(number) && writeInteger<int32_t>(number, view);
  if (dtype == NSACC_DTYPE_I64)
    return PyLong_CheckExact(number) && writeInteger<int64_t>(number, view);
  return dtype == NSACC_DTYPE_F32 &&
         (PyFloat_CheckExact(number) || PyLong_CheckExact(number)) &&
         writeReal(number, view);
}

bool QuickCall::bindTensor(py::handle input, size_t index, Call &call) const {
  dlpack::Tensor lent;
  View &view = call.inputs[index];
  if (!call.torch.lend(input, lent) || !borrow(lent, inputTypes[index], view))
    return false;
  bool isOnHost =
      lent.device.type == dlpack::CPU || lent.device.type == dlpack::CUDAHost;
  if (!isOnHost && (!runsOnGPU || lent.device.type != dlpack::CUDA))
    return false;
  int device = isOnHost ? hostDevice : lent.device.id;
  if (call.device == noDevice)
    call.device = device;
  call.sizes.push_back(view.rank);
  call.sizes.insert(call.sizes.end(), view.shape.begin(),
                    view.shape.begin() + view.rank);
  return call.device == device;
}

bool QuickCall::bind(const py::tuple &inputs, Call &call) const {
  call.device = noDevice;
  call.inputs.resize(inputs.size());
  call.sizes.reserve(inputs.size() * 5);
  for (size_t index = 0; index < inputs.size(); ++index) {
    py::handle input = PyTuple_GET_ITEM(inputs.ptr(), index);
    if (call.torch.isTensor(input)) {
      if (!bindTensor(input, index, call))
        return false;
    } else if (ranks[index] != 0 ||
               !convert(input.ptr(), inputTypes[index], call.inputs[index])) {
      return false;
    } else {
      call.numbers.push_back(index);
    }
  }
  // Without an input tensor, the results' library isn't known.
  if (call.device == noDevice)
    return false;
  if (call.device == hostDevice)
    return true;
  call.stream = call.torch.getCurrentStream(call.device);
  return moveNumbers(inputs, call);
}

/// Moves numbers to the GPU of the other inputs.
bool QuickCall::moveNumbers(const py::tuple &inputs, Call &call) const {
  for (size_t index : call.numbers) {
    py::handle number = PyTuple_GET_ITEM(inputs.ptr(), index);
    call.owners.push_back(
        call.torch.fill(number, inputTypes[index], call.device));
    dlpack::Tensor lent;
    if (!call.torch.isTensor(call.owners.back()) ||
        !call.torch.lendOwn(call.owners.back(), lent) ||
        !borrow(lent, inputTypes[index], call.inputs[index]))
      return false;
  }
  return true;
}

static std::vector<nsacc_tensor> toC(const std::vector<View> &views) {
  std::vector<nsacc_tensor> tensors;
  tensors.reserve(views.size());
  for (const View &view : views)
    tensors.push_back(view.get());
  return tensors;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Null if the inputs don't fit, or if there is a warning to print.
const std::vector<py::tuple> *QuickCall::findShapes(const Call &call) {
  if (areShapesOfShapes && !known.results.empty() && known.inputs == call.sizes)
    return &known.results;
  std::vector<nsacc_tensor> inputs = toC(call.inputs);
  Handle<nsacc_run_options> options =
      makeRunOptions(getDevice(call.device), call.stream);
  nsacc_shapes *pointer = nullptr;
  nsacc_error *error = nullptr;
  nsacc_status status;
  {
    Unlocked unlocked;
    status = nsacc_program_infer_shapes_with(
        handle, inputs.data(), inputs.size(), options.get(), &pointer, &error);
  }
  Handle<nsacc_shapes> shapes(pointer);
  ErrorHandle owner(error);
  if (status != NSACC_OK)
    return nullptr;
  // The slow path of a call warns, once for each program.
  if (*nsacc_shapes_warning(pointer) && !std::exchange(hasWarned, true))
    return nullptr;
  KnownShapes found = {call.sizes, {}};
  for (size_t i = 0; i < resultTypes.size(); ++i) {
    const int64_t *sizes = nsacc_shapes_sizes(pointer, i);
    py::tuple shape(nsacc_shapes_rank(pointer, i));
    for (size_t dim = 0; dim < shape.size(); ++dim)
      shape[dim] = py::int_(sizes[dim]);
    found.results.push_back(std::move(shape));
  }
  known = std::move(found);
  return &known.results;
}

py::object QuickCall::toResult(std::vector<py::object> tensors) const {
  if (makeResults.is_none())
    return std::move(tensors.front());
  py::tuple values(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    values[i] = std::move(tensors[i]);
  // Same as the class's constructor, which takes a step through Python.
  py::tuple arguments = py::make_tuple(std::move(values));
  auto *type = reinterpret_cast<PyTypeObject *>(makeResults.ptr());
  PyObject *result = PyTuple_Type.tp_new(type, arguments.ptr(), nullptr);
  if (!result)
    throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

py::object QuickCall::run(const Call &call,
                          const std::vector<py::tuple> &shapes) const {
  std::vector<py::object> tensors;
  std::vector<View> views(shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    tensors.push_back(
        call.torch.allocate(shapes[i], resultTypes[i], call.device));
    dlpack::Tensor lent;
    if (!call.torch.isTensor(tensors[i]) ||
        !call.torch.lendOwn(tensors[i], lent) ||
        !borrow(lent, resultTypes[i], views[i]))
      return py::none();
  }
  uint32_t threads = 0;
  nsacc_error *error = nullptr;
  nsacc_status status = nsacc_threads_from_environment(&threads, &error);
  check(status, ErrorHandle(error));

  std::vector<nsacc_tensor> inputs = toC(call.inputs), outputs = toC(views);
  Handle<nsacc_run_options> options =
      makeRunOptions(getDevice(call.device), call.stream);
  nsacc_run_options_set_threads(options.get(), threads);
  nsacc_statistics statistics = {};
  nsacc_run_options_set_statistics(options.get(), &statistics);
  nsacc_run_options_set_interrupt(options.get(), checkSignals, nullptr);
  callUnlocked([&](nsacc_error **error) {
    return nsacc_program_run(handle, inputs.data(), inputs.size(),
                             outputs.data(), outputs.size(), options.get(),
                             error);
  });
  if (statistics.compile_seconds > 0)
    tell(program);
  return toResult(std::move(tensors));
}

py::object QuickCall::call(const py::tuple &inputs) {
  const Torch *torch = Torch::find();
  if (!torch || inputs.size() != inputTypes.size() || torch->isWatching())
    return py::none();
  Call call(*torch);
  if (!bind(inputs, call))
    return py::none();
  const std::vector<py::tuple> *shapes = findShapes(call);
  if (!shapes)
    return py::none();
  // Another thread's call may replace the known shapes, so this copies them.
  return run(call, std::vector<py::tuple>(*shapes));
}

void nsacc::python::bindQuickCall(py::module_ &module) {
  py::class_<QuickCall>(module, "QuickCall",
                        "Calls a program with tensors of torch, or says None.")
      .def(py::init<py::object, bool, py::object, py::object>(),
           py::arg("program"), py::arg("runs_on_gpu"), py::arg("make_results"),
           py::arg("tell"))
      .def("__call__", &QuickCall::call, py::arg("inputs"));
}
