//===- Tensor.cpp - Strided tensors in host memory ------------------------===//

#include "nsacc/Tensor/Tensor.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"
#include <bit>
#include <cassert>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

using namespace nsacc;

llvm::StringRef nsacc::getName(DType dtype) {
  switch (dtype) {
  case DType::Bool:
    return "bool";
  case DType::I32:
    return "i32";
  case DType::I64:
    return "i64";
  case DType::F16:
    return "f16";
  case DType::BF16:
    return "bf16";
  case DType::F32:
    return "f32";
  case DType::F64:
    return "f64";
  }
  llvm_unreachable("not a dtype");
}

std::optional<DType> nsacc::parseDType(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<DType>>(name)
      .Case("bool", DType::Bool)
      .Case("i32", DType::I32)
      .Case("i64", DType::I64)
      .Case("f16", DType::F16)
      .Case("bf16", DType::BF16)
      .Case("f32", DType::F32)
      .Case("f64", DType::F64)
      .Default(std::nullopt);
}

int64_t nsacc::getSize(DType dtype) {
  switch (dtype) {
  case DType::Bool:
    return 1;
  case DType::F16:
  case DType::BF16:
    return 2;
  case DType::I32:
  case DType::F32:
    return 4;
  case DType::I64:
  case DType::F64:
    return 8;
  }
  llvm_unreachable("not a dtype");
}

bool nsacc::isReal(DType dtype) {
  return dtype != DType::Bool && dtype != DType::I32 && dtype != DType::I64;
}

//===-- Rounding ----------------------------------------------------------===//

namespace {
/// A binary floating-point format narrower than f64.
struct Format {
  int fractionBits;
  int minExponent; ///< for normal numbers
  double largest;  ///< largest finite number
};
} // namespace

static constexpr Format halfFormat{10, -14, 65504.0};
static constexpr Format bfloatFormat{7, -126, 0x1.FEp+127};

static double powerOfTwo(int exponent) {
  return std::bit_cast<double>(uint64_t(exponent + 1023) << 52);
}

static double roundToFormat(const Format &format, double value) {
  if (value == 0 || !std::isfinite(value))
    return value;
  int exponent = int(std::bit_cast<uint64_t>(value) >> 52 & 0x7ff) - 1023;
  exponent = std::max(exponent, format.minExponent);
  // Scaling by powers of two is exact; nearbyint does ties to even.
  double rounded =
      std::nearbyint(value * powerOfTwo(format.fractionBits - exponent)) *
      powerOfTwo(exponent - format.fractionBits);
  if (std::fabs(rounded) > format.largest)
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  return rounded;
}

