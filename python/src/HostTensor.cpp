//===- HostTensor.cpp - Python's tensors for the C interface --------------===//

#include "HostTensor.h"
#include <cstring>
#include <pybind11/stl.h>

namespace py = pybind11;
using namespace nsacc::python;

//===----------------------------------------------------------------------===//
// DLPack
//===----------------------------------------------------------------------===//

std::optional<nsacc_dtype>
nsacc::python::findDType(const dlpack::DataType &type) {
  if (type.lanes != 1)
    return std::nullopt;
  if (type.code == dlpack::Bool && type.bits == 8)
    return NSACC_DTYPE_BOOL;
  if (type.code == dlpack::Int && type.bits == 32)
    return NSACC_DTYPE_I32;
  if (type.code == dlpack::Int && type.bits == 64)
    return NSACC_DTYPE_I64;
  if (type.code == dlpack::BFloat && type.bits == 16)
    return NSACC_DTYPE_BF16;
  if (type.code == dlpack::Float && type.bits == 16)
    return NSACC_DTYPE_F16;
  if (type.code == dlpack::Float && type.bits == 32)
    return NSACC_DTYPE_F32;
  if (type.code == dlpack::Float && type.bits == 64)
    return NSACC_DTYPE_F64;
  return std::nullopt;
}

