//===- Buffers.cpp - Tensors of a launch ----------------------------------===//

#include "Buffers.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

using namespace nsacc::rt;

bool Buffer::isEmpty() const {
  return std::find(sizes.begin(), sizes.begin() + rank, 0) !=
         sizes.begin() + rank;
}

bool Buffer::setStrides(int64_t &bytes) {
  for (uint32_t dim = 0; dim < rank; ++dim)
    given[dim] = dim;
  return rt::setStrides(rank, sizes.data(), getBytes(dtype), strides.data(),
                        bytes);
}

void Buffer::reorder(const std::vector<uint32_t> &order) {
  std::array<int64_t, kMaxRank> givenSizes = sizes, givenStrides = strides;
  for (uint32_t dim = 0; dim < rank; ++dim) {
    sizes[order[dim]] = givenSizes[dim];
    strides[order[dim]] = givenStrides[dim];
    given[order[dim]] = dim;
  }
}

std::string nsacc::rt::describe(const Parameter &parameter) {
  return (parameter.isResult ? "result '" : "input '") + parameter.name + "'";
}

[[noreturn]] static void fail(const Parameter &parameter,
                              const std::string &message) {
  throw Failure(NSACC_RT_INVALID, describe(parameter) + ": " + message);
}

static std::string describe(const int64_t *sizes, size_t rank) {
  std::string text = "[";
  for (size_t dim = 0; dim < rank; ++dim)
    text += (dim ? ", " : "") + std::to_string(sizes[dim]);
  return text + "]";
}

/// The largest size below a limit: "2^29 - 1", "2^63 - 2".
static std::string describeLargest(int64_t limit) {
  int bits = 0;
  while (bits < 63 && INT64_C(1) << bits < limit)
    ++bits;
  uint64_t less = (UINT64_C(1) << bits) - static_cast<uint64_t>(limit - 1);
  return "2^" + std::to_string(bits) + " - " + std::to_string(less);
}

static void bindShape(const Parameter &parameter, const nsacc_rt_tensor &tensor,
                      const TensorRules &rules, Buffer &buffer) {
  size_t rank = parameter.sizes.size();
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t size = tensor.shape[dim];
    if (size < 0 || size >= rules.sizeLimit)
      fail(parameter, "size " + std::to_string(dim) + " is " +
                          std::to_string(size) +
                          "; sizes have to be from 0 to " +
                          describeLargest(rules.sizeLimit));
    const Size &expected = parameter.sizes[dim];
    if (expected.fixed && *expected.fixed != size && !expected.name.empty())
      fail(parameter, expected.name + " is " + std::to_string(size) + " in " +
                          describe(tensor.shape, rank) +
                          "; this package was compiled for " + expected.name +
                          " = " + std::to_string(*expected.fixed));
    if (expected.fixed && *expected.fixed != size)
      fail(parameter, "size " + std::to_string(dim) + " of " +
                          describe(tensor.shape, rank) + " is " +
                          std::to_string(size) +
                          "; this package was compiled "
                          "for " +
                          std::to_string(*expected.fixed));
    buffer.sizes[dim] = size;
  }
}

static void bindStrides(const Parameter &parameter,
                        const nsacc_rt_tensor &tensor, const TensorRules &rules,
                        Buffer &buffer) {
  int64_t bytes;
  if (!buffer.setStrides(bytes))
    fail(parameter, "shape " + describe(tensor.shape, buffer.rank) +
                        " has more elements than memory can hold");
  if (!tensor.strides)
    return;
  for (uint32_t dim = 0; dim < buffer.rank; ++dim) {
    std::optional<int64_t> expected = parameter.strides[dim];
    // The stride of a dimension of one element is never used.
    if (buffer.sizes[dim] <= 1)
      continue;
    buffer.strides[dim] = tensor.strides[dim];
    if (rules.fixesStrides && expected && *expected != tensor.strides[dim])
      fail(parameter, "dimension " + std::to_string(dim) + " has stride " +
                          std::to_string(tensor.strides[dim]) +
                          "; this package was compiled for stride " +
                          std::to_string(*expected) +
                          ": pass a contiguous tensor");
  }
}

