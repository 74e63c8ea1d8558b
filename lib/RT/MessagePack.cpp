//===- MessagePack.cpp - Reads MessagePack --------------------------------===//
//
// By msgpack's parser, which tells of values as it meets them. Its unpack()
// would take memory for all elements that a list says it has, at each level of
// lists in lists; and the JSON library's reader takes binaries byte by byte,
// into memory of their own, where most of a package is such.
//
//===----------------------------------------------------------------------===//

#include "MessagePack.h"
#include <vector>

#define MSGPACK_NO_BOOST
#include <msgpack.hpp>

using namespace nsacc::rt;
using Json = PackedJson;

// With fewer bits the parser would throw at the largest size of a type that
// MessagePack leaves to its users.
static_assert(sizeof(size_t) == sizeof(uint64_t));

namespace {

/// What the parser calls. Each function tells whether what it is told of may
/// be where it is; the parser ends where it may not.
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

  Json *value; ///< what comes next, or null where that is a key
  unsigned nesting;
  std::vector<Json *> open; ///< lists and maps around it
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
