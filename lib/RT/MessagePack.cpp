//===- MessagePack.cpp - Reads MessagePack --------------------------------===//
//
// The library's own reader takes binaries byte by byte, into memory of their
// own: most of a package is such.
//
//===----------------------------------------------------------------------===//

#include "MessagePack.h"
#include <cstring>

using namespace nsacc::rt;
using Json = PackedJson;

namespace {

/// Each function tells whether what it reads is there and as it should be.
class PackReader {
public:
  PackReader(std::string_view bytes, unsigned maxNesting)
      : rest(bytes), nesting(maxNesting) {}

  bool read(Json &json) {
    std::string_view first;
    if (!take(1, first))
      return false;
    auto kind = static_cast<uint8_t>(first[0]);
    if (kind < 0x80)
      return set(json, uint64_t(kind));
    if (kind < 0x90)
      return readMap(kind & 0xf, json);
    if (kind < 0xa0)
      return readList(kind & 0xf, json);
    if (kind < 0xc0)
      return readText(kind & 0x1f, json);
    if (kind >= 0xe0)
      return set(json, int64_t(static_cast<int8_t>(kind)));
    return readKind(kind, json);
  }

  bool isAtEnd() const { return rest.empty(); }

private:
  bool take(uint64_t count, std::string_view &taken) {
    if (count > rest.size())
      return false;
    taken = rest.substr(0, count);
    rest.remove_prefix(count);
    return true;
  }

  /// Big-endian.
  bool takeWord(unsigned bytes, uint64_t &word) {
    std::string_view taken;
    if (!take(bytes, taken))
      return false;
    word = 0;
    for (char byte : taken)
      word = word << 8 | static_cast<uint8_t>(byte);
    return true;
  }

  template <typename Value> static bool set(Json &json, Value value) {
    json = value;
    return true;
  }

  /// Those whose first byte is from 0xc0 to 0xdf.
  bool readKind(uint8_t kind, Json &json) {
    switch (kind) {
    case 0xc0:
      return set(json, nullptr);
    case 0xc2:
    case 0xc3:
      return set(json, kind == 0xc3);
    case 0xca:
      return readReal<float>(json);
    case 0xcb:
      return readReal<double>(json);
    default:
      return kind >= 0xcc && kind < 0xd4 ? readInteger(kind, json)
                                         : readSized(kind, json);
    }
  }

  bool readInteger(uint8_t kind, Json &json) {
    unsigned bytes = 1u << (kind & 3), bits = 8 * bytes;
    uint64_t word;
    if (!takeWord(bytes, word))
      return false;
    if (kind < 0xd0)
      return set(json, word);
    // The sign is that of the bytes that are there.
    return set(json, static_cast<int64_t>(word << (64 - bits)) >> (64 - bits));
  }

  template <typename Real> bool readReal(Json &json) {
    uint64_t word;
    if (!takeWord(sizeof(Real), word))
      return false;
    Real real;
    if constexpr (sizeof(Real) == sizeof(uint32_t)) {
      auto half = static_cast<uint32_t>(word);
      std::memcpy(&real, &half, sizeof(real));
    } else {
      std::memcpy(&real, &word, sizeof(real));
    }
    return set(json, static_cast<double>(real));
  }

  /// Those whose size stands behind their first byte.
  bool readSized(uint8_t kind, Json &json) {
    uint64_t size;
    switch (kind) {
    case 0xc4:
    case 0xc5:
    case 0xc6:
      return takeWord(1u << (kind - 0xc4), size) && readBinary(size, json);
    case 0xd9:
    case 0xda:
    case 0xdb:
      return takeWord(1u << (kind - 0xd9), size) && readText(size, json);
    case 0xdc:
    case 0xdd:
      return takeWord(2u << (kind - 0xdc), size) && readList(size, json);
    case 0xde:
    case 0xdf:
      return takeWord(2u << (kind - 0xde), size) && readMap(size, json);
    default:
      return false;
    }
  }

  bool readBinary(uint64_t size, Json &json) {
    std::string_view bytes;
    if (!take(size, bytes))
      return false;
    json = Json::binary(bytes);
    return true;
  }

  bool readText(uint64_t size, Json &json) {
    std::string_view text;
    return take(size, text) && set(json, std::string(text));
  }

  // No memory is taken for elements that aren't there.
  bool readList(uint64_t size, Json &json) {
    if (nesting == 0)
      return false;
    --nesting;
    json = Json::array();
    auto &list = json.get_ref<Json::array_t &>();
    for (; size > 0; --size)
      if (!read(list.emplace_back()))
        return false;
    ++nesting;
    return true;
  }

  bool readMap(uint64_t size, Json &json) {
    if (nesting == 0)
      return false;
    --nesting;
    json = Json::object();
    auto &map = json.get_ref<Json::object_t &>();
    for (; size > 0; --size) {
      Json key;
      if (!read(key) || !key.is_string())
        return false;
      auto [entry, isNew] =
          map.try_emplace(std::move(key.get_ref<std::string &>()));
      if (!isNew || !read(entry->second))
        return false;
    }
    ++nesting;
    return true;
  }

  std::string_view rest;
  unsigned nesting; ///< that may still come
};

} // namespace

std::optional<Json> nsacc::rt::readMessagePack(std::string_view bytes,
                                               unsigned maxNesting) {
  PackReader reader(bytes, maxNesting);
  Json json;
  if (!reader.read(json) || !reader.isAtEnd())
    return std::nullopt;
  return json;
}
