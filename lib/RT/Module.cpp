//===- Module.cpp - Loads a package on a device ---------------------------===//

#include "Module.h"
#include <algorithm>

using namespace nsacc::rt;

Module::Module(Package given, int wanted)
    : package(std::move(given)), device(chooseContext(wanted)),
      images(package) {
  for (const Variant &variant : package.variants)
    if (std::optional<size_t> target =
            chooseTarget(package, variant, device.major, device.minor)) {
      variants.push_back(std::make_unique<Kernels>(
          package, variant, *target, device, images, recordCodes.size()));
      const TargetCode &code = variants.back()->getCode();
      recordCodes.insert(recordCodes.end(), code.plan.launches.size(), &code);
    }
  if (variants.empty())
    failWithoutTarget(package, device.major, device.minor);
  sameSizes = findSameSizes(package.parameters);
  ContextScope scope(context);
  // Code that every call runs is compiled here, so that its errors are reported
  // here.
  if (!variants.front()->getVariant().guards.empty())
    return;
  try {
    variants.front()->load();
  } catch (...) {
    for (driver::Module module : images.take())
      Driver::get().moduleUnload(module);
    throw;
  }
}

size_t Module::countLaunches() const {
  size_t most = 0;
  for (const auto &variant : variants)
    most = std::max(most, variant->getPlan().launches.size());
  return most;
}

namespace {

/// There is no way to ask whether a graph still exists: objects that one may
/// use stay until the process ends.
struct KeptForGraphs {
  std::vector<driver::Module> modules;
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
  KeptForGraphs recorded;
  std::vector<driver::Module> modules = images.take();
  for (auto &[key, state] : states)
    if (key.isCapture)
      recorded.states.push_back(std::move(state));
  if (!recorded.states.empty()) {
    recorded.modules.swap(modules);
    keep(std::move(recorded));
    if (primary)
      primary->keep();
  }
  try {
    ContextScope scope(context);
    RelaxedCapture relaxed;
    states.clear(); // frees memory, which waits for kernels
    for (driver::Module module : modules)
      Driver::get().moduleUnload(module);
  } catch (const Failure &) {
    // The context was destroyed, and everything in it.
    for (auto &[key, state] : states)
      state.release();
  }
}

int Module::chooseContext(int wanted) {
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
        context = current;
        return ordinal;
      }
  }
  int ordinal = wanted == -1 ? 0 : wanted;
  primary.emplace(ordinal);
  context = primary->get();
  return ordinal;
}