static std::string describe(const dlpack::DataType &type) {
  static constexpr const char *names[] = {
      "int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
  std::string name = type.code < std::size(names)
                         ? names[type.code]
                         : "type " + std::to_string(type.code) + " of ";
  name += std::to_string(type.bits);
  return type.lanes == 1 ? name : name + "x" + std::to_string(type.lanes);
}

/// Takes the tensor out of a capsule, and marks the capsule as used.
template <typename Managed>
static Managed *consume(const py::capsule &capsule, const char *name,
                        const char *usedName, std::shared_ptr<void> &owner) {
  if (!PyCapsule_IsValid(capsule.ptr(), name))
    return nullptr;
  auto *managed =
      static_cast<Managed *>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (PyCapsule_SetName(capsule.ptr(), usedName) != 0)
    throw py::error_already_set();
  owner = std::shared_ptr<void>(managed, [](void *pointer) {
    auto *managed = static_cast<Managed *>(pointer);
    if (managed->deleter)
      managed->deleter(managed);
  });
  return managed;
}

static std::vector<int64_t> getRowMajor(const std::vector<int64_t> &shape) {
  std::vector<int64_t> strides(shape.size());
  uint64_t stride = 1;
  for (size_t index = shape.size(); index-- > 0;) {
    strides[index] = int64_t(stride);
    stride *= uint64_t(shape[index]);
  }
  return strides;
}

HostTensor HostTensor::fromDLPack(const py::capsule &capsule) {
  HostTensor result;
  const dlpack::Tensor *tensor = nullptr;
  if (auto *versioned = consume<dlpack::VersionedTensor>(
          capsule, "dltensor_versioned", "used_dltensor_versioned",
          result.owner)) {
    if (versioned->version.major != 1)
      throw py::buffer_error("its DLPack version is " +
                             std::to_string(versioned->version.major) +
                             ", expected 1");
    constexpr uint64_t readOnlyFlag = 1;
    result.readOnly = versioned->flags & readOnlyFlag;
    tensor = &versioned->tensor;
  } else if (auto *managed = consume<dlpack::ManagedTensor>(
                 capsule, "dltensor", "used_dltensor", result.owner)) {
    tensor = &managed->tensor;
  } else {
    throw py::type_error("expected a DLPack capsule that isn't used yet");
  }

  if (tensor->device.type == dlpack::CUDA)
    result.device = tensor->device.id;
  else if (tensor->device.type != dlpack::CPU &&
           tensor->device.type != dlpack::CUDAHost)
    throw py::buffer_error("its memory is neither the host's nor a GPU's");
  std::optional<nsacc_dtype> dtype = findDType(tensor->dtype);
  if (!dtype)
    throw py::type_error("elements of type " + describe(tensor->dtype) +
                         " aren't supported");
  result.dtype = *dtype;
  if (tensor->ndim < 0 || (tensor->ndim > 0 && !tensor->shape))
    throw py::buffer_error("its DLPack shape has " +
                           std::to_string(tensor->ndim) + " dimensions");
  result.data = static_cast<char *>(tensor->data) + tensor->byteOffset;
  result.shape.assign(tensor->shape, tensor->shape + tensor->ndim);
  result.strides = getRowMajor(result.shape);
  if (tensor->strides)
    result.strides.assign(tensor->strides, tensor->strides + tensor->ndim);
  return result;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

static std::shared_ptr<Py_buffer> getBuffer(const py::object &object) {
  auto release = [](Py_buffer *buffer) {
    PyBuffer_Release(buffer);
    delete buffer;
  };
  std::shared_ptr<Py_buffer> buffer(new Py_buffer(), release);
  if (PyObject_GetBuffer(object.ptr(), buffer.get(), PyBUF_RECORDS_RO) != 0)
    throw py::error_already_set();
  return buffer;
}

/// The element type of a native `struct` format.
static std::optional<nsacc_dtype> toDType(const char *format,
                                          Py_ssize_t itemSize) {
  if (!format)
    return std::nullopt;
  if (*format == '@' || *format == '=' || *format == '<')
    ++format;
  if (std::strlen(format) != 1)
    return std::nullopt;
  switch (*format) {
  case '?':
    return NSACC_DTYPE_BOOL;
  case 'i':
  case 'l':
  case 'q':
    return itemSize == 8 ? NSACC_DTYPE_I64 : NSACC_DTYPE_I32;
  case 'e':
    return NSACC_DTYPE_F16;
  case 'f':
    return NSACC_DTYPE_F32;
  case 'd':
    return NSACC_DTYPE_F64;
  default:
    return std::nullopt;
  }
}

static nsacc_dtype parseDType(const std::string &name) {
  for (int value = NSACC_DTYPE_BOOL; value <= NSACC_DTYPE_F64; ++value)
    if (name == nsacc_dtype_name(value))
      return value;
  throw py::value_error("unknown dtype '" + name + "'");
}

HostTensor HostTensor::fromBuffer(const py::object &object,
                                  const std::optional<std::string> &dtype) {
  std::shared_ptr<Py_buffer> buffer = getBuffer(object);
  std::optional<nsacc_dtype> type =
      dtype ? parseDType(*dtype) : toDType(buffer->format, buffer->itemsize);
  if (!type || Py_ssize_t(nsacc_dtype_size(*type)) != buffer->itemsize)
    throw py::type_error("elements of format '" +
                         std::string(buffer->format ? buffer->format : "B") +
                         "' aren't supported");
  HostTensor result;
  result.dtype = *type;
  result.data = buffer->buf;
  result.readOnly = buffer->readonly;
  for (int index = 0; index < buffer->ndim; ++index) {
    if (buffer->strides[index] % buffer->itemsize != 0)
      throw py::buffer_error("its strides aren't multiples of its elements");
    result.shape.push_back(buffer->shape[index]);
    result.strides.push_back(buffer->strides[index] / buffer->itemsize);
  }
  result.owner = std::move(buffer);
  return result;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

HostTensor HostTensor::fromShape(const std::string &dtype,
                                 const std::vector<int64_t> &shape) {
  HostTensor result;
  result.dtype = parseDType(dtype);
  result.shape = shape;
  // Strides of 0 can't overflow, however large the shape.
  result.strides.assign(shape.size(), 0);
  result.readOnly = true;
  return result;
}

//===----------------------------------------------------------------------===//
// Binding
//===----------------------------------------------------------------------===//

nsacc_tensor HostTensor::get() const {
  return {data, dtype, int32_t(shape.size()), shape.data(), strides.data()};
}

void nsacc::python::bindHostTensor(py::module_ &module) {
  py::class_<HostTensor>(module, "HostTensor",
                         "A view of another object's memory, on the host or a "
                         "CUDA device.")
      .def_static("from_dlpack", &HostTensor::fromDLPack, py::arg("capsule"))
      .def_static("from_buffer", &HostTensor::fromBuffer, py::arg("object"),
                  py::arg("dtype") = py::none())
      .def_static("from_shape", &HostTensor::fromShape, py::arg("dtype"),
                  py::arg("shape"))
      .def_property_readonly("dtype",
                             [](const HostTensor &tensor) {
                               return nsacc_dtype_name(tensor.getDType());
                             })
      .def_property_readonly("shape",
                             [](const HostTensor &tensor) {
                               return py::tuple(py::cast(tensor.getShape()));
                             })
      .def_property_readonly("device", &HostTensor::getDevice)
      .def_property_readonly("readonly", &HostTensor::isReadOnly);
}
