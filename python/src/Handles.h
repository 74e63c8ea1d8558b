//===- Handles.h - Owners of objects of the C interface ---------*- C++ -*-===//

#ifndef NSACC_PYTHON_HANDLES_H
#define NSACC_PYTHON_HANDLES_H

#include "Errors.h"
#include "nsacc-c/nsacc.h"
#include <memory>
#include <new>
#include <optional>

namespace nsacc::python {

struct Deleter {
  void operator()(nsacc_program *program) const {
    nsacc_program_destroy(program);
  }
  void operator()(nsacc_options *options) const {
    nsacc_options_destroy(options);
  }
  void operator()(nsacc_run_options *options) const {
    nsacc_run_options_destroy(options);
  }
  void operator()(nsacc_shapes *shapes) const { nsacc_shapes_destroy(shapes); }
  void operator()(nsacc_text *text) const { nsacc_text_destroy(text); }
};

template <typename T> using Handle = std::unique_ptr<T, Deleter>;

template <typename T> Handle<T> checkMemory(T *pointer) {
  if (!pointer)
    throw std::bad_alloc();
  return Handle<T>(pointer);
}

/// Options of a run on the tensors' device.
inline Handle<nsacc_run_options> makeRunOptions(std::optional<int> device,
                                                uintptr_t stream) {
  Handle<nsacc_run_options> options = checkMemory(nsacc_run_options_create());
  if (device)
    check(nsacc_run_options_set_device(options.get(), *device,
                                       reinterpret_cast<void *>(stream)),
          nullptr);
  return options;
}

} // namespace nsacc::python

#endif // NSACC_PYTHON_HANDLES_H
