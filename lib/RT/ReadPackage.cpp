//===- ReadPackage.cpp - Packages from MessagePack ------------------------===//

#include "MachineCode.h"
#include "MessagePack.h"
#include "PackageFile.h"
#include "PackageNames.h"
#include <algorithm>
#include <cstring>
#include <stdexcept>

using namespace nsacc::rt;
using Json = PackedJson;

[[noreturn]] static void refuse(const std::string &message) {
  throw std::runtime_error("damaged package: " + message);
}

/// Index of `name` in a list of names.
template <size_t N>
static size_t find(const char *const (&names)[N], const std::string &name) {
  for (size_t i = 0; i < N; ++i)
    if (name == names[i])
      return i;
  refuse("'" + name + "' isn't known");
}

/// The beginning of the value as text.
static std::string describe(const Json &json) {
  constexpr size_t longest = 80;
  std::string text =
      json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

/// An integer that fits 64 bits with a sign; none for anything else.
static std::optional<int64_t> getInteger(const Json &json) {
  if (!json.is_number_integer() ||
      (json.is_number_unsigned() && json.get<uint64_t>() > INT64_MAX))
    return std::nullopt;
  return json.get<int64_t>();
}

static uint32_t getIndex(const Json &json, size_t count, const char *what) {
  std::optional<int64_t> index = getInteger(json);
  if (!index || *index < 0 || static_cast<uint64_t>(*index) >= count)
    refuse(std::string("there is no ") + what + " " + describe(json));
  return static_cast<uint32_t>(*index);
}

static int64_t getNumber(const Json &json, int64_t low, int64_t high,
                         const char *what) {
  std::optional<int64_t> number = getInteger(json);
  if (!number || *number < low || *number > high)
    refuse(std::string("expected ") + what + " from " + std::to_string(low) +
           " to " + std::to_string(high) + ", found " + describe(json));
  return *number;
}

static uint32_t getCount(const Json &json, uint32_t low, uint32_t high,
                         const char *what) {
  return static_cast<uint32_t>(getNumber(json, low, high, what));
}

/// More than any program has; bounds the cost of a package.
static constexpr size_t kMaxElements = 1 << 10, kMaxSteps = 1 << 16;

static const Json &getArray(const Json &json, const char *field,
                            size_t most = kMaxElements) {
  const Json &array = json.at(field);
  if (!array.is_array())
    refuse(std::string("'") + field + "' is no list");
  if (array.size() > most)
    refuse(std::string("'") + field + "' has " + std::to_string(array.size()) +
           " elements, more than " + std::to_string(most));
  return array;
}

/// Number of bytes of UTF-8 in a character with this first byte; 0: invalid.
static size_t countUnits(uint8_t first) {
  return first < 0x80                    ? 1
         : first >= 0xc2 && first < 0xe0 ? 2
         : first >= 0xe0 && first < 0xf0 ? 3
         : first >= 0xf0 && first < 0xf5 ? 4
                                         : 0;
}

/// Number of ASCII bytes at the front, in words of 8.
static size_t countASCII(std::string_view text) {
  size_t at = 0;
  for (uint64_t word; at + sizeof(word) <= text.size(); at += sizeof(word)) {
    std::memcpy(&word, text.data() + at, sizeof(word));
    if (word & 0x8080808080808080)
      break;
  }
  return at;
}

/// Neither overlong, nor half of a surrogate, nor above U+10FFFF.
static bool isUTF8(std::string_view text) {
  for (size_t at = countASCII(text), units; at < text.size(); at += units) {
    auto first = static_cast<uint8_t>(text[at]);
    units = countUnits(first);
    if (units == 0 || units > text.size() - at)
      return false;
    uint32_t point = units == 1 ? first : first & (0x7f >> units);
    for (size_t i = 1; i < units; ++i) {
      auto unit = static_cast<uint8_t>(text[at + i]);
      if ((unit & 0xc0) != 0x80)
        return false;
      point = point << 6 | (unit & 0x3f);
    }
    bool isLong = (units == 3 && point < 0x800) ||
                  (units == 4 && (point < 0x10000 || point > 0x10ffff));
    if (isLong || (point >= 0xd800 && point < 0xe000))
      return false;
  }
  return true;
}

/// Fails unless C can take the text as a string, and Python as UTF-8.
static void checkText(std::string_view text, const Json &json) {
  if (text.find('\0') != std::string_view::npos)
    refuse("a text with a zero in it");
  if (!isUTF8(text))
    refuse("a text that isn't UTF-8: " + describe(json));
}

static std::string getString(const Json &json) {
  auto text = json.get<std::string>();
  checkText(text, json);
  return text;
}

static DType getDType(const Json &json) {
  size_t index = find(kDTypeNames, json.get<std::string>());
  return static_cast<DType>(NSACC_DTYPE_BOOL + index);
}

static void checkRank(size_t rank) {
  if (rank > kMaxRank)
    refuse("a buffer of " + std::to_string(rank) + " dimensions");
}

static Size readSize(const Json &json) {
  Size size;
  bool isPair = json.is_array() && json.size() == 2;
  const Json &name = isPair ? json[0] : json, &number = isPair ? json[1] : json;
  if (isPair || name.is_string())
    size.name = getString(name);
  if (!name.is_null() && (isPair || !name.is_string()))
    size.fixed = getNumber(number, 0, INT32_MAX, "a size");
  return size;
}

static std::optional<int64_t> readStride(const Json &json) {
  if (json.is_null())
    return std::nullopt;
  return getNumber(json, 0, INT64_MAX, "a stride");
}

/// Reads an order that has each of the parameter's dimensions once.
static std::vector<uint32_t> readOrder(const Json &json,
                                       const Parameter &parameter) {
  std::vector<uint32_t> order;
  for (const Json &each : json) {
    uint32_t dim = getIndex(each, parameter.sizes.size(), "dimension");
    if (std::find(order.begin(), order.end(), dim) != order.end())
      refuse("'" + parameter.name + "' has dimension " + std::to_string(dim) +
             " twice");
    order.push_back(dim);
  }
  if (order.size() != parameter.sizes.size())
    refuse("'" + parameter.name + "' has not all dimensions in its order");
  return order;
}

static Parameter readParameter(const Json &json) {
  Parameter parameter;
  parameter.name = getString(json.at("name"));
  parameter.dtype = getDType(json.at("dtype"));
  parameter.isResult = json.at("result").get<bool>();
  for (const Json &each : getArray(json, "sizes"))
    parameter.sizes.push_back(readSize(each));
  checkRank(parameter.sizes.size());
  for (const Json &each : getArray(json, "strides"))
    parameter.strides.push_back(readStride(each));
  if (parameter.strides.size() != parameter.sizes.size())
    refuse("'" + parameter.name + "' has not as many strides as sizes");
  parameter.order = readOrder(getArray(json, "order"), parameter);
  parameter.offsetsOf = getString(json.at("offsets"));
  bool canBeOffsets =
      parameter.sizes.size() == 1 && !parameter.isResult &&
      (parameter.dtype == DType::I32 || parameter.dtype == DType::I64);
  if (!parameter.offsetsOf.empty() && !canBeOffsets)
    refuse("'" + parameter.name +
           "' can't be offsets: those are integers, an "
           "input of one dimension");
  return parameter;
}

/// Bytes within the buffer that the package was read from.
static std::string_view getBinary(const Json &json) {
  return json.get_binary();
}

/// Reads an image. Everything that it points to must be within it.
static HostImage readHostImage(const Json &json) {
  HostImage image;
  image.bytes = getBinary(json.at("bytes"));
  if (image.bytes.empty() || image.bytes.size() > UINT32_MAX / 2)
    refuse("code of " + std::to_string(image.bytes.size()) + " bytes");
  auto size = static_cast<uint32_t>(image.bytes.size());
  image.writableBytes = getCount(json.at("writable"), 0, size, "bytes");
  for (const Json &each : getArray(json, "functions"))
    image.functions.push_back(getString(each));
  if (image.functions.size() * sizeof(uint64_t) > image.writableBytes)
    refuse("a table of " + std::to_string(image.functions.size()) +
           " functions in " + std::to_string(image.writableBytes) + " bytes");
  for (const Json &each : getArray(json, "pointers", kMaxSteps)) {
    uint32_t offset = getIndex(each, size, "byte");
    if (size - offset < sizeof(uint64_t))
      refuse("a pointer at byte " + std::to_string(offset) + " of " +
             std::to_string(size));
    image.pointers.push_back(offset);
  }
  for (const Json &each : getArray(json, "kernels")) {
    uint32_t offset = getIndex(each.at("offset"), size, "byte");
    if (offset < image.writableBytes)
      refuse("a kernel at byte " + std::to_string(offset) +
             ", where data is: code begins at " +
             std::to_string(image.writableBytes));
    image.kernels.push_back({getString(each.at("name")), offset});
  }
  return image;
}

/// A driver recognizes text by its first byte. Other PTX would be read as
/// machine code.
static void checkPTX(std::string_view ptx, const Json &json) {
  checkText(ptx, json);
  uint8_t first = ptx.empty() ? ' ' : ptx.front();
  bool isText = (first >= ' ' && first < 0x7f) || first == '\n' ||
                first == '\t' || first == '\r';
  if (!isText)
    refuse("PTX that begins with byte " + std::to_string(first));
}

static Image readImage(const Json &json, CodeFor wanted) {
  Image image;
  std::string_view ptx = getBinary(json.at("ptx"));
  std::string_view cubin = getBinary(json.at("cubin"));
  checkPTX(ptx, json.at("ptx"));
  if (!cubin.empty() && !isWholeELF(cubin))
    refuse("machine code that is no ELF file, or one cut short");
  // Most of a file's bytes; a processor doesn't need them.
  if (wanted == CodeFor::All) {
    image.ptx = ptx;
    image.cubin = cubin;
  }
  if (const Json &host = json.at("host"); !host.is_null())
    image.host = readHostImage(host);
  return image;
}

static Assertion readAssertion(const Json &json) {
  return {getString(json.at("message")),
          getCount(json.at("values"), 0, 24, "values of an assertion")};
}

namespace {

/// Reads numbers, each computed from earlier ones.
class StepReader {
public:
  explicit StepReader(const Package &package, size_t numRepeats = 0)
      : package(package), numRepeats(numRepeats) {}

  std::vector<Step> read(const Json &json, size_t most) {
    for (const Json &each : getArray(json, "steps", most))
      readStep(each);
    return std::move(steps);
  }

private:
  uint32_t number(const Json &index) const {
    return getIndex(index, steps.size(), "number");
  }

  void readStep(const Json &each) {
    Step step;
    step.kind = static_cast<Step::Kind>(
        find(kStepNames, each.at(0).get<std::string>()));
    unsigned numOperands = getNumOperands(step.kind);
    unsigned size = numOperands + hasValue(step.kind);
    if (each.size() != 1 + size)
      refuse("step " + describe(each) + " has other than " +
             std::to_string(size) + " operands");
    for (unsigned i = 0; i < numOperands; ++i)
      step.operands[i] =
          step.kind == Step::Kind::Dim
              ? getIndex(each.at(1 + i), package.parameters.size(), "parameter")
              : number(each.at(1 + i));
    if (step.kind == Step::Kind::Constant)
      step.value = getNumber(each.at(1), INT64_MIN, INT64_MAX, "a constant");
    if (step.kind == Step::Kind::Time)
      step.value = getIndex(each.at(1), numRepeats, "repeat");
    if (step.kind == Step::Kind::Dim)
      step.value = getIndex(each.at(2),
                            package.parameters[step.operands[0]].sizes.size(),
                            "dimension");
    steps.push_back(step);
  }

  const Package &package;
  size_t numRepeats;
  std::vector<Step> steps;
};

/// For each number, the repeat in which it changes each time; none: it never
/// changes.
std::vector<std::optional<size_t>> findTimes(const std::vector<Step> &steps) {
  std::vector<std::optional<size_t>> times;
  for (const Step &step : steps) {
    std::optional<size_t> time;
    if (step.kind == Step::Kind::Time)
      time = step.value;
    unsigned numOperands =
        step.kind == Step::Kind::Dim ? 0 : getNumOperands(step.kind);
    for (unsigned i = 0; i < numOperands; ++i) {
      std::optional<size_t> other = times[step.operands[i]];
      if (time && other && *time != *other)
        refuse("number " + std::to_string(times.size()) + " is of repeats " +
               std::to_string(*time) + " and " + std::to_string(*other));
      time = other ? other : time;
    }
    times.push_back(time);
  }
  return times;
}

/// Reads the code for one target, and checks its indices.
class TargetReader {
public:
  TargetReader(const Package &package, const Json &json)
      : package(package), json(json), plan(code.plan) {}

  TargetCode read() {
    code.architecture = getString(json.at("architecture"));
    code.stackBytes =
        getNumber(json.at("stack"), 0, INT64_C(1) << 40, "bytes of stack");
    for (const Json &each : getArray(json, "assertions"))
      code.assertions.push_back(readAssertion(each));
    const Json &repeats = getArray(json, "repeats");
    plan.steps = StepReader(package, repeats.size()).read(json, kMaxSteps);
    times = findTimes(plan.steps);
    for (const Json &each : getArray(json, "checks"))
      plan.checks.push_back({number(each.at("found")),
                             number(each.at("expected")),
                             getString(each.at("what"))});
    const Json &launches = getArray(json, "launches");
    for (const Json &each : repeats)
      readRepeat(each, launches.size());
    for (const Json &each : getArray(json, "workspaces"))
      readWorkspace(each, launches.size());
    for (const Json &each : launches)
      readLaunch(each);
    return std::move(code);
  }

private:
  /// A number that doesn't change or, within `repeat`, one that changes each
  /// time.
  uint32_t number(const Json &json,
                  std::optional<size_t> repeat = std::nullopt) const {
    uint32_t index = getIndex(json, plan.steps.size(), "number");
    if (times[index] && times[index] != repeat)
      refuse("number " + std::to_string(index) + " is of repeat " +
             std::to_string(*times[index]) + " and is used outside of it");
    return index;
  }

  void readRepeat(const Json &each, size_t numLaunches) {
    Repeat repeat = {getIndex(each.at("first"), numLaunches, "launch"),
                     getIndex(each.at("last"), numLaunches, "launch"),
                     number(each.at("count"))};
    if (repeat.last < repeat.first ||
        (!plan.repeats.empty() && repeat.first <= plan.repeats.back().last))
      refuse("a repeat from launch " + std::to_string(repeat.first) + " to " +
             std::to_string(repeat.last) + ", behind one to launch " +
             std::to_string(plan.repeats.empty() ? repeat.first
                                                 : plan.repeats.back().last));
    plan.repeats.push_back(repeat);
  }

  /// The repeat of a launch.
  std::optional<size_t> getRepeat(uint32_t launch) const {
    for (size_t index = 0; index < plan.repeats.size(); ++index)
      if (plan.repeats[index].first <= launch &&
          launch <= plan.repeats[index].last)
        return index;
    return std::nullopt;
  }

  /// Fails unless a workspace lives during all of a repeat: when the repeat
  /// runs again, it must still have the launches' data.
  void checkLife(const Workspace &workspace) const {
    for (const Repeat &repeat : plan.repeats)
      if (workspace.first <= repeat.last && repeat.first <= workspace.last &&
          (workspace.first > repeat.first || workspace.last < repeat.last))
        refuse("a workspace from launch " + std::to_string(workspace.first) +
               " to " + std::to_string(workspace.last) +
               ", which has a part of the repeat from launch " +
               std::to_string(repeat.first) + " to " +
               std::to_string(repeat.last));
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
    if (workspace.last < workspace.first)
      refuse("a workspace from launch " + std::to_string(workspace.first) +
             " to " + std::to_string(workspace.last));
    checkLife(workspace);
    plan.workspaces.push_back(std::move(workspace));
  }

  void readLaunch(const Json &each) {
    Launch launch;
    launch.kernel = getString(each.at("kernel"));
    launch.image = getIndex(each.at("image"), package.images.size(), "image");
    auto repeat = getRepeat(static_cast<uint32_t>(plan.launches.size()));
    const Json &grid = getArray(each, "grid", 3);
    for (unsigned axis = 0; axis < 3; ++axis)
      launch.grid[axis] = number(grid.at(axis), repeat);
    bool isHost = isForHost(code);
    launch.threads = getCount(each.at("threads"), isHost ? 0 : 1,
                              isHost ? 0 : 1024, "threads");
    launch.sharedBytes =
        getCount(each.at("shared"), 0, 1 << 24, "bytes of shared memory");
    launch.cluster = getCount(each.at("cluster"), 1, 16, "blocks of a cluster");
    launch.isDependent = each.at("dependent").get<bool>();
    for (const Json &argument : getArray(each, "arguments"))
      launch.arguments.push_back(readArgument(argument, repeat));
    for (const Json &extra : getArray(each, "extra"))
      launch.extra.push_back(readExtra(extra, launch));
    if (isHost && !launch.extra.empty())
      refuse("kernel '" + launch.kernel +
             "' of a processor takes parameters of a GPU");
    if (isHost && package.images[launch.image].host.bytes.empty())
      refuse("kernel '" + launch.kernel +
             "' of a processor is in an image without its code");
    if (launch.cluster > 1 && isPersistent(launch))
      refuse("kernel '" + launch.kernel +
             "' counts the points of its grid in "
             "clusters");
    plan.launches.push_back(std::move(launch));
  }

  Argument readArgument(const Json &each, std::optional<size_t> repeat) const {
    auto buffer = each.find("buffer");
    if (buffer != each.end())
      return {true, readBuffer(*buffer)};
    uint32_t bytes = getCount(each.at("bytes"), 1, 8, "bytes of a number");
    if ((bytes & (bytes - 1)) != 0)
      refuse("a number of " + std::to_string(bytes) + " bytes");
    return {false, number(each.at("number"), repeat), bytes};
  }

  /// A parameter, or a workspace that is live during this launch.
  uint32_t readBuffer(const Json &json) const {
    size_t numParameters = package.parameters.size();
    uint32_t buffer =
        getIndex(json, numParameters + plan.workspaces.size(), "buffer");
    if (buffer < numParameters)
      return buffer;
    const Workspace &workspace = plan.workspaces[buffer - numParameters];
    size_t launch = plan.launches.size();
    if (launch < workspace.first || workspace.last < launch)
      refuse("launch " + std::to_string(launch) + " uses buffer " +
             std::to_string(buffer) + ", which lives from launch " +
             std::to_string(workspace.first) + " to " +
             std::to_string(workspace.last));
    return buffer;
  }

  size_t getRank(uint32_t buffer) const {
    size_t numParameters = package.parameters.size();
    return buffer < numParameters
               ? package.parameters[buffer].sizes.size()
               : plan.workspaces[buffer - numParameters].sizes.size();
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
      refuse("a tensor map of a number");
    for (const Json &dim : getArray(each, "dims"))
      map.dims.push_back(getIndex(dim, getRank(argument.index), "dimension"));
    // A dimension that occurs twice would reach past the buffer.
    for (uint32_t dim : map.dims)
      if (std::count(map.dims.begin(), map.dims.end(), dim) > 1)
        refuse("a tensor map that has dimension " + std::to_string(dim) +
               " twice");
    for (const Json &size : getArray(each, "box"))
      map.box.push_back(getCount(size, 1, 256, "sizes of a box"));
    if (map.dims.empty() || map.dims.size() > 5 ||
        map.box.size() != map.dims.size())
      refuse("a tensor map of " + std::to_string(map.dims.size()) +
             " dimensions with a box of " + std::to_string(map.box.size()));
    map.swizzle = getCount(each.at("swizzle"), 0, 128, "bytes of a swizzle");
    if (map.swizzle % 32 != 0 || map.swizzle == 96)
      refuse("a swizzle of " + std::to_string(map.swizzle) + " bytes");
    if (!each.contains("steps"))
      return extra;
    for (const Json &step : getArray(each, "steps"))
      map.steps.push_back(getCount(step, 1, 8, "steps of a box"));
    if (map.steps.size() != map.box.size())
      refuse("a tensor map of " + std::to_string(map.dims.size()) +
             " dimensions with " + std::to_string(map.steps.size()) + " steps");
    for (size_t i = 0; i < map.box.size(); ++i)
      if ((map.box[i] - 1) * map.steps[i] >= 256)
        refuse("a box of " + std::to_string(map.box[i]) + " elements every " +
               std::to_string(map.steps[i]));
    return extra;
  }

  const Package &package;
  const Json &json;
  TargetCode code;
  Plan &plan;
  std::vector<std::optional<size_t>> times; ///< of numbers
};

} // namespace

static Guard readGuard(const Variant &variant, const Json &json) {
  Guard guard = {getIndex(json.at("number"), variant.steps.size(), "number"),
                 getString(json.at("what"))};
  if (!getComparison(variant.steps[guard.number].kind))
    refuse("guard '" + guard.what + "' is no comparison");
  return guard;
}

static Variant readVariant(const Package &package, const Json &json) {
  Variant variant;
  variant.steps = StepReader(package).read(json, kMaxElements);
  for (const Json &each : getArray(json, "guards"))
    variant.guards.push_back(readGuard(variant, each));
  for (const Json &each : getArray(json, "targets"))
    variant.targets.push_back(TargetReader(package, each).read());
  return variant;
}

static Package read(const Json &json, CodeFor wanted) {
  Package package;
  package.compiler = getString(json.at("compiler"));
  package.kernel = getString(json.at("kernel"));
  package.signature = getString(json.at("signature"));
  for (const Json &each : getArray(json, "parameters"))
    package.parameters.push_back(readParameter(each));
  for (const Json &each : getArray(json, "images"))
    package.images.push_back(readImage(each, wanted));
  for (const Json &each : getArray(json, "variants", kMaxVariants))
    package.variants.push_back(readVariant(package, each));
  return package;
}

/// Code may access anything if its buffers, sizes and grid aren't the ones it
/// was made for, and no check of a plan finds that.
static void checkSeals(const Package &package, const Json &images) {
  std::vector<std::string> seals = makeSeals(package);
  for (size_t index = 0; index < seals.size(); ++index)
    if (getBinary(images.at(index).at("made_for")) != seals[index])
      refuse("the code of image " + std::to_string(index) +
             " was made for another plan, or other inputs and results, than "
             "those beside it: compile it again");
}

static Package readBody(std::string_view body, bool isSealed, CodeFor wanted) {
  std::optional<Json> json = readMessagePack(body, kMaxNesting);
  if (!json)
    refuse(
        "what is behind its head isn't MessagePack, or is nested more than " +
        std::to_string(kMaxNesting) + " deep");
  try {
    Package package = read(*json, wanted);
    if (isSealed)
      checkSeals(package, json->at("images"));
    return package;
  } catch (const Json::exception &exception) {
    // "[json.exception.type_error.302] type must be string, but is number"
    std::string text = exception.what();
    size_t end = text.find("] ");
    refuse("a field is missing or isn't what it has to be: " +
           (end == std::string::npos ? text : text.substr(end + 2)));
  }
}

Package nsacc::rt::readUnsealed(std::string_view body) {
  return readBody(body, /*isSealed=*/false, CodeFor::All);
}

Package nsacc::rt::readPackage(const void *data, size_t size, CodeFor wanted) {
  return readBody(openBody({static_cast<const char *>(data), size}),
                  /*isSealed=*/true, wanted);
}
