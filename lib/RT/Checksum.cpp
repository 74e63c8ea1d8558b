//===- Checksum.cpp - XXH64 -----------------------------------------------===//

#include "Checksum.h"

// Includes the implementation, so that no library needs to be linked.
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t nsacc::rt::computeChecksum(std::string_view bytes, uint64_t seed) {
  return XXH64(bytes.data(), bytes.size(), seed);
}
