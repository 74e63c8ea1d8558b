//===- Module.cpp - Loads a package on a device ---------------------------===//

#include "Module.h"
#include "MachineCode.h"
#include <algorithm>
#include <cstring>

using namespace nsacc::rt;
namespace results = driver::results;

Module::Module(Package given, int wanted) : package(std::move(given)) {
  chooseContext(wanted);
  driver::Device handle = rt::getDevice(device);
  using namespace driver::deviceAttributes;
  multiprocessors =
      getAttribute(handle, driver::deviceAttributes::multiprocessors);
  int generation = getAttribute(handle, major);
  target = chooseTarget(package, generation, getAttribute(handle, minor));
  sameSizes = findSameSizes(package.parameters);
  ContextScope scope(context);
  RelaxedCapture relaxed;
  load(generation);
  try {
    loadFunctions(getAttribute(handle, sharedBytesOptIn));
  } catch (...) {
    Driver::get().moduleUnload(module);
    throw;
  }
}

namespace {

/// Whether a graph is gone can't be asked: what one may run stays until the
/// process ends.
struct KeptForGraphs {
  driver::Module module;
  std::vector<std::unique_ptr<StreamState>> states;
};

} // namespace

static void keep(KeptForGraphs recorded) {
  static std::mutex mutex;
  static auto *kept = new std::vector<KeptForGraphs>();
  std::lock_guard<std::mutex> lock(mutex);
  kept->push_back(std::move(recorded));
}

Module::~Module() {
  KeptForGraphs recorded = {module, {}};
  for (auto &[key, state] : states)
    if (key.isCapture)
      recorded.states.push_back(std::move(state));
  bool isRecorded = !recorded.states.empty();
  if (isRecorded)
    keep(std::move(recorded));
  if (isRecorded && primary)
    primary->keep();
  try {
    ContextScope scope(context);
    RelaxedCapture relaxed;
    states.clear(); // frees memory, which waits for kernels
    if (!isRecorded)
      Driver::get().moduleUnload(module);
  } catch (const Failure &) {
    // The context is gone, and with it all that was in it.
    for (auto &[key, state] : states)
      state.release();
  }
}

void Module::chooseContext(int wanted) {
  const Driver &driver = Driver::get();
  driver::Context current = nullptr;
  driver.check(driver.ctxGetCurrent(&current), "asking for the context");
  if (current) {
    driver::Device ofContext;
    driver.check(driver.ctxGetDevice(&ofContext), "asking for the device");
    int count = getDeviceCount();
    for (int ordinal = 0; ordinal < count; ++ordinal)
      if (rt::getDevice(ordinal) == ofContext &&
          (wanted == ordinal || wanted == -1)) {
        device = ordinal;
        context = current;
        return;
      }
  }
  device = wanted == -1 ? 0 : wanted;
  primary.emplace(device);
  context = primary->get();
}

