//===- Checksum.h - XXH64 ---------------------------------------*- C++ -*-===//

#ifndef NSACC_LIB_RT_CHECKSUM_H
#define NSACC_LIB_RT_CHECKSUM_H

#include <cstdint>
#include <string_view>

namespace nsacc::rt {

/// XXH64 of the bytes. Protects against damage, not against attackers.
uint64_t computeChecksum(std::string_view bytes, uint64_t seed = 0);

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_CHECKSUM_H
