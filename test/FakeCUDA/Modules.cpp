//===- Modules.cpp - Code and launches of the fake driver -----------------===//

#include "State.h"
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <memory>
#include <numeric>
#include <regex>

using namespace fakecuda;
using namespace nsacc::rt::driver;

/// Bytes of each parameter in a PTX entry's parameter list.
static std::vector<size_t> parseParameters(const std::string &list) {
  static const std::regex parameter(
      R"(\.param\s+(?:\.align\s+\d+\s+)?\.[a-z]+(\d+)[^,\[]*(?:\[(\d+)\])?)");
  std::vector<size_t> bytes;
  for (std::sregex_iterator each(list.begin(), list.end(), parameter), end;
       each != end; ++each) {
    size_t count = (*each)[2].matched ? std::stoul((*each)[2]) : 1;
    bytes.push_back(std::stoul((*each)[1]) / 8 * count);
  }
  return bytes;
}

/// Finds the entries of PTX. For machine code only names are needed.
static void parseEntries(const std::string &text, Context context,
                         std::map<std::string, FunctionImpl> &functions) {
  static const std::regex entry(R"(\.entry\s+(\w+)\s*\(([^)]*)\))");
  for (std::sregex_iterator each(text.begin(), text.end(), entry), end;
       each != end; ++each)
    functions[(*each)[1]] = {(*each)[1], context, parseParameters((*each)[2])};
}

/// Offset of the text in the fake's machine code.
static constexpr size_t kTextAt = sizeof(Elf64_Ehdr);
static constexpr char kTextMark[] = "fake:";

std::string fakecuda::makeMachineCode(const std::string &ptx) {
  Elf64_Ehdr head = {};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  std::string code(reinterpret_cast<const char *>(&head), kTextAt);
  return code + kTextMark + ptx + '\0';
}

/// The text that kernels are read from; null for other machine code.
static const char *getText(const char *image) {
  if (*image != '\x7f')
    return image;
  // Other machine code only needs a valid head.
  bool isOwn =
      std::strncmp(image + kTextAt, kTextMark, sizeof(kTextMark) - 1) == 0;
  return isOwn ? image + kTextAt + sizeof(kTextMark) - 1 : nullptr;
}

static Result fail(Result result, const char *text, unsigned numOptions,
                   int *options, void **values) {
  for (unsigned i = 0; i < numOptions; ++i)
    if (options[i] == jitOptions::errorLog)
      std::strcpy(static_cast<char *>(values[i]), text);
  return result;
}

/// Whether a device can run PTX: it runs on its target and later ones, or on
/// the target alone ("sm_90a").
static bool canRun(const std::string &text, const FakeDevice &device) {
  static const std::regex target(R"(\.target\s+sm_(\d+)(a?))");
  std::smatch found;
  if (!std::regex_search(text, found, target))
    return true;
  int made = std::stoi(found[1]), own = device.major * 10 + device.minor;
  return found[2].length() ? made == own : made <= own;
}

FAKE_EXPORT Result cuModuleLoadDataEx(Module *module, const void *image,
                                      unsigned numOptions, int *options,
                                      void **values) {
  FAKE_ENTER_UNSAFE(cuModuleLoadDataEx);
  if (!getCurrent())
    return state.misused("cuModuleLoadDataEx without a context",
                         kInvalidContext);
  auto loaded = std::make_unique<ModuleImpl>();
  loaded->context = getCurrent();
  const char *text = getText(static_cast<const char *>(image));
  loaded->hasEveryFunction = !text;
  if (text) {
    if (!std::strstr(text, ".version"))
      return fail(results::invalidPTX, "ptxas fatal: no version", numOptions,
                  options, values);
    if (!canRun(text, state.devices[getCurrent()->device]))
      return results::noBinaryForDevice;
    parseEntries(text, getCurrent(), loaded->functions);
  }
  *module = loaded.release();
  return results::success;
}

FAKE_EXPORT Result cuModuleUnload(Module module) {
  FAKE_ENTER_UNSAFE(cuModuleUnload);
  delete module;
  return results::success;
}

FAKE_EXPORT Result cuModuleGetFunction(Function *function, Module module,
                                       const char *name) {
  FAKE_ENTER(cuModuleGetFunction);
  auto &functions = module->functions;
  if (module->hasEveryFunction)
    functions.try_emplace(
        name, FunctionImpl{name, module->context, {}, /*knows=*/false});
  auto found = functions.find(name);
  if (found == functions.end())
    return kNotFound;
  *function = &found->second;
  return results::success;
}

