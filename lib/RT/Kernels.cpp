//===- Kernels.cpp - The code of a variant on a device --------------------===//

#include "Kernels.h"
#include "MachineCode.h"
#include <algorithm>

using namespace nsacc::rt;
namespace results = driver::results;

DeviceInfo::DeviceInfo(int ordinal) : ordinal(ordinal) {
  namespace attributes = driver::deviceAttributes;
  driver::Device handle = rt::getDevice(ordinal);
  major = getAttribute(handle, attributes::major);
  minor = getAttribute(handle, attributes::minor);
  multiprocessors = getAttribute(handle, attributes::multiprocessors);
  sharedBytes = getAttribute(handle, attributes::sharedBytesOptIn);
}

void Kernels::load() {
  std::lock_guard<std::mutex> lock(mutex);
  if (areLoaded())
    return;
  RelaxedCapture relaxed;
  functions.clear();
  residentBlocks.clear();
  for (const Launch &launch : code.plan.launches) {
    functions.push_back(loadFunction(launch));
    residentBlocks.push_back(countResidentBlocks(launch, functions.back()));
  }
  isLoaded.store(true, std::memory_order_release);
}

uint32_t Kernels::getSharedBytes(const Launch &launch) const {
  uint32_t most = launch.sharedBytes;
  for (const Variant &each : package.variants)
    for (const TargetCode &target : each.targets)
      for (const Launch &other : target.plan.launches)
        if (other.image == launch.image && other.kernel == launch.kernel &&
            other.sharedBytes <= static_cast<uint32_t>(device.sharedBytes))
          most = std::max(most, other.sharedBytes);
  return most;
}

driver::Function Kernels::loadFunction(const Launch &launch) const {
  const Driver &driver = Driver::get();
  if (launch.sharedBytes > static_cast<uint32_t>(device.sharedBytes))
    throw Failure(NSACC_RT_PACKAGE,
                  "kernel '" + launch.kernel + "' needs " +
                      std::to_string(launch.sharedBytes) +
                      " bytes of shared memory; a block of this device has " +
                      std::to_string(device.sharedBytes));
  driver::Module loaded =
      images.load(launch.image, code.architecture, device.major);
  driver::Function function = nullptr;
  driver::Result result =
      driver.moduleGetFunction(&function, loaded, launch.kernel.c_str());
  if (result != results::success)
    driver.fail(result, "finding kernel '" + launch.kernel + "'");
  result = driver.funcSetAttribute(function, driver::kMaxDynamicSharedBytes,
                                   static_cast<int>(getSharedBytes(launch)));
  // Otherwise its first launch would load it, which isn't allowed during a
  // capture.
  if (result == results::success && driver.funcLoad)
    result = driver.funcLoad(function);
  if (result != results::success)
    driver.fail(result, "preparing kernel '" + launch.kernel + "'");
  checkParameters(launch, function);
  return function;
}

/// Number of blocks that fit into the registers and shared memory of a
/// multiprocessor; the compiler chose both.
int Kernels::countResidentBlocks(const Launch &launch,
                                 driver::Function function) const {
  if (!isPersistent(launch))
    return 0;
  const Driver &driver = Driver::get();
  int blocks = 0;
  driver::Result result = driver.occupancyMaxActiveBlocks(
      &blocks, function, static_cast<int>(launch.threads), launch.sharedBytes);
  if (result != results::success)
    driver.fail(result, "asking how many blocks of kernel '" + launch.kernel +
                            "' a multiprocessor runs");
  return std::max(blocks, 1) * device.multiprocessors;
}

//===----------------------------------------------------------------------===//
// Parameters of kernels
//===----------------------------------------------------------------------===//

using ParameterBytes = std::vector<uint32_t>;

/// Bytes of the parameters that `pack` passes.
static ParameterBytes getPassed(const Package &package, const Plan &plan,
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
            : plan.workspaces[argument.index - numParameters].sizes.size();
    passed.insert(passed.end(), 1 + 2 * rank, word);
  }
  for (const ExtraParameter &extra : launch.extra)
    passed.push_back(extra.kind == ExtraParameter::Kind::TensorMap
                         ? sizeof(driver::TensorMap)
                     : extra.kind == ExtraParameter::Kind::FirstZ
                         ? sizeof(uint32_t)
                         : word);
  return passed;
}

/// Bytes of the parameters that a kernel takes, from the driver; none if it
/// doesn't tell.
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

void Kernels::checkParameters(const Launch &launch,
                              driver::Function function) const {
  ParameterBytes passed = getPassed(package, code.plan, launch);
  std::optional<ParameterBytes> taken = askParameters(function);
  if (!taken)
    taken = findParameters(package.images[launch.image].ptx, launch.kernel);
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
