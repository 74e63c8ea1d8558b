//===- Images.cpp - A package's images on a device ------------------------===//

#include "Images.h"
#include "Failure.h"
#include <utility>

using namespace nsacc::rt;
namespace results = driver::results;

driver::Module Images::loadText(const std::string &image,
                                const std::string &architecture) const {
  const Driver &driver = Driver::get();
  char log[2048] = "";
  int options[] = {driver::jitOptions::errorLog,
                   driver::jitOptions::errorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  driver::Module loaded = nullptr;
  // A string's data ends in a zero, which PTX requires.
  driver::Result result =
      driver.moduleLoad(&loaded, image.c_str(), 2, options, values);
  if (result == results::success)
    return loaded;
  std::string what =
      "loading the code of '" + package.kernel + "' for " + architecture;
  log[sizeof(log) - 1] = '\0';
  if (*log)
    what += std::string(" (") + log + ")";
  if (result == results::unsupportedPTX)
    what += ": its PTX is newer than this driver, update it or compile where "
            "ptxas is";
  driver.fail(result, what);
}

driver::Module Images::load(uint32_t index, const std::string &architecture,
                            int major) {
  const Image &image = package.images[index];
  Slot &slot = slots[index];
  std::lock_guard<std::mutex> lock(slot.mutex);
  if (slot.module)
    return slot.module;
  if (!hasMachineCode(image, architecture, major))
    return slot.module = loadText(image.ptx, architecture);
  try {
    return slot.module = loadText(image.cubin, architecture);
  } catch (const Failure &failure) {
    // A driver may be too old for machine code of a newer ptxas.
    if (image.ptx.empty() || failure.status == NSACC_RT_MEMORY)
      throw;
    return slot.module = loadText(image.ptx, architecture);
  }
}

std::vector<driver::Module> Images::take() {
  std::vector<driver::Module> modules;
  for (Slot &slot : slots)
    if (slot.module)
      modules.push_back(std::exchange(slot.module, nullptr));
  return modules;
}