/// Fails unless the distance in bytes from a tensor's first element to each
/// other element fits 64 bits.
static void checkReach(const Parameter &parameter, const Buffer &buffer) {
  int64_t reach = 0;
  for (uint32_t dim = 0; dim < buffer.rank; ++dim) {
    int64_t stride = buffer.strides[dim], step = 0;
    int64_t last = std::max<int64_t>(buffer.sizes[dim], 1) - 1;
    if (stride == INT64_MIN ||
        __builtin_mul_overflow(last, std::abs(stride), &step) ||
        __builtin_add_overflow(reach, step, &reach) ||
        reach > INT64_MAX / getBytes(buffer.dtype))
      fail(parameter, "its strides reach farther than memory does");
  }
}

namespace {
/// Looks for two elements of a tensor at the same address.
class SharedPlace {
public:
  explicit SharedPlace(const Buffer &buffer) {
    for (uint32_t dim = 0; dim < buffer.rank; ++dim)
      if (buffer.sizes[dim] > 1)
        dims[count++] = {std::abs(buffer.strides[dim]), buffer.sizes[dim] - 1};
    std::sort(dims.begin(), dims.begin() + count);
    int64_t below = 0;
    for (uint32_t dim = 0; dim < count; ++dim) {
      reach[dim] = below;
      isNested &= dims[dim].stride > below;
      below += dims[dim].stride * dims[dim].last;
    }
  }

  /// Whether there are two. The search ends after a number of steps; tensors
  /// that take more are the caller's responsibility.
  bool isThere() { return !isNested && isThere(count, 0, /*isSame=*/true); }

private:
  struct Dim {
    int64_t stride, last;
    auto operator<=>(const Dim &) const = default;
  };

  /// Whether steps along the first `end` dimensions add up to `rest`. `isSame`:
  /// so far no step was taken; without any step it is the same element.
  bool isThere(uint32_t end, int64_t rest, bool isSame) {
    if (--steps < 0 || end == 0)
      return steps >= 0 && rest == 0 && !isSame;
    auto [stride, last] = dims[end - 1];
    int64_t most = last, least = isSame ? 0 : -last;
    if (stride > 0) {
      int64_t around = reach[end - 1];
      most = std::min(most, divideDown(rest + around, stride));
      least = std::max(least, -divideDown(around - rest, stride));
    }
    for (int64_t step = least; step <= most && steps > 0; ++step)
      if (isThere(end - 1, rest - step * stride, isSame && step == 0))
        return true;
    return false;
  }

  static int64_t divideDown(int64_t lhs, int64_t rhs) {
    return lhs / rhs - (lhs % rhs < 0);
  }

  std::array<Dim, kMaxRank> dims;
  /// The largest distance of elements along the dimensions before.
  std::array<int64_t, kMaxRank> reach;
  uint32_t count = 0;
  bool isNested = true;
  int64_t steps = 10000;
};
} // namespace

static void checkOwnElements(const Parameter &parameter, const Buffer &buffer) {
  if (!parameter.isResult || buffer.isEmpty())
    return;
  for (uint32_t dim = 0; dim < buffer.rank; ++dim)
    if (buffer.sizes[dim] > 1 && buffer.strides[dim] == 0)
      fail(parameter, "dimension " + std::to_string(dim) +
                          " has stride 0: its elements share memory");
  if (SharedPlace(buffer).isThere())
    fail(parameter, "its elements share memory: strides " +
                        describe(buffer.strides.data(), buffer.rank) +
                        " of shape " +
                        describe(buffer.sizes.data(), buffer.rank));
}

