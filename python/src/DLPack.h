//===- DLPack.h - The DLPack exchange structures ----------------*- C++ -*-===//
//
// Layouts of DLPack 1.0, of the unversioned exchange before it, and of the C
// functions that DLPack 1.3 adds to the classes of tensors.
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

/// The content of capsules named "dltensor".
struct ManagedTensor {
  Tensor tensor;
  void *managerContext;
  void (*deleter)(ManagedTensor *);
};

/// The content of capsules named "dltensor_versioned".
struct VersionedTensor {
  struct {
    uint32_t major, minor;
  } version;
  void *managerContext;
  void (*deleter)(VersionedTensor *);
  uint64_t flags;
  Tensor tensor;
};

/// The content of a class's `__dlpack_c_exchange_api__`, a capsule named
/// "dlpack_exchange_api". Functions return 0, or -1 with a Python exception.
/// They need the GIL.
struct ExchangeAPI {
  struct {
    uint32_t major, minor;
  } version;
  void *previous; ///< an older version of this struct
  void *allocate;
  void *toManaged;
  void *fromManaged;
  /// Borrows from an object of the class while the object lives; may be null.
  int (*lend)(void *object, Tensor *result);
  int (*getCurrentStream)(DeviceType type, int32_t device, void **stream);
};

} // namespace nsacc::python::dlpack

#endif // NSACC_PYTHON_DLPACK_H