driver::Module Module::loadImage(const std::string &image) const {
  const Driver &driver = Driver::get();
  char log[2048] = "";
  int options[] = {driver::jitOptions::errorLog,
                   driver::jitOptions::errorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  driver::Module loaded = nullptr;
  // A string ends in a zero, as PTX has to.
  driver::Result result =
      driver.moduleLoad(&loaded, image.c_str(), 2, options, values);
  if (result == results::success)
    return loaded;
  std::string what = "loading the code of '" + package.kernel + "' for " +
                     getCode().architecture;
  log[sizeof(log) - 1] = '\0';
  if (*log)
    what += std::string(" (") + log + ")";
  if (result == results::unsupportedPTX)
    what += ": its PTX is newer than this driver, update it or compile where "
            "ptxas is";
  driver.fail(result, what);
}

void Module::load(int major) {
  const TargetCode &code = getCode();
  bool hasPTX = !code.ptx.empty();
  if (!hasMachineCode(code, major)) {
    module = loadImage(code.ptx);
    return;
  }
  try {
    module = loadImage(code.cubin);
  } catch (const Failure &failure) {
    // A driver can be too old for machine code of a newer ptxas.
    if (!hasPTX || failure.status == NSACC_RT_MEMORY)
      throw;
    module = loadImage(code.ptx);
  }
}

void Module::loadFunctions(int sharedBytesLimit) {
  const Driver &driver = Driver::get();
  for (const Launch &launch : getCode().plan.launches) {
    if (launch.sharedBytes > static_cast<uint32_t>(sharedBytesLimit))
      throw Failure(NSACC_RT_PACKAGE,
                    "kernel '" + launch.kernel + "' needs " +
                        std::to_string(launch.sharedBytes) +
                        " bytes of shared memory; a block of this device has " +
                        std::to_string(sharedBytesLimit));
    driver::Function function = nullptr;
    driver::Result result =
        driver.moduleGetFunction(&function, module, launch.kernel.c_str());
    if (result != results::success)
      driver.fail(result, "finding kernel '" + launch.kernel + "'");
    result = driver.funcSetAttribute(function, driver::kMaxDynamicSharedBytes,
                                     static_cast<int>(launch.sharedBytes));
    // Else its first launch would load it, which a capture can't have.
    if (result == results::success && driver.funcLoad)
      result = driver.funcLoad(function);
    if (result != results::success)
      driver.fail(result, "preparing kernel '" + launch.kernel + "'");
    checkParameters(launch, function);
    functions.push_back(function);
  }
}

//===----------------------------------------------------------------------===//
// Parameters of kernels
//===----------------------------------------------------------------------===//

using ParameterBytes = std::vector<uint32_t>;

/// What `pack` passes.
static ParameterBytes getPassed(const Package &package, const TargetCode &code,
                                const Launch &launch) {
  constexpr uint32_t word = sizeof(uint64_t);
  ParameterBytes passed;
  size_t numParameters = package.parameters.size();
  for (const Argument &argument : launch.arguments) {
    if (!argument.isBuffer) {
      passed.push_back(argument.bytes);
      continue;
    }
    size_t rank =
        argument.index < numParameters
            ? package.parameters[argument.index].sizes.size()
            : code.plan.workspaces[argument.index - numParameters].sizes.size();
    passed.insert(passed.end(), 1 + 2 * rank, word);
  }
  for (const ExtraParameter &extra : launch.extra)
    passed.push_back(extra.kind == ExtraParameter::Kind::TensorMap
                         ? sizeof(driver::TensorMap)
                         : word);
  return passed;
}

/// What the driver says that a kernel takes; none where it doesn't say.
static std::optional<ParameterBytes> askParameters(driver::Function function) {
  const Driver &driver = Driver::get();
  if (!driver.funcGetParamInfo)
    return std::nullopt;
  ParameterBytes taken;
  size_t offset = 0, bytes = 0;
  while (true) {
    driver::Result result =
        driver.funcGetParamInfo(function, taken.size(), &offset, &bytes);
    if (result == results::invalidValue)
      return taken;
    if (result != results::success)
      return std::nullopt;
    taken.push_back(static_cast<uint32_t>(bytes));
  }
}

void Module::checkParameters(const Launch &launch,
                             driver::Function function) const {
  ParameterBytes passed = getPassed(package, getCode(), launch);
  std::optional<ParameterBytes> taken = askParameters(function);
  if (!taken)
    taken = findParameters(getCode().ptx, launch.kernel);
  if (!taken || *taken == passed)
    return;
  std::string what = "damaged package: kernel '" + launch.kernel + "' takes ";
  if (taken->size() != passed.size())
    throw Failure(NSACC_RT_PACKAGE, what + std::to_string(taken->size()) +
                                        " parameters, its launch passes " +
                                        std::to_string(passed.size()));
  size_t index =
      std::mismatch(passed.begin(), passed.end(), taken->begin()).first -
      passed.begin();
  throw Failure(NSACC_RT_PACKAGE,
                what + std::to_string((*taken)[index]) +
                    " bytes as parameter " + std::to_string(index) +
                    ", its launch passes " + std::to_string(passed[index]));
}