static void bindTensor(const Parameter &parameter,
                       const nsacc_rt_tensor &tensor, const TensorRules &rules,
                       Buffer &buffer) {
  std::optional<DType> dtype = nsacc::toDType(tensor.dtype);
  if (dtype != parameter.dtype)
    fail(parameter, std::string("expected elements of ") +
                        getName(parameter.dtype) + ", found " +
                        (dtype ? getName(*dtype)
                               : "type " + std::to_string(tensor.dtype)));
  size_t rank = parameter.sizes.size();
  if (tensor.rank < 0 || static_cast<size_t>(tensor.rank) != rank)
    fail(parameter, "expected " + std::to_string(rank) + " dimensions, found " +
                        std::to_string(tensor.rank));
  if (rank > 0 && !tensor.shape)
    fail(parameter, "expected a shape, found a null pointer");
  buffer.address = reinterpret_cast<uint64_t>(tensor.data);
  buffer.rank = static_cast<uint32_t>(rank);
  buffer.dtype = parameter.dtype;
  bindShape(parameter, tensor, rules, buffer);
  if (!parameter.offsetsOf.empty() && buffer.isEmpty())
    fail(parameter,
         "it's empty: offsets of B rows are B + 1 numbers, the first "
         "of them 0");
  bindStrides(parameter, tensor, rules, buffer);
  checkReach(parameter, buffer);
  checkOwnElements(parameter, buffer);
  if (buffer.address % static_cast<uint64_t>(getBytes(buffer.dtype)) != 0)
    fail(parameter, "its address isn't a multiple of an element's " +
                        std::to_string(getBytes(buffer.dtype)) + " bytes");
}

std::vector<SameSize>
nsacc::rt::findSameSizes(const std::vector<Parameter> &parameters) {
  std::map<std::string, std::pair<uint32_t, uint32_t>> first;
  std::vector<SameSize> sameSizes;
  for (uint32_t i = 0; i < parameters.size(); ++i)
    for (uint32_t dim = 0; dim < parameters[i].sizes.size(); ++dim) {
      const std::string &name = parameters[i].sizes[dim].name;
      if (name.empty())
        continue;
      auto [entry, isNew] = first.try_emplace(name, i, dim);
      if (!isNew)
        sameSizes.push_back(
            {i, dim, entry->second.first, entry->second.second});
    }
  return sameSizes;
}

static void checkSameSizes(const std::vector<Parameter> &parameters,
                           const std::vector<SameSize> &sameSizes,
                           const std::vector<Buffer> &buffers) {
  for (const SameSize &same : sameSizes) {
    int64_t found = buffers[same.parameter].sizes[same.dim];
    int64_t expected = buffers[same.firstParameter].sizes[same.firstDim];
    if (found == expected)
      continue;
    const Parameter &parameter = parameters[same.parameter];
    fail(parameter,
         "size " + std::to_string(same.dim) + " is " + std::to_string(found) +
             "; " + describe(parameters[same.firstParameter]) + " has " +
             parameter.sizes[same.dim].name + " = " + std::to_string(expected));
  }
}

void nsacc::rt::bindTensors(const std::vector<Parameter> &parameters,
                            const std::vector<SameSize> &sameSizes,
                            const nsacc_rt_tensor *tensors, size_t count,
                            const TensorRules &rules,
                            std::vector<Buffer> &buffers) {
  if (count != parameters.size())
    throw Failure(NSACC_RT_INVALID,
                  "expected " + std::to_string(parameters.size()) +
                      " tensors, inputs and then results, found " +
                      std::to_string(count));
  buffers.resize(count);
  for (size_t i = 0; i < count; ++i)
    bindTensor(parameters[i], tensors[i], rules, buffers[i]);
  checkSameSizes(parameters, sameSizes, buffers);
}

void nsacc::rt::checkData(const std::vector<Parameter> &parameters,
                          const std::vector<Buffer> &buffers) {
  for (size_t i = 0; i < parameters.size(); ++i)
    if (buffers[i].address == 0 && !buffers[i].isEmpty())
      fail(parameters[i], "its data is a null pointer");
}

