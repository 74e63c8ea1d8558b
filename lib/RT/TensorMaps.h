//===- TensorMaps.h - Descriptors of bulk copies ----------------*- C++ -*-===//

#ifndef NSACC_LIB_RT_TENSORMAPS_H
#define NSACC_LIB_RT_TENSORMAPS_H

#include "Buffers.h"
#include "Driver.h"
#include <functional>
#include <mutex>
#include <unordered_map>

namespace nsacc::rt {

/// The input for encoding a map.
struct MapRequest {
  uint64_t address;
  int type;
  uint32_t rank;
  std::array<uint64_t, 5> sizes, strides; ///< strides in bytes
  std::array<uint32_t, 5> box;            ///< number of elements that it spans
  std::array<uint32_t, 5> steps;
  uint32_t swizzle;

  bool operator==(const MapRequest &) const = default;
};

/// Gives the buffer's name for messages.
using NameGetter = const std::function<std::string()> &;

/// Throws if a bulk copy can't access the buffer in this way.
MapRequest makeRequest(const TensorMap &map, const Buffer &buffer,
                       NameGetter getName);

/// Maps that were encoded before. Any thread may use it.
class TensorMapCache {
public:
  driver::TensorMap get(const MapRequest &request, NameGetter getName);

private:
  struct Hash {
    size_t operator()(const MapRequest &request) const;
  };

  std::mutex mutex;
  std::unordered_map<MapRequest, driver::TensorMap, Hash> maps;
};

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_TENSORMAPS_H