/// The nearest integer, ties to even; values outside of the range saturate, NaN
/// is 0.
template <typename T> static T roundToInteger(double value) {
  if (std::isnan(value))
    return 0;
  double rounded = std::nearbyint(value);
  if (rounded >= double(std::numeric_limits<T>::max()))
    return std::numeric_limits<T>::max();
  if (rounded <= double(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  return T(rounded);
}

double nsacc::roundTo(DType dtype, double value) {
  switch (dtype) {
  case DType::Bool:
    return value != 0;
  case DType::I32:
    return roundToInteger<int32_t>(value);
  case DType::I64:
    return double(roundToInteger<int64_t>(value));
  case DType::F16:
    return roundToFormat(halfFormat, value);
  case DType::BF16:
    return roundToFormat(bfloatFormat, value);
  case DType::F32:
    return static_cast<float>(value);
  case DType::F64:
    return value;
  }
  llvm_unreachable("not a dtype");
}

double nsacc::getLargest(DType dtype) {
  assert(isReal(dtype) && "integers are as they are");
  switch (dtype) {
  case DType::F16:
    return halfFormat.largest;
  case DType::BF16:
    return bfloatFormat.largest;
  case DType::F32:
    return std::numeric_limits<float>::max();
  default:
    return std::numeric_limits<double>::max();
  }
}

static uint16_t encodeBFloat(double value) {
  auto bits =
      std::bit_cast<uint32_t>(float(roundToFormat(bfloatFormat, value)));
  // A NaN's fraction may be in the lower bits alone.
  return bits >> 16 | (std::isnan(value) ? 0x40 : 0);
}

static double decodeBFloat(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

static uint16_t encodeHalf(double value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value))
    return sign | 0x7e00;
  double magnitude = std::fabs(roundToFormat(halfFormat, value));
  if (std::isinf(magnitude))
    return sign | 0x7c00;
  if (magnitude < 0x1p-14)
    return sign | uint16_t(magnitude * 0x1p24);
  // Rebiasing the exponent of the f32 with the same value.
  auto bits = std::bit_cast<uint32_t>(float(magnitude));
  return sign | uint16_t((bits >> 13) - ((127 - 15) << 10));
}

static double decodeHalf(uint16_t bits) {
  double sign = bits & 0x8000 ? -1 : 1;
  int exponent = bits >> 10 & 0x1f;
  int fraction = bits & 0x3ff;
  if (exponent == 0)
    return sign * fraction * 0x1p-24;
  if (exponent == 0x1f)
    return fraction ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  return sign * (1024 + fraction) * powerOfTwo(exponent - 25);
}

//===-- Elements ----------------------------------------------------------===//

/// Borrowed memory may be unaligned.
template <typename T> static T load(const char *at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
template <typename T> static void store(char *at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

template <typename Result> static Result loadElement(DType dtype, char *at) {
  switch (dtype) {
  case DType::Bool:
    return Result(*at != 0);
  case DType::I32:
    return Result(load<int32_t>(at));
  case DType::I64:
    return Result(load<int64_t>(at));
  case DType::F16:
    return Result(decodeHalf(load<uint16_t>(at)));
  case DType::BF16:
    return Result(decodeBFloat(load<uint16_t>(at)));
  case DType::F32:
    return Result(load<float>(at));
  case DType::F64:
    return Result(load<double>(at));
  }
  llvm_unreachable("not a dtype");
}

static void storeReal(DType dtype, char *at, double value) {
  switch (dtype) {
  case DType::Bool:
    return store<char>(at, value != 0);
  case DType::I32:
    return store(at, roundToInteger<int32_t>(value));
  case DType::I64:
    return store(at, roundToInteger<int64_t>(value));
  case DType::F16:
    return store(at, encodeHalf(value));
  case DType::BF16:
    return store(at, encodeBFloat(value));
  case DType::F32:
    return store(at, float(value));
  case DType::F64:
    return store(at, value);
  }
  llvm_unreachable("not a dtype");
}

/// Calls `visit(element, address)` for all elements in row-major order.
template <typename Visitor>
static void forEachElement(const Tensor &tensor, Visitor visit) {
  int64_t count = tensor.getNumElements();
  llvm::ArrayRef<int64_t> shape = tensor.getShape();
  llvm::ArrayRef<int64_t> strides = tensor.getStrides();
  int64_t bytes = getSize(tensor.getDType());
  llvm::SmallVector<int64_t, 4> index(shape.size(), 0);
  char *at = static_cast<char *>(tensor.getData());
  for (int64_t element = 0; element < count; ++element) {
    visit(element, at);
    for (size_t dim = shape.size(); dim-- > 0;) {
      at += strides[dim] * bytes;
      if (++index[dim] < shape[dim])
        break;
      at -= strides[dim] * shape[dim] * bytes;
      index[dim] = 0;
    }
  }
}

//===-- Tensor ------------------------------------------------------------===//

static llvm::SmallVector<int64_t, 4>
getContiguousStrides(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t, 4> strides(shape.size());
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    strides[dim] = stride;
    stride *= std::max<int64_t>(shape[dim], 1);
  }
  return strides;
}

Tensor Tensor::zeros(DType dtype, llvm::ArrayRef<int64_t> shape) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.strides = getContiguousStrides(shape);
  size_t count = std::max<int64_t>(tensor.getNumElements(), 1);
  tensor.data = std::calloc(count, getSize(dtype));
  if (!tensor.data)
    llvm::report_bad_alloc_error("out of memory for a tensor");
  tensor.owner = std::shared_ptr<void>(tensor.data, std::free);
  return tensor;
}

Tensor Tensor::borrow(void *data, DType dtype, llvm::ArrayRef<int64_t> shape,
                      llvm::ArrayRef<int64_t> strides,
                      std::shared_ptr<void> owner) {
  assert(shape.size() == strides.size() && "a stride for each dimension");
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.strides.assign(strides.begin(), strides.end());
  tensor.data = data;
  tensor.owner = std::move(owner);
  return tensor;
}

int64_t Tensor::getNumElements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

bool Tensor::isContiguous() const {
  if (getNumElements() == 0)
    return true;
  llvm::SmallVector<int64_t, 4> expected = getContiguousStrides(shape);
  return llvm::all_of(llvm::zip(shape, strides, expected), [](auto dim) {
    auto [size, stride, contiguous] = dim;
    return size == 1 || stride == contiguous;
  });
}

Tensor Tensor::permute(llvm::ArrayRef<int64_t> order) const {
  assert(order.size() == shape.size() && "an order of all dimensions");
  Tensor view = *this;
  for (auto [index, dim] : llvm::enumerate(order)) {
    view.shape[index] = shape[dim];
    view.strides[index] = strides[dim];
  }
  return view;
}

Tensor Tensor::permuteBack(llvm::ArrayRef<int64_t> order) const {
  llvm::SmallVector<int64_t, 4> opposite(order.size());
  for (auto [index, dim] : llvm::enumerate(order))
    opposite[dim] = index;
  return permute(opposite);
}

Tensor Tensor::toContiguous() const {
  if (isContiguous())
    return *this;
  Tensor copy = zeros(dtype, shape);
  copyElements(*this, copy);
  return copy;
}

/// Copies dimension `dim` and all later ones.
static void copyFrom(const Tensor &from, const Tensor &to, size_t dim,
                     const char *source, char *target) {
  int64_t size = getSize(to.getDType());
  if (dim == to.getShape().size()) {
    std::memcpy(target, source, size);
    return;
  }
  int64_t count = to.getShape()[dim];
  int64_t sourceStep = from.getStrides()[dim] * size;
  int64_t targetStep = to.getStrides()[dim] * size;
  if (dim + 1 == to.getShape().size() && sourceStep == size &&
      targetStep == size) {
    std::memcpy(target, source, count * size);
    return;
  }
  for (int64_t index = 0; index < count; ++index)
    copyFrom(from, to, dim + 1, source + index * sourceStep,
             target + index * targetStep);
}

void nsacc::copyElements(const Tensor &from, const Tensor &to) {
  assert(from.getDType() == to.getDType() && "one dtype");
  assert(from.getShape() == to.getShape() && "one shape");
  if (to.getNumElements() > 0)
    copyFrom(from, to, 0, static_cast<const char *>(from.getData()),
             static_cast<char *>(to.getData()));
}

std::vector<double> Tensor::toReals() const {
  std::vector<double> values(getNumElements());
  forEachElement(*this, [&](int64_t element, char *at) {
    values[element] = loadElement<double>(dtype, at);
  });
  return values;
}

std::vector<int64_t> Tensor::toIntegers() const {
  std::vector<int64_t> values(getNumElements());
  forEachElement(*this, [&](int64_t element, char *at) {
    values[element] =
        isReal(dtype) ? roundToInteger<int64_t>(loadElement<double>(dtype, at))
                      : loadElement<int64_t>(dtype, at);
  });
  return values;
}

void Tensor::setReals(llvm::ArrayRef<double> values) {
  assert(int64_t(values.size()) == getNumElements() && "a value each");
  forEachElement(*this, [&](int64_t element, char *at) {
    storeReal(dtype, at, values[element]);
  });
}

void Tensor::setIntegers(llvm::ArrayRef<int64_t> values) {
  assert(int64_t(values.size()) == getNumElements() && "a value each");
  forEachElement(*this, [&](int64_t element, char *at) {
    if (dtype == DType::I64)
      store(at, values[element]);
    else
      storeReal(dtype, at, double(values[element]));
  });
}