Extent Extent::get(const Buffer &buffer) {
  Extent found = {buffer.address, buffer.address, true};
  if (buffer.isEmpty())
    return found;
  auto bytes = static_cast<uint64_t>(getBytes(buffer.dtype));
  uint64_t elements = 1, reach = 1;
  for (uint32_t dim = 0; dim < buffer.rank; ++dim) {
    // They fit 64 bits, as checkReach has checked.
    auto others = static_cast<uint64_t>(buffer.sizes[dim] - 1);
    int64_t stride = buffer.strides[dim];
    if (others == 0 || stride == 0)
      continue;
    uint64_t step = others * static_cast<uint64_t>(std::abs(stride));
    elements *= others + 1;
    reach += step;
    if (stride < 0)
      found.first -= step * bytes;
  }
  found.end = found.first + reach * bytes;
  found.isDense = elements == reach;
  return found;
}

void nsacc::rt::checkApart(const std::vector<Parameter> &parameters,
                           const std::vector<Buffer> &buffers,
                           bool mayShareInputs) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].isResult)
      continue;
    Extent own = Extent::get(buffers[i]);
    for (size_t j = 0; j < i && own.isDense; ++j) {
      if (mayShareInputs && !parameters[j].isResult)
        continue;
      Extent other = Extent::get(buffers[j]);
      if (other.isDense && own.meets(other))
        fail(parameters[i], "its memory is in part that of " +
                                describe(parameters[j]) +
                                ", which is still needed when it's written");
    }
  }
}

/// An element of a tensor of integers of one dimension.
static int64_t readInteger(const Buffer &buffer, int64_t index) {
  int64_t bytes = getBytes(buffer.dtype);
  auto *data = reinterpret_cast<const char *>(buffer.address) +
               index * buffer.strides[0] * bytes;
  int32_t narrow;
  int64_t wide;
  if (buffer.dtype == DType::I64) {
    std::memcpy(&wide, data, sizeof(wide));
    return wide;
  }
  std::memcpy(&narrow, data, sizeof(narrow));
  return narrow;
}

/// Number of tokens in all rows of a ragged dimension, taken from a tensor that
/// has it.
static std::optional<int64_t>
findTokens(const std::string &dim, const std::vector<Parameter> &parameters,
           const std::vector<Buffer> &buffers) {
  for (size_t i = 0; i < parameters.size(); ++i)
    for (size_t j = 0; j < parameters[i].sizes.size(); ++j)
      if (parameters[i].sizes[j].name == "ragged " + dim)
        return buffers[i].sizes[j];
  return std::nullopt;
}

static void checkOffsets(const Parameter &parameter, const Buffer &buffer,
                         std::optional<int64_t> tokens) {
  int64_t last = 0;
  for (int64_t i = 0; i < buffer.sizes[0]; ++i) {
    int64_t offset = readInteger(buffer, i);
    if (i == 0 && offset != 0)
      fail(parameter, "offsets start with 0, found " + std::to_string(offset));
    if (offset < last)
      fail(parameter, "offsets don't decrease: entry " + std::to_string(i) +
                          " is " + std::to_string(offset) + " after " +
                          std::to_string(last));
    last = offset;
  }
  if (tokens && last != *tokens)
    fail(parameter, "offsets end with the number of tokens: the last is " +
                        std::to_string(last) + ", and dimension " +
                        parameter.offsetsOf + " is " + std::to_string(*tokens));
}

void nsacc::rt::checkOffsets(const std::vector<Parameter> &parameters,
                             const std::vector<Buffer> &buffers) {
  for (size_t i = 0; i < parameters.size(); ++i)
    if (const std::string &dim = parameters[i].offsetsOf; !dim.empty())
      ::checkOffsets(parameters[i], buffers[i],
                     findTokens(dim, parameters, buffers));
}
