//===- DLPack.h - The DLPack exchange structures ----------------*- C++ -*-===//
//
// The layouts of DLPack 1.0 and of the unversioned exchange before it.
//
//===----------------------------------------------------------------------===//

#ifndef NSACC_PYTHON_DLPACK_H
#define NSACC_PYTHON_DLPACK_H

#include <cstdint>

namespace nsacc::python::dlpack {

enum DeviceType : int32_t { CPU = 1, CUDA = 2, CUDAHost = 3 };

enum TypeCode : uint8_t { Int = 0, UInt = 1, Float = 2, BFloat = 4, Bool = 6 };

struct Device {
  int32_t type;
  int32_t id;
};

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct Tensor {
  void *data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t *shape;
  int64_t *strides; ///< in elements; null: row-major
  uint64_t byteOffset;
};

/// In capsules named "dltensor".
struct ManagedTensor {
  Tensor tensor;
  void *managerContext;
  void (*deleter)(ManagedTensor *);
};

/// In capsules named "dltensor_versioned".
struct VersionedTensor {
  struct {
    uint32_t major, minor;
  } version;
  void *managerContext;
  void (*deleter)(VersionedTensor *);
  uint64_t flags;
  Tensor tensor;
};

} // namespace nsacc::python::dlpack

#endif // NSACC_PYTHON_DLPACK_H
