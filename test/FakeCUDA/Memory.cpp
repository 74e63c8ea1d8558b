//===- Memory.cpp - Device memory of the fake driver, on the host ---------===//

#include "State.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

using namespace fakecuda;
using namespace nsacc::rt::driver;

static Result allocate(State &state, std::map<uint64_t, size_t> &memory,
                       size_t bytes, uint64_t &address) {
  if (!getCurrent())
    return state.misused("an allocation without a context", kInvalidContext);
  if (bytes == 0)
    return state.misused("an allocation of 0 bytes");
  if (bytes > state.largestAllocation)
    return results::outOfMemory;
  size_t rounded = (bytes + 511) / 512 * 512;
  void *data = std::aligned_alloc(512, rounded);
  if (!data)
    return results::outOfMemory;
  // Callers must not rely on zeros.
  std::memset(data, 0xa5, rounded);
  address = reinterpret_cast<uint64_t>(data);
  memory[address] = bytes;
  state.allocatedBytes += bytes;
  return results::success;
}

static Result release(State &state, std::map<uint64_t, size_t> &memory,
                      uint64_t address) {
  auto found = memory.find(address);
  if (found == memory.end())
    return state.misused("freeing what isn't allocated");
  std::free(reinterpret_cast<void *>(address));
  state.allocatedBytes -= found->second;
  memory.erase(found);
  return results::success;
}

static bool isWithin(const State &state, uint64_t address, size_t bytes) {
  const auto *memory = state.findMemory(address);
  return memory && address + bytes <= memory->first + memory->second;
}

FAKE_EXPORT Result cuMemAlloc_v2(Address *address, size_t bytes) {
  FAKE_ENTER_UNSAFE(cuMemAlloc_v2);
  uint64_t found = 0;
  Result result = allocate(state, state.deviceMemory, bytes, found);
  *address = found;
  return result;
}

FAKE_EXPORT Result cuMemFree_v2(Address address) {
  FAKE_ENTER_UNSAFE(cuMemFree_v2);
  return release(state, state.deviceMemory, address);
}

FAKE_EXPORT Result cuMemHostAlloc(void **address, size_t bytes,
                                  unsigned flags) {
  FAKE_ENTER_UNSAFE(cuMemHostAlloc);
  uint64_t found = 0;
  Result result = allocate(state, state.hostMemory, bytes, found);
  *address = reinterpret_cast<void *>(found);
  return result;
}

FAKE_EXPORT Result cuMemFreeHost(void *address) {
  FAKE_ENTER_UNSAFE(cuMemFreeHost);
  return release(state, state.hostMemory, reinterpret_cast<uint64_t>(address));
}

FAKE_EXPORT Result cuMemHostGetDevicePointer_v2(Address *address, void *host,
                                                unsigned) {
  FAKE_ENTER(cuMemHostGetDevicePointer_v2);
  *address = reinterpret_cast<uint64_t>(host);
  return state.hostMemory.contains(*address)
             ? results::success
             : state.misused("mapping what isn't pinned");
}

FAKE_EXPORT Result cuMemsetD32Async(Address address, unsigned value,
                                    size_t count, Stream stream) {
  FAKE_ENTER(cuMemsetD32Async);
  if (!isWithin(state, address, count * 4))
    return state.misused("cuMemsetD32Async outside of memory");
  std::fill_n(reinterpret_cast<unsigned *>(address), count, value);
  state.milliseconds += 100;
  return results::success;
}

FAKE_EXPORT Result cuMemcpyHtoD_v2(Address to, const void *from, size_t bytes) {
  FAKE_ENTER_UNSAFE(cuMemcpyHtoD_v2);
  if (!isWithin(state, to, bytes))
    return state.misused("cuMemcpyHtoD outside of memory");
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return results::success;
}

/// Reads the next bytes of FAKE_CUDA_ANSWERS, since no kernel wrote to the
/// memory.
static bool readAnswer(void *to, size_t bytes) {
  static const char *path = std::getenv("FAKE_CUDA_ANSWERS");
  static std::ifstream file(path ? path : "", std::ios::binary);
  return path && file.read(static_cast<char *>(to), bytes);
}

FAKE_EXPORT Result cuMemcpyDtoH_v2(void *to, Address from, size_t bytes) {
  FAKE_ENTER_UNSAFE(cuMemcpyDtoH_v2);
  if (!isWithin(state, from, bytes))
    return state.misused("cuMemcpyDtoH outside of memory");
  if (!readAnswer(to, bytes))
    std::memcpy(to, reinterpret_cast<void *>(from), bytes);
  return results::success;
}

FAKE_EXPORT Result
cuTensorMapEncodeTiled(TensorMap *map, int type, uint32_t rank, void *address,
                       const uint64_t *sizes, const uint64_t *strides,
                       const uint32_t *box, const uint32_t *steps,
                       int interleave, int swizzle, int promotion, int fill) {
  FAKE_ENTER(cuTensorMapEncodeTiled);
  MapContent content = {};
  content.address = reinterpret_cast<uint64_t>(address);
  content.type = type;
  content.rank = rank;
  content.swizzle = swizzle;
  bool isValid = rank >= 1 && rank <= 5 && content.address % 16 == 0 &&
                 interleave == 0 && promotion == 2 && fill == 0;
  for (uint32_t i = 0; isValid && i < rank; ++i) {
    content.sizes[i] = sizes[i];
    content.box[i] = box[i];
    content.steps[i] = static_cast<uint8_t>(steps[i]);
    isValid &= sizes[i] >= 1 && sizes[i] <= (UINT64_C(1) << 32) &&
               box[i] >= 1 && box[i] <= 256 && steps[i] >= 1 && steps[i] <= 8;
    if (i + 1 < rank) {
      content.strides[i] = strides[i];
      isValid &= strides[i] % 16 == 0 && strides[i] < (UINT64_C(1) << 40);
    }
  }
  if (!isValid)
    return state.misused("cuTensorMapEncodeTiled of something impossible");
  std::memset(map, 0, sizeof(*map));
  std::memcpy(map, &content, sizeof(content));
  return results::success;
}
