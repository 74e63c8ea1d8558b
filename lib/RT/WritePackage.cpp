//===- WritePackage.cpp - Packages as MessagePack and JSON ----------------===//

#include "Digest.h"
#include "PackageFile.h"
#include "PackageNames.h"
#include <nlohmann/json.hpp>

using namespace nsacc::rt;
using OrderedJson = nlohmann::ordered_json;

const char *nsacc::rt::getName(DType dtype) {
  return kDTypeNames[toNumber(dtype) - NSACC_DTYPE_BOOL];
}

// Lists find the functions for their elements in the elements' namespace.
namespace nsacc::rt {

static OrderedJson toBinary(const std::string &bytes) {
  return OrderedJson::binary(std::vector<uint8_t>(bytes.begin(), bytes.end()));
}

static OrderedJson toJson(const HostImage &image) {
  if (image.bytes.empty())
    return nullptr;
  OrderedJson kernels = OrderedJson::array();
  for (const HostImage::Kernel &kernel : image.kernels)
    kernels.push_back({{"name", kernel.name}, {"offset", kernel.offset}});
  return {{"bytes", toBinary(image.bytes)},
          {"writable", image.writableBytes},
          {"functions", image.functions},
          {"pointers", image.pointers},
          {"kernels", kernels}};
}

static OrderedJson toJson(const Size &size) {
  if (size.fixed && size.name.empty())
    return *size.fixed;
  if (size.fixed)
    return OrderedJson::array({size.name, *size.fixed});
  return size.name.empty() ? OrderedJson() : OrderedJson(size.name);
}

static OrderedJson toJson(const Parameter &parameter) {
  OrderedJson sizes = OrderedJson::array(), strides = OrderedJson::array();
  for (const Size &size : parameter.sizes)
    sizes.push_back(toJson(size));
  for (const std::optional<int64_t> &stride : parameter.strides)
    strides.push_back(stride ? OrderedJson(*stride) : OrderedJson());
  return {{"name", parameter.name},
          {"dtype", getName(parameter.dtype)},
          {"sizes", sizes},
          {"strides", strides},
          {"order", parameter.order},
          {"result", parameter.isResult},
          {"offsets", parameter.offsetsOf}};
}

static OrderedJson toJson(const Step &step) {
  OrderedJson json =
      OrderedJson::array({kStepNames[static_cast<size_t>(step.kind)]});
  for (unsigned i = 0; i < getNumOperands(step.kind); ++i)
    json.push_back(step.operands[i]);
  if (hasValue(step.kind))
    json.push_back(step.value);
  return json;
}

static OrderedJson toJson(const Check &check) {
  return {{"what", check.what},
          {"found", check.found},
          {"expected", check.expected}};
}

static OrderedJson toJson(const Workspace &workspace) {
  return {{"dtype", getName(workspace.dtype)},
          {"sizes", workspace.sizes},
          {"first", workspace.first},
          {"last", workspace.last}};
}

static OrderedJson toJson(const Repeat &repeat) {
  return {
      {"first", repeat.first}, {"last", repeat.last}, {"count", repeat.count}};
}

static OrderedJson toJson(const Argument &argument) {
  if (argument.isBuffer)
    return {{"buffer", argument.index}};
  return {{"number", argument.index}, {"bytes", argument.bytes}};
}

static OrderedJson toJson(const ExtraParameter &extra) {
  OrderedJson json = {{"kind", kExtraNames[static_cast<size_t>(extra.kind)]}};
  if (extra.kind != ExtraParameter::Kind::TensorMap)
    return json;
  json["argument"] = extra.map.argument;
  json["dims"] = extra.map.dims;
  json["box"] = extra.map.box;
  json["swizzle"] = extra.map.swizzle;
  if (!extra.map.steps.empty())
    json["steps"] = extra.map.steps;
  return json;
}

template <typename Element>
static OrderedJson toJson(const std::vector<Element> &elements) {
  OrderedJson json = OrderedJson::array();
  for (const Element &element : elements)
    json.push_back(toJson(element));
  return json;
}

static OrderedJson toJson(const Launch &launch) {
  return {{"kernel", launch.kernel},
          {"image", launch.image},
          {"grid", launch.grid},
          {"threads", launch.threads},
          {"shared", launch.sharedBytes},
          {"cluster", launch.cluster},
          {"dependent", launch.isDependent},
          {"arguments", toJson(launch.arguments)},
          {"extra", toJson(launch.extra)}};
}

static OrderedJson toJson(const Assertion &assertion) {
  return {{"message", assertion.message}, {"values", assertion.numValues}};
}

static OrderedJson toJson(const TargetCode &code) {
  return {{"architecture", code.architecture},
          {"stack", code.stackBytes},
          {"assertions", toJson(code.assertions)},
          {"steps", toJson(code.plan.steps)},
          {"checks", toJson(code.plan.checks)},
          {"workspaces", toJson(code.plan.workspaces)},
          {"launches", toJson(code.plan.launches)},
          {"repeats", toJson(code.plan.repeats)}};
}

static OrderedJson toJson(const Guard &guard) {
  return {{"what", guard.what}, {"number", guard.number}};
}

static OrderedJson toJson(const Variant &variant) {
  return {{"steps", toJson(variant.steps)},
          {"guards", toJson(variant.guards)},
          {"targets", toJson(variant.targets)}};
}

static OrderedJson toJson(const Package &package) {
  return {{"compiler", package.compiler},
          {"kernel", package.kernel},
          {"signature", package.signature},
          {"parameters", toJson(package.parameters)},
          {"images", OrderedJson::array()},
          {"variants", toJson(package.variants)}};
}

} // namespace nsacc::rt

