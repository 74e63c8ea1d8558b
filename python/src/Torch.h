//===- Torch.h - Tensors of torch, without a step through Python -*- C++ -*-==//

#ifndef NSACC_PYTHON_TORCH_H
#define NSACC_PYTHON_TORCH_H

#include "DLPack.h"
#include "nsacc-c/nsacc.h"
#include <pybind11/pybind11.h>

namespace nsacc::python {

/// The functions of torch that a call needs. Torch isn't linked: this uses
/// DLPack's exchange in C, which torch has since 2.10, and objects that were
/// looked up once.
class Torch {
public:
  /// The torch that the process has imported; null if there is none, or if it
  /// lacks the exchange.
  static const Torch *find();

  /// Whether `lend` takes the object: tensors and parameters, but no other
  /// subclass, which may behave in any way.
  bool isTensor(pybind11::handle object) const {
    auto *type = reinterpret_cast<PyObject *>(Py_TYPE(object.ptr()));
    return type == tensor.ptr() || type == parameter.ptr();
  }

  /// Whether calls are watched: by a dispatch mode, as make_fx has, by
  /// torch.jit.trace, for tangents of forward-mode gradients, or by autocast,
  /// which casts. Watchers handle operators; of this path's calls they would
  /// see only the allocation of the results.
  bool isWatching() const;

  /// A view of a tensor's memory while the tensor lives. False if it has no
  /// memory, if its gradients would be lost, or if its elements are to be
  /// negated.
  bool lend(pybind11::handle object, dlpack::Tensor &view) const;
  /// A view of a tensor that `allocate` made.
  bool lendOwn(pybind11::handle object, dlpack::Tensor &view) const;

  /// An uninitialized tensor. Torch allocates it, so that streams that use it
  /// can be recorded. `device` is an index of CUDA's, or -1 for the host.
  pybind11::object allocate(const pybind11::tuple &shape, nsacc_dtype dtype,
                            int device) const;

  /// A tensor of rank 0 on a GPU, filled there, on torch's current stream. A
  /// copy from the host would have to be waited for.
  pybind11::object fill(pybind11::handle number, nsacc_dtype dtype,
                        int device) const;

  /// The handle of torch's current stream.
  uintptr_t getCurrentStream(int device) const;

private:
  Torch(pybind11::module_ torch, const dlpack::ExchangeAPI *api);

  bool recordsGradient(pybind11::handle object) const;
  pybind11::object getDevice(int device) const;

  const dlpack::ExchangeAPI *api;
  pybind11::object tensor, parameter, isGradEnabled, countModes, isTracing,
      isCasting, empty, full, deviceType, host;
  /// The attributes of torch.autograd.forward_ad by name.
  pybind11::dict forward;
  pybind11::dict dtypes;
  pybind11::str requiresGrad, isNegated, forwardLevel;
  pybind11::tuple scalarShape, typeAndDevice;
};

} // namespace nsacc::python

#endif // NSACC_PYTHON_TORCH_H