FAKE_EXPORT Result cuFuncSetAttribute(Function function, int attribute,
                                      int value) {
  FAKE_ENTER(cuFuncSetAttribute);
  if (attribute != kMaxDynamicSharedBytes)
    return state.misused("cuFuncSetAttribute of an unknown attribute");
  if (value > state.devices[function->context->device].sharedBytes)
    return state.misused("cuFuncSetAttribute of more shared memory than a "
                         "block can have");
  function->maxSharedBytes = static_cast<unsigned>(value);
  return results::success;
}

FAKE_EXPORT Result cuFuncGetParamInfo(Function function, size_t index,
                                      size_t *offset, size_t *bytes) {
  FAKE_ENTER(cuFuncGetParamInfo);
  if (!function->knowsParameters)
    return kNotSupported;
  const std::vector<size_t> &all = function->parameterBytes;
  if (index >= all.size())
    return kInvalidValue;
  *offset = std::accumulate(all.begin(), all.begin() + index, size_t(0));
  *bytes = all[index];
  return results::success;
}

FAKE_EXPORT Result cuOccupancyMaxActiveBlocksPerMultiprocessor(
    int *blocks, Function function, int threads, size_t sharedBytes) {
  FAKE_ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessor);
  if (threads <= 0 || sharedBytes > function->maxSharedBytes)
    return state.misused("cuOccupancyMaxActiveBlocksPerMultiprocessor of an "
                         "impossible block");
  *blocks = state.residentBlocks;
  return results::success;
}

FAKE_EXPORT Result cuFuncLoad(Function) {
  FAKE_ENTER(cuFuncLoad);
  return results::success;
}

static void log(const Launch &launch) {
  const char *path = std::getenv("FAKE_CUDA_LOG");
  if (!path)
    return;
  std::ofstream file(path, std::ios::app);
  file << "launch " << launch.kernel << " grid " << launch.grid[0] << " "
       << launch.grid[1] << " " << launch.grid[2] << " threads "
       << launch.threads << " shared " << launch.sharedBytes << " cluster "
       << launch.cluster << " parameters " << launch.parameters.size() << "\n";
}

static Result checkLaunch(State &state, const LaunchConfig &config,
                          Function function, void **parameters) {
  Stream stream = resolve(state, config.stream);
  if (!stream || getCurrent() != function->context)
    return state.misused("a launch in another context", kInvalidContext);
  if (stream->context != function->context)
    return state.misused("a launch on another context's stream",
                         kInvalidHandle);
  if (config.sharedBytes > function->maxSharedBytes)
    return state.misused("a launch with too much shared memory");
  for (unsigned axis = 0; axis < 3; ++axis)
    if (config.grid[axis] == 0 ||
        config.grid[axis] > (axis == 0 ? 0x7fffffffu : 65535u))
      return state.misused("a launch with an impossible grid");
  for (size_t i = 0; i < function->parameterBytes.size(); ++i)
    if (!parameters[i])
      return state.misused("a launch with a null parameter");
  return results::success;
}

FAKE_EXPORT Result cuLaunchKernelEx(const LaunchConfig *config,
                                    Function function, void **parameters,
                                    void **) {
  FAKE_ENTER(cuLaunchKernelEx);
  if (Result result = checkLaunch(state, *config, function, parameters))
    return result;
  Launch launch;
  launch.kernel = function->name;
  std::copy_n(config->grid, 3, launch.grid);
  launch.threads = config->block[0];
  launch.sharedBytes = config->sharedBytes;
  launch.cluster = 1;
  launch.isDependent = false;
  for (unsigned i = 0; i < config->numAttributes; ++i) {
    const LaunchAttribute &attribute = config->attributes[i];
    if (attribute.id == LaunchAttribute::clusterDimension)
      launch.cluster = attribute.cluster[0];
    else if (attribute.id == LaunchAttribute::programmaticSerialization)
      launch.isDependent = attribute.isProgrammatic;
    else
      return state.misused("a launch with an unknown attribute");
  }
  launch.stream = config->stream;
  launch.context = function->context;
  Stream stream = resolve(state, config->stream);
  launch.isCaptured = stream->captureStatus == kCaptureActive;
  for (size_t i = 0; i < function->parameterBytes.size(); ++i)
    launch.parameters.emplace_back(static_cast<char *>(parameters[i]),
                                   function->parameterBytes[i]);
  log(launch);
  if (launch.isCaptured) {
    state.launches.push_back(launch);
    stream->recorded.push_back(std::move(launch));
  } else {
    run(state, std::move(launch));
  }
  return results::success;
}
