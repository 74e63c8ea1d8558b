//===- ReadPackage.cpp - Packages from MessagePack ------------------------===//

#include "PackageNames.h"
#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

using namespace nsacc::rt;
using Json = nlohmann::json;

[[noreturn]] static void fail(const std::string &message) {
  throw std::runtime_error("damaged package: " + message);
}

/// Where `name` stands in a list of names.
template <size_t N>
static size_t find(const char *const (&names)[N], const std::string &name) {
  for (size_t i = 0; i < N; ++i)
    if (name == names[i])
      return i;
  fail("'" + name + "' isn't known");
}

static uint32_t getIndex(const Json &json, size_t count, const char *what) {
  auto index = json.get<uint64_t>();
  if (!json.is_number_integer() || index >= count)
    fail(std::string("there is no ") + what + " " + json.dump());
  return static_cast<uint32_t>(index);
}

static uint32_t getNumber(const Json &json, uint32_t low, uint32_t high,
                          const char *what) {
  auto number = json.get<int64_t>();
  if (!json.is_number_integer() || number < low || number > high)
    fail(std::string("expected ") + what + " from " + std::to_string(low) +
         " to " + std::to_string(high) + ", found " + json.dump());
  return static_cast<uint32_t>(number);
}

static const Json &getArray(const Json &json, const char *field) {
  const Json &array = json.at(field);
  if (!array.is_array())
    fail(std::string("'") + field + "' is no list");
  return array;
}

/// Text that C can take as a string.
static std::string getString(const Json &json) {
  auto text = json.get<std::string>();
  if (text.find('\0') != std::string::npos)
    fail("a text with a zero in it");
  return text;
}

static DType getDType(const Json &json) {
  return static_cast<DType>(find(kDTypeNames, json.get<std::string>()));
}

static void checkRank(size_t rank) {
  if (rank > kMaxRank)
    fail("a buffer of " + std::to_string(rank) + " dimensions");
}

/// Has each of the parameter's dimensions once.
static std::vector<uint32_t> readOrder(const Json &json,
                                       const Parameter &parameter) {
  std::vector<uint32_t> order;
  for (const Json &each : json) {
    uint32_t dim = getIndex(each, parameter.sizes.size(), "dimension");
    if (std::find(order.begin(), order.end(), dim) != order.end())
      fail("'" + parameter.name + "' has dimension " + std::to_string(dim) +
           " twice");
    order.push_back(dim);
  }
  if (order.size() != parameter.sizes.size())
    fail("'" + parameter.name + "' has not all dimensions in its order");
  return order;
}

static Parameter readParameter(const Json &json) {
  Parameter parameter;
  parameter.name = getString(json.at("name"));
  parameter.dtype = getDType(json.at("dtype"));
  parameter.isResult = json.at("result").get<bool>();
  for (const Json &each : getArray(json, "sizes")) {
    Size size;
    if (each.is_string())
      size.name = getString(each);
    else if (!each.is_null())
      size.fixed = each.get<int64_t>();
    parameter.sizes.push_back(size);
  }
  checkRank(parameter.sizes.size());
  for (const Json &each : getArray(json, "strides"))
    parameter.strides.push_back(
        each.is_null() ? std::nullopt : std::optional(each.get<int64_t>()));
  if (parameter.strides.size() != parameter.sizes.size())
    fail("'" + parameter.name + "' has not as many strides as sizes");
  parameter.order = readOrder(getArray(json, "order"), parameter);
  return parameter;
}

static Requirement readRequirement(const Json &json) {
  return {getString(json.at("message")),
          getNumber(json.at("values"), 0, 24, "values of a requirement")};
}

namespace {

/// Reads the code for one target; its indices stay within what is there.
class TargetReader {
public:
  TargetReader(const Package &package, const Json &json)
      : package(package), json(json) {}

  TargetCode read() {
    code.architecture = getString(json.at("architecture"));
    code.ptx = getString(json.at("ptx"));
    const auto &cubin = json.at("cubin").get_binary();
    code.cubin.assign(cubin.begin(), cubin.end());
    for (const Json &each : getArray(json, "steps"))
      readStep(each);
    for (const Json &each : getArray(json, "checks"))
      code.checks.push_back({number(each.at("found")),
                             number(each.at("expected")),
                             getString(each.at("what"))});
    const Json &launches = getArray(json, "launches");
    for (const Json &each : getArray(json, "workspaces"))
      readWorkspace(each, launches.size());
    for (const Json &each : launches)
      readLaunch(each);
    return std::move(code);
  }

private:
  uint32_t number(const Json &index) const {
    return getIndex(index, code.steps.size(), "number");
  }

  void readStep(const Json &each) {
    Step step;
    step.kind = static_cast<Step::Kind>(
        find(kStepNames, each.at(0).get<std::string>()));
    unsigned numOperands = getNumOperands(step.kind);
    for (unsigned i = 0; i < numOperands; ++i)
      step.operands[i] =
          step.kind == Step::Kind::Dim
              ? getIndex(each.at(1 + i), package.parameters.size(), "parameter")
              : number(each.at(1 + i));
    if (step.kind == Step::Kind::Constant)
      step.value = each.at(1).get<int64_t>();
    if (step.kind == Step::Kind::Dim)
      step.value = getIndex(each.at(2),
                            package.parameters[step.operands[0]].sizes.size(),
                            "dimension");
    code.steps.push_back(step);
  }

