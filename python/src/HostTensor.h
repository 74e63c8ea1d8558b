//===- HostTensor.h - Python's tensors as the C interface sees them -*- C++
//-*-//

#ifndef NSACC_PYTHON_HOSTTENSOR_H
#define NSACC_PYTHON_HOSTTENSOR_H

#include "DLPack.h"
#include "nsacc-c/nsacc.h"
#include <memory>
#include <optional>
#include <pybind11/pybind11.h>
#include <string>
#include <vector>

namespace nsacc::python {

/// A view of memory that a Python object owns, and keeps, while this lives.
class HostTensor {
public:
  /// Of a capsule that `__dlpack__` gave.
  static HostTensor fromDLPack(const pybind11::capsule &capsule);
  /// Of the buffer protocol. `dtype` overrules the buffer's format with one of
  /// the same size, for element types that the protocol doesn't know.
  static HostTensor fromBuffer(const pybind11::object &object,
                               const std::optional<std::string> &dtype);

  /// A tensor without memory, to ask for the shapes of results.
  static HostTensor fromShape(const std::string &dtype,
                              const std::vector<int64_t> &shape);

  nsacc_tensor get() const;
  nsacc_dtype getDType() const { return dtype; }
  const std::vector<int64_t> &getShape() const { return shape; }
  bool isReadOnly() const { return readOnly; }
  /// The CUDA device that the memory is of, if any.
  std::optional<int> getDevice() const { return device; }

private:
  void *data = nullptr;
  nsacc_dtype dtype = NSACC_DTYPE_F32;
  std::vector<int64_t> shape, strides;
  bool readOnly = false;
  std::optional<int> device;
  std::shared_ptr<void> owner;
};

/// The element type that programs know it by, if any.
std::optional<nsacc_dtype> findDType(const dlpack::DataType &type);

void bindHostTensor(pybind11::module_ &module);

} // namespace nsacc::python

#endif // NSACC_PYTHON_HOSTTENSOR_H
