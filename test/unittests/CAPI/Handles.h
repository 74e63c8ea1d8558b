//===- Handles.h - Owning handles for tests of the C interface --*- C++ -*-===//

#ifndef NSACC_TEST_UNITTESTS_CAPI_HANDLES_H
#define NSACC_TEST_UNITTESTS_CAPI_HANDLES_H

#include "nsacc-c/nsacc.h"
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

struct Destroy {
  void operator()(nsacc_error *error) const { nsacc_error_destroy(error); }
  void operator()(nsacc_options *options) const {
    nsacc_options_destroy(options);
  }
  void operator()(nsacc_program *program) const {
    nsacc_program_destroy(program);
  }
  void operator()(nsacc_run_options *options) const {
    nsacc_run_options_destroy(options);
  }
  void operator()(nsacc_shapes *shapes) const { nsacc_shapes_destroy(shapes); }
};

template <typename T> using Handle = std::unique_ptr<T, Destroy>;

/// A function's status, with its error.
struct Outcome {
  nsacc_status status = NSACC_OK;
  Handle<nsacc_error> error;

  std::string message() const {
    return error ? nsacc_error_message(error.get()) : "";
  }
  nsacc_error_kind kind() const { return nsacc_error_get_kind(error.get()); }
};

struct Compiled : Outcome {
  Handle<nsacc_program> program;
};

using Params = std::initializer_list<std::pair<const char *, const char *>>;

/// Compiles with f32 storage.
inline Compiled compile(const std::string &source, Params params = {},
                        const char *kernel = nullptr,
                        const char *target = nullptr) {
  Handle<nsacc_options> options(nsacc_options_create());
  nsacc_options_set_dtype(options.get(), "f32");
  if (kernel)
    nsacc_options_set_kernel(options.get(), kernel);
  if (target)
    nsacc_options_set_target(options.get(), target);
  for (auto [name, value] : params)
    nsacc_options_set_param(options.get(), name, value);
  nsacc_program *program = nullptr;
  nsacc_error *error = nullptr;
  Compiled result;
  result.status = nsacc_compile(source.data(), source.size(), "test.nsa",
                                options.get(), &program, &error);
  result.error.reset(error);
  result.program.reset(program);
  return result;
}

inline Compiled compileForOracle(const std::string &source) {
  return compile(source, {}, nullptr, "oracle");
}

/// A row-major tensor that owns its elements.
template <typename T> struct Array {
  Array(nsacc_dtype dtype, std::vector<int64_t> shape, T fill = T())
      : dtype(dtype), shape(std::move(shape)) {
    size_t count = 1;
    for (int64_t size : this->shape)
      count *= size;
    data.assign(count, fill);
  }

  nsacc_tensor get() {
    return {data.data(), dtype, int32_t(shape.size()), shape.data(), nullptr};
  }

  nsacc_dtype dtype;
  std::vector<int64_t> shape;
  std::vector<T> data;
};

struct Floats : Array<float> {
  explicit Floats(std::vector<int64_t> shape, float fill = 0)
      : Array(NSACC_DTYPE_F32, std::move(shape), fill) {}
};

inline Outcome run(const nsacc_program *program,
                   const std::vector<nsacc_tensor> &inputs,
                   const std::vector<nsacc_tensor> &outputs,
                   const nsacc_run_options *options = nullptr) {
  nsacc_error *error = nullptr;
  Outcome result;
  result.status =
      nsacc_program_run(program, inputs.data(), inputs.size(), outputs.data(),
                        outputs.size(), options, &error);
  result.error.reset(error);
  return result;
}

inline constexpr const char *causal = R"(
kernel causal(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV]) -> [B, T, HQ, DV] {
  return attend(q, k, v) where j <= i;
}
)";

#endif // NSACC_TEST_UNITTESTS_CAPI_HANDLES_H
