//===- PackageMutator.cpp - Mutations of packages by fields ---------------===//

#include "PackageMutator.h"
#include "ExamplePackage.h"
#include "MessagePack.h"
#include "PackageFile.h"
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

using namespace nsacc::rt;
using Json = nlohmann::json;

/// A processor's code for the same plan, which is loaded and never run.
static Variant makeHostVariant(std::vector<Image> &images) {
  Variant variant = makePackage().variants[0];
  TargetCode &code = variant.targets[0];
  code.architecture = "x86-64";
  code.stackBytes = 4096;
  HostImage host;
  constexpr uint32_t page = 4096;
  host.bytes.assign(2 * page, '\xc3');
  host.writableBytes = page;
  host.functions = {"expf", "memset"};
  host.pointers = {16, page, 2 * page - 8};
  for (Launch &launch : code.plan.launches) {
    launch.threads = launch.sharedBytes = 0;
    launch.isDependent = false;
    launch.extra.clear();
    launch.image = static_cast<uint32_t>(images.size());
    host.kernels.push_back({launch.kernel, page});
  }
  images.push_back({"", "", host});
  return variant;
}

/// A GPU's code and a processor's that is never run, or one that is.
static Package makeExample(unsigned seed) {
#if defined(__x86_64__)
  if (seed % 3 == 0)
    return makeHostPackage();
#endif
  (void)seed;
  Package package = makeVariants();
  Plan &plan = package.variants[1].targets[0].plan;
  plan.steps.push_back({Step::Kind::Time, 0, {}});
  plan.repeats = {{1, 1, 0}}; // for each batch row
  package.variants.push_back(makeHostVariant(package.images));
  return package;
}

std::string nsacc::fuzz::getBody(std::string_view file, unsigned seed) {
  try {
    std::string body(openBody(file));
    if (readMessagePack(body, kMaxNesting))
      return body;
  } catch (const std::runtime_error &) {
  }
  std::string example = writePackage(makeExample(seed));
  return std::string(openBody(example));
}

static std::string toMessagePack(const Json &json) {
  std::string bytes;
  Json::to_msgpack(json, nlohmann::detail::output_adapter<char>(bytes));
  return bytes;
}

std::string nsacc::fuzz::makeSealed(std::string_view body) {
  try {
    std::vector<std::string> seals = makeSeals(readUnsealed(body));
    Json json = Json::from_msgpack(body.begin(), body.end());
    for (size_t i = 0; i < seals.size(); ++i)
      json["images"][i]["made_for"] =
          Json::binary(std::vector<uint8_t>(seals[i].begin(), seals[i].end()));
    return toMessagePack(json);
  } catch (const std::runtime_error &) {
    return std::string(body); // nothing that a seal could be of
  }
}

bool nsacc::fuzz::hasCodeOf(std::string_view file, std::string_view other) {
  auto getImages = [](std::string_view of) {
    std::string_view body = openBody(of);
    Json images = Json::from_msgpack(body.begin(), body.end()).at("images");
    for (Json &image : images) {
      Json &host = image.at("host");
      image = {image.at("ptx"), image.at("cubin"),
               host.is_null() ? Json() : host.at("bytes"),
               image.at("made_for")};
    }
    return images;
  };
  return getImages(file) == getImages(other);
}

namespace {

class FieldMutator {
public:
  FieldMutator(Json &root, unsigned seed) : root(root), random(seed) {}

  void mutate() {
    nodes.clear();
    collect(root, nullptr, 0);
    Node node = nodes[below(nodes.size())];
    switch (below(8)) {
    case 0:
      remove(node);
      break;
    case 1:
      repeat(node);
      break;
    case 2:
      *node.value = makeValue();
      break;
    case 3:
      *node.value = Json(*nodes[below(nodes.size())].value);
      break;
    case 4:
      nest(*node.value);
      break;
    default:
      change(*node.value);
      break;
    }
  }

  size_t below(size_t limit) { return limit ? random() % limit : 0; }

private:
  struct Node {
    Json *value, *parent;
    size_t index;
  };

  void collect(Json &value, Json *parent, size_t index) {
    nodes.push_back({&value, parent, index});
    size_t next = 0;
    if (value.is_structured())
      for (Json &each : value)
        collect(each, &value, next++);
  }

  void remove(const Node &node) {
    if (!node.parent)
      return;
    if (node.parent->is_array())
      node.parent->erase(node.index);
    else
      node.parent->erase(std::next(node.parent->begin(), node.index));
  }

  void repeat(const Node &node) {
    if (!node.parent || !node.parent->is_array())
      return;
    Json copy = *node.value;
    size_t times = below(8) ? 1 : 40;
    for (size_t i = 0; i < times; ++i)
      node.parent->insert(node.parent->begin() + node.index, copy);
  }

  void nest(Json &value) {
    size_t depth = below(4) ? 1 : below(400);
    for (size_t i = 0; i < depth; ++i) {
      Json inner = std::move(value);
      value = Json();
      if (below(2))
        value = Json::array({std::move(inner)});
      else
        value["x"] = std::move(inner);
    }
  }

  /// A number near what it was, else another value.
  void change(Json &value) {
    if (!value.is_number_integer()) {
      if (value.is_boolean())
        value = !value.get<bool>();
      else if (!value.is_structured())
        value = makeValue();
      return;
    }
    int64_t number = value.get<int64_t>();
    int64_t steps[] = {1, -1, 2, -2, 8};
    if (below(3))
      value = static_cast<int64_t>(
          static_cast<uint64_t>(number) +
          static_cast<uint64_t>(steps[below(std::size(steps))]));
    else
      value = makeNumber();
  }

  Json makeNumber() {
    const Json numbers[] = {
        0,         1,          2,         3,         7,         64,
        255,       65536,      INT32_MAX, 1ll << 31, 1ll << 32, 1ll << 40,
        INT64_MAX, UINT64_MAX, -1,        INT32_MIN, INT64_MIN};
    return numbers[below(std::size(numbers))];
  }

  Json makeValue() {
    static const char *const texts[] = {"",           "x",
                                        "B",          "i64",
                                        "bool",       "f32",
                                        "mul",        "sub",
                                        "dim",        "time",
                                        "div",        "floordiv",
                                        "rem",        "select",
                                        "const",      "max",
                                        "raised",     "tensor_map",
                                        "counter",    "failures",
                                        "sm_80",      "sm_90a",
                                        "sm_",        "fill",
                                        "scale",      "sm_99999999999999999999",
                                        "{0} {99} {", "\xff\xfe"};
    switch (below(7)) {
    case 0:
      return nullptr;
    case 1:
      return below(2) == 0;
    case 2:
      return texts[below(std::size(texts))];
    case 3:
      return below(2) ? 1e300 : 0.5;
    case 4:
      return below(2) ? Json::array() : Json::object();
    case 5:
      return Json::binary(std::vector<uint8_t>(below(100), 0x7f));
    default:
      return makeNumber();
    }
  }

  Json &root;
  std::minstd_rand random;
  std::vector<Node> nodes;
};

} // namespace

std::string nsacc::fuzz::mutateFields(std::string_view file, unsigned seed) {
  std::string body = getBody(file, seed);
  Json json = Json::from_msgpack(body.begin(), body.end());
  FieldMutator mutator(json, seed);
  for (size_t changes = 1 + mutator.below(4); changes > 0; --changes)
    mutator.mutate();
  std::string mutated = toMessagePack(json);
  return sealBody(mutator.below(4) ? makeSealed(mutated) : mutated);
}
