//===- MessagePack.cpp - Reads MessagePack --------------------------------===//
//
// Uses msgpack's parser, which calls a visitor for each value. Its unpack()
// would allocate memory for all elements that a list claims to have, at each
// level of nested lists. The JSON library's reader copies binaries byte by
// byte, and binaries are most of a package.
//
//===----------------------------------------------------------------------===//

#include "MessagePack.h"
#include <vector>

#define MSGPACK_NO_BOOST
#include <msgpack.hpp>

using namespace nsacc::rt;
using Json = PackedJson;

// With fewer bits the parser would throw for the largest size of an extension
// type.
static_assert(sizeof(size_t) == sizeof(uint64_t));

namespace {

/// The parser's visitor. Each function returns whether the value is allowed at
/// its place; if not, the parser stops.
class PackReader : public msgpack::null_visitor {
public:
  PackReader(Json &json, unsigned maxNesting)
      : value(&json), nesting(maxNesting) {}

  bool visit_nil() { return set(nullptr); }
  bool visit_boolean(bool truth) { return set(truth); }
  bool visit_positive_integer(uint64_t number) { return set(number); }
  bool visit_negative_integer(int64_t number) { return set(number); }
  bool visit_float32(float number) { return set(double(number)); }
  bool visit_float64(double number) { return set(number); }
  bool visit_bin(const char *bytes, uint32_t size) {
    return set(Json::binary(std::string_view(bytes, size)));
  }
  bool visit_ext(const char *, uint32_t) { return false; }

  bool visit_str(const char *bytes, uint32_t size) {
    std::string text(bytes, size);
    if (value)
      return set(std::move(text));
    auto &map = open.back()->get_ref<Json::object_t &>();
    auto [entry, isNew] = map.try_emplace(std::move(text));
    value = &entry->second;
    return isNew;
  }

  bool start_array(uint32_t) { return start(Json::array()); }
  bool start_array_item() {
    value = &open.back()->get_ref<Json::array_t &>().emplace_back();
    return true;
  }
  bool end_array() { return end(); }

  bool start_map(uint32_t) { return start(Json::object()); }
  bool start_map_key() {
    value = nullptr;
    return true;
  }
  bool end_map() { return end(); }

private:
  bool set(Json json) {
    if (!value)
      return false;
    *value = std::move(json);
    return true;
  }

  bool start(Json json) {
    if (open.size() == nesting || !set(std::move(json)))
      return false;
    open.push_back(value);
    return true;
  }

  bool end() {
    open.pop_back();
    return true;
  }

  Json *value; ///< the next value's place, or null before a key
  unsigned nesting;
  std::vector<Json *> open; ///< enclosing lists and maps
};

} // namespace

std::optional<Json> nsacc::rt::readMessagePack(std::string_view bytes,
                                               unsigned maxNesting) {
  Json json;
  PackReader reader(json, maxNesting);
  size_t end = 0;
  if (!msgpack::parse(bytes.data(), bytes.size(), end, reader) ||
      end != bytes.size())
    return std::nullopt;
  return json;
}
