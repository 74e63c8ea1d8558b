//===- TensorMaps.h - Descriptors of bulk copies ----------------*- C++ -*-===//

#ifndef NSACC_LIB_RT_TENSORMAPS_H
#define NSACC_LIB_RT_TENSORMAPS_H

#include "Buffers.h"
#include "Driver.h"
#include <functional>
#include <mutex>
#include <unordered_map>

namespace nsacc::rt {

/// What a map is encoded from.
struct MapRequest {
  uint64_t address;
  int type;
  uint32_t rank;
  std::array<uint64_t, 5> sizes, strides; ///< strides in bytes
  std::array<uint32_t, 5> box;            ///< elements that it reaches over
  std::array<uint32_t, 5> steps;
  uint32_t swizzle;

  bool operator==(const MapRequest &) const = default;
};

/// Whose buffer it is, for messages.
using NameGetter = const std::function<std::string()> &;

/// Throws where a bulk copy can't see the buffer so.
MapRequest makeRequest(const TensorMap &map, const Buffer &buffer,
                       NameGetter getName);

/// Maps that were encoded before. Any thread may ask.
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
