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

/// A view of memory that a Python object owns. The object is kept while the
/// view lives.
class HostTensor {
public:
  /// A view of a capsule that `__dlpack__` returned.
  static HostTensor fromDLPack(const pybind11::capsule &capsule);
  /// A view of an object with the buffer protocol. `dtype` replaces the
  /// buffer's format by one of the same size, for element types that the
  /// protocol doesn't know.
  static HostTensor fromBuffer(const pybind11::object &object,
                               const std::optional<std::string> &dtype);

  /// A tensor without memory, to ask for the shapes of results.
  static HostTensor fromShape(const std::string &dtype,
                              const std::vector<int64_t> &shape);

  nsacc_tensor get() const;
  nsacc_dtype getDType() const { return dtype; }
  const std::vector<int64_t> &getShape() const { return shape; }
  bool isReadOnly() const { return readOnly; }
  /// The CUDA device that has the memory, if any.
  std::optional<int> getDevice() const { return device; }

private:
  void *data = nullptr;
  nsacc_dtype dtype = NSACC_DTYPE_F32;
  std::vector<int64_t> shape, strides;
  bool readOnly = false;
  std::optional<int> device;
  std::shared_ptr<void> owner;
};

/// nsacc's element type for a DLPack type, if any.
std::optional<nsacc_dtype> findDType(const dlpack::DataType &type);

void bindHostTensor(pybind11::module_ &module);

} // namespace nsacc::python

#endif // NSACC_PYTHON_HOSTTENSOR_H
