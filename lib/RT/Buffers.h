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
  /// The numbers that the caller's dimensions have, for messages.
  std::array<uint32_t, kMaxRank> given;

  bool isEmpty() const;
  /// Row-major strides for the sizes. False where the buffer is too large.
  bool setStrides(int64_t &bytes);
  /// From the caller's dimensions to those of kernels: dimension i becomes
  /// dimension order[i].
  void reorder(const std::vector<uint32_t> &order);
};

/// Two dimensions of parameters that have the same name.
struct SameSize {
  uint32_t parameter, dim, firstParameter, firstDim;
};

/// Each dimension whose name stood before, with where it stood first.
std::vector<SameSize> findSameSizes(const std::vector<Parameter> &parameters);

/// What a target asks of tensors.
struct TensorRules {
  /// Sizes are below it.
  int64_t sizeLimit;
  /// Whether strides have to be those that code is for.
  bool fixesStrides;
};
inline constexpr TensorRules kDeviceTensors = {kDeviceSizeLimit, true};
inline constexpr TensorRules kHostTensors = {INT64_MAX, false};

/// The tensors of a call as buffers, with the dimensions of the caller. Throws
/// where they aren't what the parameters say; what doesn't fit is told with the
/// parameter's name.
void bindTensors(const std::vector<Parameter> &parameters,
                 const std::vector<SameSize> &sameSizes,
                 const nsacc_rt_tensor *tensors, size_t count,
                 const TensorRules &rules, std::vector<Buffer> &buffers);

/// The memory from a tensor's first element to its last.
struct Extent {
  uint64_t first, end;
  /// Whether all of it is the tensor's.
  bool isDense;

  static Extent get(const Buffer &buffer);
  bool meets(const Extent &other) const {
    return std::max(first, other.first) < std::min(end, other.end);
  }
};

/// Throws where a result surely shares memory with another one, or, unless they
/// may, with an input. Tensors with gaps may stand in each other's.
void checkApart(const std::vector<Parameter> &parameters,
                const std::vector<Buffer> &buffers, bool mayShareInputs);

/// Throws where a tensor with elements has no memory.
void checkData(const std::vector<Parameter> &parameters,
               const std::vector<Buffer> &buffers);

/// Throws where offsets of ragged rows, in the process's memory, don't rise
/// from 0 to the number of tokens.
void checkOffsets(const std::vector<Parameter> &parameters,
                  const std::vector<Buffer> &buffers);

/// "input 'q'", "result 'o'"
std::string describe(const Parameter &parameter);

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_BUFFERS_H
