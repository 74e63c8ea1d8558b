//===- MessagePack.h - Reads MessagePack ------------------------*- C++ -*-===//

#ifndef NSACC_LIB_RT_MESSAGEPACK_H
#define NSACC_LIB_RT_MESSAGEPACK_H

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace nsacc::rt {

/// Its binaries aren't copied: they stand where they were read from, which has
/// to live as long.
using PackedJson =
    nlohmann::basic_json<std::map, std::vector, std::string, bool, int64_t,
                         uint64_t, double, std::allocator,
                         nlohmann::adl_serializer, std::string_view>;

/// One object of MessagePack; none where the bytes are anything else, more than
/// one, or nested more than `maxNesting` deep. Keys are texts that stand once;
/// types that MessagePack leaves to its users aren't read.
std::optional<PackedJson> readMessagePack(std::string_view bytes,
                                          unsigned maxNesting);

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_MESSAGEPACK_H
