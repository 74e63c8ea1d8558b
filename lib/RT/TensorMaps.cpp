//===- TensorMaps.cpp - Descriptors of bulk copies ------------------------===//

#include "TensorMaps.h"

using namespace nsacc::rt;

/// The most maps that a process keeps for one module, 100 KiB.
static constexpr size_t kMaxMaps = 256;

static constexpr int64_t kMapAlignment = 16;
static constexpr int64_t kMaxStride = INT64_C(1) << 40;

[[noreturn]] static void fail(NameGetter getName, const std::string &message) {
  throw Failure(NSACC_RT_INVALID, getName() + ": " + message);
}

/// The driver's number of an element type.
static int getType(DType dtype) {
  switch (dtype) {
  case DType::Bool:
    return 0; // unsigned bytes
  case DType::I32:
    return 3;
  case DType::I64:
    return 5;
  case DType::F16:
    return 6;
  case DType::F32:
    return 7;
  case DType::F64:
    return 8;
  case DType::BF16:
    return 9;
  }
  return -1;
}

/// `packed` is the stride of a dimension that follows the others without a gap.
static uint64_t getStrideBytes(const Buffer &buffer, uint32_t dim,
                               uint64_t packed, NameGetter getName) {
  // A dimension of one element may have any stride.
  if (buffer.sizes[dim] <= 1)
    return packed;
  int64_t bytes;
  if (__builtin_mul_overflow(buffer.strides[dim], getBytes(buffer.dtype),
                             &bytes) ||
      bytes < 0 || bytes >= kMaxStride || bytes % kMapAlignment != 0)
    fail(getName,
         "dimension " + std::to_string(buffer.given[dim]) +
             " has a stride of " + std::to_string(buffer.strides[dim]) +
             " elements of " + std::to_string(getBytes(buffer.dtype)) +
             " bytes; its kernels need strides that are multiples of " +
             std::to_string(kMapAlignment) +
             " bytes: pass a contiguous tensor");
  return static_cast<uint64_t>(bytes);
}

MapRequest nsacc::rt::makeRequest(const TensorMap &map, const Buffer &buffer,
                                  NameGetter getName) {
  MapRequest request = {};
  request.address = buffer.address;
  request.type = getType(buffer.dtype);
  request.rank = static_cast<uint32_t>(map.dims.size());
  request.swizzle = map.swizzle;
  if (buffer.address % kMapAlignment != 0)
    fail(getName, "its address isn't a multiple of the " +
                      std::to_string(kMapAlignment) +
                      " bytes that its kernels need: pass a contiguous tensor "
                      "that owns its memory");
  uint32_t innermost = map.dims[0];
  if (buffer.sizes[innermost] > 1 && buffer.strides[innermost] != 1)
    fail(getName, "dimension " + std::to_string(buffer.given[innermost]) +
                      " has stride " +
                      std::to_string(buffer.strides[innermost]) +
                      "; its kernels need neighbours there: pass a contiguous "
                      "tensor");
  uint64_t packed = static_cast<uint64_t>(getBytes(buffer.dtype));
  for (uint32_t i = 0; i < request.rank; ++i) {
    uint32_t dim = map.dims[i];
    request.sizes[i] = static_cast<uint64_t>(buffer.sizes[dim]);
    request.steps[i] = map.steps.empty() ? 1 : map.steps[i];
    request.box[i] = (map.box[i] - 1) * request.steps[i] + 1;
    if (i > 0)
      packed = request.strides[i] =
          getStrideBytes(buffer, dim, packed, getName);
    packed = (packed * request.sizes[i] + kMapAlignment - 1) / kMapAlignment *
             kMapAlignment;
  }
  return request;
}

size_t TensorMapCache::Hash::operator()(const MapRequest &request) const {
  uint64_t hash = request.address;
  auto add = [&](uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 32;
  };
  add(request.rank | uint64_t(request.swizzle) << 8 |
      uint64_t(request.type) << 16);
  for (uint32_t i = 0; i < request.rank; ++i) {
    add(request.sizes[i]);
    add(request.strides[i]);
    add(request.box[i] | uint64_t(request.steps[i]) << 32);
  }
  return hash;
}

static driver::TensorMap encode(const MapRequest &request, NameGetter getName) {
  constexpr int promote128Bytes = 2;
  const Driver &driver = Driver::get();
  int swizzle = request.swizzle == 32    ? 1
                : request.swizzle == 64  ? 2
                : request.swizzle == 128 ? 3
                                         : 0;
  driver::TensorMap map;
  driver::Result result = driver.tensorMapEncode(
      &map, request.type, request.rank,
      reinterpret_cast<void *>(request.address), request.sizes.data(),
      request.strides.data() + 1, request.box.data(), request.steps.data(),
      /*interleave=*/0, swizzle, promote128Bytes, /*fill=*/0);
  if (result != driver::results::success)
    driver.fail(result,
                getName() + ": no tensor map for its sizes and strides");
  return map;
}

driver::TensorMap TensorMapCache::get(const MapRequest &request,
                                      NameGetter getName) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = maps.find(request);
  if (found != maps.end())
    return found->second;
  driver::TensorMap map = encode(request, getName);
  if (maps.size() >= kMaxMaps)
    maps.clear();
  return maps.emplace(request, map).first->second;
}
