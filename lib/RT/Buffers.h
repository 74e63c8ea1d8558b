//===- Buffers.h - Tensors of a launch --------------------------*- C++ -*-===//

#ifndef NSACC_LIB_RT_BUFFERS_H
#define NSACC_LIB_RT_BUFFERS_H

#include "Failure.h"
#include "nsacc/RT/Package.h"
#include <algorithm>
#include <array>

namespace nsacc::rt {

/// A strided buffer at run time.
struct Buffer {
  uint64_t address = 0;
  uint32_t rank = 0;
  DType dtype = DType::F32;
  std::array<int64_t, kMaxRank> sizes, strides;
  /// The numbers of the caller's dimensions, for messages.
  std::array<uint32_t, kMaxRank> given;

  bool isEmpty() const;
  /// Sets row-major strides for the sizes. False if the buffer is too large.
  bool setStrides(int64_t &bytes);
  /// Reorders the caller's dimensions to those of kernels: dimension i becomes
  /// dimension order[i].
  void reorder(const std::vector<uint32_t> &order);
};

/// Two dimensions of parameters that have the same name.
struct SameSize {
  uint32_t parameter, dim, firstParameter, firstDim;
};

/// Each dimension with a name that an earlier dimension has, with the first
/// such dimension.
std::vector<SameSize> findSameSizes(const std::vector<Parameter> &parameters);

/// A target's requirements on tensors.
struct TensorRules {
  /// Upper bound of sizes; they must be less.
  int64_t sizeLimit;
  /// Whether strides must be the ones that code was compiled for.
  bool fixesStrides;
};
inline constexpr TensorRules kDeviceTensors = {kDeviceSizeLimit, true};
inline constexpr TensorRules kHostTensors = {INT64_MAX, false};

/// The tensors of a call as buffers, with the dimensions in the caller's order.
/// Throws if they don't match the parameters; messages contain the parameter's
/// name.
void bindTensors(const std::vector<Parameter> &parameters,
                 const std::vector<SameSize> &sameSizes,
                 const nsacc_rt_tensor *tensors, size_t count,
                 const TensorRules &rules, std::vector<Buffer> &buffers);

/// The memory from a tensor's first element to its last.
struct Extent {
  uint64_t first, end;
  /// Whether all of it belongs to the tensor.
  bool isDense;

  static Extent get(const Buffer &buffer);
  bool meets(const Extent &other) const {
    return std::max(first, other.first) < std::min(end, other.end);
  }
};

/// Throws if a result certainly shares memory with another result, or, unless
/// that is allowed, with an input. Tensors with gaps may lie in each other's
/// gaps.
void checkApart(const std::vector<Parameter> &parameters,
                const std::vector<Buffer> &buffers, bool mayShareInputs);

/// Throws if a tensor with elements has no memory.
void checkData(const std::vector<Parameter> &parameters,
               const std::vector<Buffer> &buffers);

/// Throws if offsets of ragged rows, in the process's memory, don't rise from 0
/// to the number of tokens.
void checkOffsets(const std::vector<Parameter> &parameters,
                  const std::vector<Buffer> &buffers);

/// "input 'q'", "result 'o'"
std::string describe(const Parameter &parameter);

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_BUFFERS_H
