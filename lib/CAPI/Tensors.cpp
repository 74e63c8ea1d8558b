//===- Tensors.cpp - Tensors of the C interface ---------------------------===//

#include "Tensors.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace nsacc;
using namespace nsacc::capi;

/// NumPy's limit; a rank above it is taken for garbage.
constexpr int32_t mostDims = 64;

static Failure misuse(TensorName what, const std::string &problem) {
  return fail(NSACC_ERROR_KIND_USAGE, what() + ": " + problem);
}

static bool hasElements(llvm::ArrayRef<int64_t> shape) {
  return !llvm::is_contained(shape, 0);
}

/// Checks that every element's distance from the first fits into int64 bytes.
static Failure checkExtent(llvm::ArrayRef<int64_t> shape,
                           llvm::ArrayRef<int64_t> strides, int64_t size,
                           TensorName what) {
  int64_t elements = 1, reach = 0;
  for (auto [dim, stride] : llvm::zip(shape, strides)) {
    int64_t extent;
    if (dim < 0)
      return misuse(what, "a size in its shape is negative");
    if (llvm::MulOverflow(elements, std::max<int64_t>(dim, 1), elements) ||
        stride == INT64_MIN ||
        llvm::MulOverflow(std::max<int64_t>(dim - 1, 0), std::abs(stride),
                          extent) ||
        llvm::AddOverflow(reach, extent, reach) || reach > INT64_MAX / 8 ||
        elements > INT64_MAX / 8)
      return misuse(what, "its shape and strides reach too far");
  }
  return nullptr;
}

/// Whether no two elements share an address: sorted by stride, each dimension
/// steps over all smaller ones.
static bool isInjective(llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<int64_t> strides) {
  llvm::SmallVector<std::pair<int64_t, int64_t>> dims;
  for (auto [dim, stride] : llvm::zip(shape, strides))
    if (dim > 1)
      dims.push_back({std::abs(stride), dim});
  llvm::sort(dims);
  int64_t reach = 0;
  for (auto [stride, dim] : dims) {
    if (stride <= reach)
      return false;
    reach += stride * (dim - 1);
  }
  return true;
}

static llvm::SmallVector<int64_t> getRowMajor(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> strides(shape.size());
  uint64_t stride = 1;
  for (size_t index = shape.size(); index-- > 0;) {
    strides[index] = int64_t(stride);
    stride *= uint64_t(std::max<int64_t>(shape[index], 1));
  }
  return strides;
}

static Failure checkMemory(const nsacc_tensor &tensor,
                           llvm::ArrayRef<int64_t> shape, int64_t size,
                           Access access, TensorName what) {
  if (access == Access::None || !hasElements(shape))
    return nullptr;
  if (!tensor.data)
    return misuse(what, "its data is NULL");
  if (reinterpret_cast<uintptr_t>(tensor.data) % size != 0)
    return misuse(what, "its data isn't aligned to its elements");
  return nullptr;
}

Failure capi::borrow(const nsacc_tensor &tensor, Access access, TensorName what,
                     Tensor &result) {
  std::optional<DType> dtype = toDType(tensor.dtype);
  if (!dtype)
    return misuse(what, "unknown dtype " + std::to_string(tensor.dtype));
  if (tensor.rank < 0 || tensor.rank > mostDims)
    return misuse(what, "its rank is " + std::to_string(tensor.rank) +
                            ", expected 0 to " + std::to_string(mostDims));
  if (tensor.rank > 0 && !tensor.shape)
    return misuse(what, "its shape is NULL");
  llvm::ArrayRef<int64_t> shape(tensor.shape, tensor.rank);
  llvm::SmallVector<int64_t> strides = getRowMajor(shape);
  if (tensor.strides)
    strides.assign(tensor.strides, tensor.strides + tensor.rank);

  int64_t size = getSize(*dtype);
  if (Failure failure = checkExtent(shape, strides, size, what))
    return failure;
  if (Failure failure = checkMemory(tensor, shape, size, access, what))
    return failure;
  if (access == Access::Write && hasElements(shape) &&
      !isInjective(shape, strides))
    return misuse(what, "its elements overlap");
  result = Tensor::borrow(tensor.data, *dtype, shape, strides, nullptr);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// Addresses from `begin` to `end`.
using Extent = std::pair<uintptr_t, uintptr_t>;

/// The range of bytes that contains a tensor's elements.
static Extent getExtent(const Tensor &tensor) {
  auto begin = reinterpret_cast<uintptr_t>(tensor.getData());
  if (tensor.getNumElements() == 0)
    return {begin, begin};
  int64_t size = getSize(tensor.getDType());
  uintptr_t end = begin + size;
  for (auto [count, stride] : llvm::zip(tensor.getShape(), tensor.getStrides()))
    (stride < 0 ? begin : end) += (count - 1) * stride * size;
  return {begin, end};
}

static bool meet(const Extent &left, const Extent &right) {
  return left.first < right.second && right.first < left.second;
}

bool capi::mayOverlap(const Tensor &left, const Tensor &right) {
  return meet(getExtent(left), getExtent(right));
}

/// The memory of a tensor whose elements don't overlap, in ascending order;
/// adjacent elements are one piece.
static std::vector<Extent> getPieces(const Tensor &tensor) {
  llvm::SmallVector<std::pair<int64_t, int64_t>> dims; // stride and size
  int64_t bytes = getSize(tensor.getDType());
  for (auto [size, stride] : llvm::zip(tensor.getShape(), tensor.getStrides()))
    if (size > 1)
      dims.push_back({std::abs(stride) * bytes, size});
  llvm::sort(dims);
  auto *outer = dims.begin();
  for (; outer != dims.end() && outer->first == bytes; ++outer)
    bytes *= outer->second;
  std::vector<Extent> pieces = {{getExtent(tensor).first, 0}};
  for (auto [stride, size] :
       llvm::reverse(llvm::make_range(outer, dims.end()))) {
    std::vector<Extent> inner;
    inner.reserve(pieces.size() * size);
    for (const Extent &piece : pieces)
      for (int64_t index = 0; index < size; ++index)
        inner.push_back({piece.first + index * stride, 0});
    pieces = std::move(inner);
  }
  for (Extent &piece : pieces)
    piece.second = piece.first + bytes;
  return pieces;
}

bool capi::overlap(const Tensor &left, const Tensor &right) {
  // Usually the whole ranges don't overlap.
  if (!mayOverlap(left, right))
    return false;
  std::vector<Extent> first = getPieces(left), second = getPieces(right);
  for (auto one = first.begin(), other = second.begin();
       one != first.end() && other != second.end();) {
    if (meet(*one, *other))
      return true;
    one->first < other->first ? ++one : ++other;
  }
  return false;
}
