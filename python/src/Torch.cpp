//===- Torch.cpp - Tensors of torch, without a step through Python --------===//

#include "Torch.h"
#include <algorithm>

namespace py = pybind11;
using namespace nsacc::python;

//===----------------------------------------------------------------------===//
// Objects that are looked up once
//===----------------------------------------------------------------------===//

static const dlpack::ExchangeAPI *getExchange(const py::object &tensorType) {
  py::object capsule =
      py::getattr(tensorType, "__dlpack_c_exchange_api__", py::none());
  constexpr const char *name = "dlpack_exchange_api";
  if (!PyCapsule_IsValid(capsule.ptr(), name))
    return nullptr;
  auto *api = static_cast<const dlpack::ExchangeAPI *>(
      PyCapsule_GetPointer(capsule.ptr(), name));
  bool isKnown = api->version.major == 1 && api->lend && api->getCurrentStream;
  return isKnown ? api : nullptr;
}

static const char *getTorchName(int dtype) {
  switch (dtype) {
  case NSACC_DTYPE_BOOL:
    return "bool";
  case NSACC_DTYPE_I32:
    return "int32";
  case NSACC_DTYPE_I64:
    return "int64";
  case NSACC_DTYPE_F16:
    return "float16";
  case NSACC_DTYPE_BF16:
    return "bfloat16";
  case NSACC_DTYPE_F32:
    return "float32";
  default:
    return "float64";
  }
}

Torch::Torch(py::module_ torch, const dlpack::ExchangeAPI *api)
    : api(api), tensor(torch.attr("Tensor")),
      parameter(torch.attr("nn").attr("Parameter")),
      isGradEnabled(torch.attr("is_grad_enabled")),
      countModes(torch.attr("_C").attr("_len_torch_dispatch_stack")),
      isTracing(torch.attr("_C").attr("_is_tracing")),
      isCasting(torch.attr("_C").attr("_is_any_autocast_enabled")),
      empty(torch.attr("empty")), full(torch.attr("full")),
      deviceType(torch.attr("device")), host(deviceType("cpu")),
      forward(torch.attr("autograd").attr("forward_ad").attr("__dict__")),
      requiresGrad("requires_grad"), isNegated("is_neg"),
      forwardLevel("_current_level"),
      typeAndDevice(py::make_tuple("dtype", "device")) {
  for (int dtype = NSACC_DTYPE_BOOL; dtype <= NSACC_DTYPE_F64; ++dtype)
    dtypes[py::int_(dtype)] = torch.attr(getTorchName(dtype));
}

const Torch *Torch::find() {
  // Never destroyed: the interpreter may end earlier.
  static const Torch *found = nullptr;
  if (found)
    return found;
  PyObject *torch =
      PyDict_GetItemString(PyImport_GetModuleDict(), "torch"); // borrowed
  // Another thread may be importing torch.
  if (!torch || !py::hasattr(torch, "nn") || !py::hasattr(torch, "Tensor"))
    return nullptr;
  auto module = py::reinterpret_borrow<py::module_>(torch);
  if (!py::hasattr(module.attr("nn"), "Parameter") ||
      !py::hasattr(module, "autograd") ||
      !py::hasattr(module.attr("autograd"), "forward_ad"))
    return nullptr;
  if (const dlpack::ExchangeAPI *api = getExchange(module.attr("Tensor")))
    found = new Torch(module, api);
  return found;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static bool isTrue(const py::object &value) { return value.ptr() == Py_True; }

/// Owns the result of a function of Python's C API.
static py::object own(PyObject *object) {
  if (!object)
    throw py::error_already_set();
  return py::reinterpret_steal<py::object>(object);
}

bool Torch::recordsGradient(py::handle object) const {
  return isTrue(own(PyObject_GetAttr(object.ptr(), requiresGrad.ptr()))) &&
         isTrue(own(PyObject_CallNoArgs(isGradEnabled.ptr())));
}

/// Compares a counter of torch. A value that can't be read counts as large
/// enough: then the slow path of a call looks closer.
static bool isAtLeast(PyObject *number, long least) {
  long value = number ? PyLong_AsLong(number) : least;
  if (!PyErr_Occurred())
    return value >= least;
  PyErr_Clear();
  return true;
}

bool Torch::isWatching() const {
  // The level is -1 outside of all levels. The reference is borrowed.
  return isAtLeast(PyDict_GetItemWithError(forward.ptr(), forwardLevel.ptr()),
                   0) ||
         isAtLeast(own(PyObject_CallNoArgs(countModes.ptr())).ptr(), 1) ||
         isTrue(own(PyObject_CallNoArgs(isTracing.ptr()))) ||
         isTrue(own(PyObject_CallNoArgs(isCasting.ptr())));
}

/// Whether a tensor has memory. Tensors that stand for others while functions
/// are transformed, and zeros that aren't stored, have elements, but no memory.
static bool hasMemory(const dlpack::Tensor &view) {
  return view.data || std::find(view.shape, view.shape + view.ndim, 0) !=
                          view.shape + view.ndim;
}

bool Torch::lendOwn(py::handle object, dlpack::Tensor &view) const {
  if (api->lend(object.ptr(), &view) == 0)
    return hasMemory(view);
  PyErr_Clear();
  return false;
}

bool Torch::lend(py::handle object, dlpack::Tensor &view) const {
  return lendOwn(object, view) && !recordsGradient(object) &&
         !isTrue(own(PyObject_CallMethodNoArgs(object.ptr(), isNegated.ptr())));
}

py::object Torch::getDevice(int device) const {
  return device < 0 ? host : deviceType("cuda", device);
}

py::object Torch::allocate(const py::tuple &shape, nsacc_dtype dtype,
                           int device) const {
  // The caller's default device is for other tensors.
  py::object where = getDevice(device), what = dtypes[py::int_(dtype)];
  PyObject *arguments[] = {shape.ptr(), what.ptr(), where.ptr()};
  return own(
      PyObject_Vectorcall(empty.ptr(), arguments, 1, typeAndDevice.ptr()));
}

py::object Torch::fill(py::handle number, nsacc_dtype dtype, int device) const {
  py::object where = getDevice(device), what = dtypes[py::int_(dtype)];
  PyObject *arguments[] = {scalarShape.ptr(), number.ptr(), what.ptr(),
                           where.ptr()};
  return own(
      PyObject_Vectorcall(full.ptr(), arguments, 2, typeAndDevice.ptr()));
}

uintptr_t Torch::getCurrentStream(int device) const {
  void *stream = nullptr;
  if (api->getCurrentStream(dlpack::CUDA, device, &stream) != 0)
    throw py::error_already_set();
  return reinterpret_cast<uintptr_t>(stream);
}