  void readWorkspace(const Json &each, size_t numLaunches) {
    Workspace workspace;
    workspace.dtype = getDType(each.at("dtype"));
    workspace.elementBytes = getBytes(workspace.dtype);
    for (const Json &size : getArray(each, "sizes"))
      workspace.sizes.push_back(number(size));
    checkRank(workspace.sizes.size());
    workspace.first = getIndex(each.at("first"), numLaunches, "launch");
    workspace.last = getIndex(each.at("last"), numLaunches, "launch");
    code.workspaces.push_back(std::move(workspace));
  }

  void readLaunch(const Json &each) {
    Launch launch;
    launch.kernel = getString(each.at("kernel"));
    const Json &grid = getArray(each, "grid");
    for (unsigned axis = 0; axis < 3; ++axis)
      launch.grid[axis] = number(grid.at(axis));
    launch.threads = getNumber(each.at("threads"), 1, 1024, "threads");
    launch.sharedBytes =
        getNumber(each.at("shared"), 0, 1 << 24, "bytes of shared memory");
    launch.cluster =
        getNumber(each.at("cluster"), 1, 16, "blocks of a cluster");
    launch.isDependent = each.at("dependent").get<bool>();
    for (const Json &argument : getArray(each, "arguments"))
      launch.arguments.push_back(readArgument(argument));
    for (const Json &extra : getArray(each, "extra"))
      launch.extra.push_back(readExtra(extra, launch));
    code.launches.push_back(std::move(launch));
  }

  Argument readArgument(const Json &each) const {
    auto buffer = each.find("buffer");
    size_t numBuffers = package.parameters.size() + code.workspaces.size();
    if (buffer != each.end())
      return {true, getIndex(*buffer, numBuffers, "buffer")};
    uint32_t bytes = getNumber(each.at("bytes"), 1, 8, "bytes of a number");
    if ((bytes & (bytes - 1)) != 0)
      fail("a number of " + std::to_string(bytes) + " bytes");
    return {false, number(each.at("number")), bytes};
  }

  size_t getRank(uint32_t buffer) const {
    size_t numParameters = package.parameters.size();
    return buffer < numParameters
               ? package.parameters[buffer].sizes.size()
               : code.workspaces[buffer - numParameters].sizes.size();
  }

  ExtraParameter readExtra(const Json &each, const Launch &launch) const {
    ExtraParameter extra;
    extra.kind = static_cast<ExtraParameter::Kind>(
        find(kExtraNames, each.at("kind").get<std::string>()));
    if (extra.kind != ExtraParameter::Kind::TensorMap)
      return extra;
    TensorMap &map = extra.map;
    map.argument =
        getIndex(each.at("argument"), launch.arguments.size(), "argument");
    const Argument &argument = launch.arguments[map.argument];
    if (!argument.isBuffer)
      fail("a tensor map of a number");
    for (const Json &dim : getArray(each, "dims"))
      map.dims.push_back(getIndex(dim, getRank(argument.index), "dimension"));
    for (const Json &size : getArray(each, "box"))
      map.box.push_back(getNumber(size, 1, 256, "sizes of a box"));
    if (map.dims.empty() || map.dims.size() > 5 ||
        map.box.size() != map.dims.size())
      fail("a tensor map of " + std::to_string(map.dims.size()) +
           " dimensions with a box of " + std::to_string(map.box.size()));
    map.swizzle = getNumber(each.at("swizzle"), 0, 128, "bytes of a swizzle");
    if (map.swizzle % 32 != 0 || map.swizzle == 96)
      fail("a swizzle of " + std::to_string(map.swizzle) + " bytes");
    return extra;
  }

  const Package &package;
  const Json &json;
  TargetCode code;
};

} // namespace

static Package read(const Json &json) {
  if (!json.is_object() || json.value("format", Json()) != kFormat)
    throw std::runtime_error("not a package of nsacc");
  if (json.at("version") != kFormatVersion)
    throw std::runtime_error(
        "a package of version " + json.at("version").dump() +
        "; this runtime reads " + std::to_string(kFormatVersion) +
        ": compile it with nsacc of the same version");
  Package package;
  package.compiler = getString(json.at("compiler"));
  package.kernel = getString(json.at("kernel"));
  for (const Json &each : getArray(json, "parameters"))
    package.parameters.push_back(readParameter(each));
  for (const Json &each : getArray(json, "requirements"))
    package.requirements.push_back(readRequirement(each));
  for (const Json &each : getArray(json, "targets"))
    package.targets.push_back(TargetReader(package, each).read());
  return package;
}

Package nsacc::rt::readPackage(const void *data, size_t size) {
  const char *bytes = static_cast<const char *>(data);
  Json json = Json::from_msgpack(bytes, bytes + size, /*strict=*/true,
                                 /*allow_exceptions=*/false);
  if (json.is_discarded())
    throw std::runtime_error("not a package of nsacc, or one cut short");
  try {
    return read(json);
  } catch (const Json::exception &exception) {
    fail(exception.what());
  }
}
