//===- MessagePack.h - Reads MessagePack ------------------------*- C++ -*-===//

#ifndef NSACC_LIB_RT_MESSAGEPACK_H
#define NSACC_LIB_RT_MESSAGEPACK_H

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace nsacc::rt {

/// JSON whose binaries aren't copied: they refer to the buffer that was read,
/// which must live as long.
using PackedJson =
    nlohmann::basic_json<std::map, std::vector, std::string, bool, int64_t,
                         uint64_t, double, std::allocator,
                         nlohmann::adl_serializer, std::string_view>;

/// Reads one object of MessagePack; none if the bytes are anything else, more
/// than one, or nested more than `maxNesting` deep. Keys must be texts and
/// unique; extension types aren't read.
std::optional<PackedJson> readMessagePack(std::string_view bytes,
                                          unsigned maxNesting);

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_MESSAGEPACK_H