static std::string toMessagePack(const OrderedJson &json) {
  std::string bytes;
  OrderedJson::to_msgpack(json, nlohmann::detail::output_adapter<char>(bytes));
  return bytes;
}

// Hashes the body with null instead of code and seals.
std::vector<std::string> nsacc::rt::makeSeals(const Package &package) {
  OrderedJson json = toJson(package);
  for (const Image &image : package.images) {
    OrderedJson host = toJson(image.host);
    if (!host.is_null())
      host["bytes"] = nullptr;
    json["images"].push_back({{"ptx", nullptr},
                              {"cubin", nullptr},
                              {"host", host},
                              {"made_for", nullptr}});
  }
  std::string rest = computeDigest(toMessagePack(json));
  std::vector<std::string> seals;
  for (size_t index = 0; index < package.images.size(); ++index)
    seals.push_back(computeDigest(rest + std::to_string(index)));
  return seals;
}

std::string nsacc::rt::writePackage(const Package &package) {
  OrderedJson json = toJson(package);
  std::vector<std::string> seals = makeSeals(package);
  for (size_t index = 0; index < package.images.size(); ++index) {
    const Image &image = package.images[index];
    json["images"].push_back({{"ptx", toBinary(image.ptx)},
                              {"cubin", toBinary(image.cubin)},
                              {"host", toJson(image.host)},
                              {"made_for", toBinary(seals[index])}});
  }
  return sealBody(toMessagePack(json));
}

/// Values that fit into a line are printed on one.
static void print(const OrderedJson &json, const std::string &indent,
                  std::string &text) {
  constexpr size_t lineLength = 120;
  std::string line =
      json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  if (!json.is_structured() || indent.size() + line.size() <= lineLength) {
    text += line;
    return;
  }
  std::string inner = indent + "  ";
  const char *separator = "\n";
  text += json.is_array() ? "[" : "{";
  for (auto each = json.begin(); each != json.end(); ++each) {
    text += separator + inner;
    separator = ",\n";
    if (json.is_object())
      text += OrderedJson(each.key()).dump() + ": ";
    print(*each, inner, text);
  }
  text += "\n" + indent + (json.is_array() ? "]" : "}");
}

std::string nsacc::rt::describePackage(const Package &package) {
  OrderedJson json = {{"format", kFormat}, {"version", kFormatVersion}};
  json.update(toJson(package));
  for (const Image &image : package.images)
    json["images"].push_back({{"ptx_bytes", image.ptx.size()},
                              {"cubin_bytes", image.cubin.size()},
                              {"host_bytes", image.host.bytes.size()}});
  std::string text;
  print(json, "", text);
  return text + "\n";
}
