//===- Digest.h - SHA-256 ---------------------------------------*- C++ -*-===//

#ifndef NSACC_LIB_RT_DIGEST_H
#define NSACC_LIB_RT_DIGEST_H

#include <string>
#include <string_view>

namespace nsacc::rt {

constexpr size_t kDigestBytes = 32;

/// SHA-256 (FIPS 180-4) of the bytes.
std::string computeDigest(std::string_view bytes);

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_DIGEST_H
