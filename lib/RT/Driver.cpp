//===- Driver.cpp - The CUDA driver, opened at run time -------------------===//

#include "Driver.h"
#include <dlfcn.h>

using namespace nsacc::rt;
using namespace nsacc::rt::driver;

/// The first version with every function of Entries.def that isn't optional.
static constexpr int kOldestVersion = 12000;

static std::string describeVersion(int version) {
  return "CUDA " + std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

[[noreturn]] static void failUnavailable(const std::string &message) {
  throw Failure(NSACC_RT_UNAVAILABLE, message);
}

template <typename Function>
static void find(void *library, const char *symbol, Function &function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
}

template <typename Function>
static void require(void *library, const char *symbol, Function &function) {
  find(library, symbol, function);
  if (!function)
    failUnavailable(std::string("the CUDA driver has no ") + symbol +
                    ": update it to one for " +
                    describeVersion(kOldestVersion) + " or newer");
}

static Driver open() {
  // Stays open: other libraries of the process use it, too.
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    failUnavailable(std::string("no CUDA driver: ") +
                    (reason ? reason : "libcuda.so.1 can't be opened") +
                    "; a GPU needs NVIDIA's driver");
  }
  Driver driver;
  // Queried before the other functions, for a better message.
  require(library, "cuDriverGetVersion", driver.driverGetVersion);
  if (driver.driverGetVersion(&driver.version) != results::success)
    failUnavailable("the CUDA driver doesn't tell its version");
  if (driver.version < kOldestVersion)
    failUnavailable("the CUDA driver is for " +
                    describeVersion(driver.version) +
                    ": update it to one for " +
                    describeVersion(kOldestVersion) + " or newer");
#define ENTRY(name, symbol, parameters) require(library, #symbol, driver.name);
#define OPTIONAL_ENTRY(name, symbol, parameters)                               \
  find(library, #symbol, driver.name);
#include "Entries.def"
  if (!driver.streamGetCaptureInfo3)
    require(library, "cuStreamGetCaptureInfo_v2", driver.streamGetCaptureInfo);
  Result result = driver.init(0);
  if (result == results::noDevice)
    failUnavailable("the CUDA driver finds no GPU");
  if (result != results::success)
    failUnavailable("the CUDA driver can't start: " + driver.describe(result));
  return driver;
}

const Driver &Driver::get() {
  static const Driver driver = open();
  return driver;
}

std::string Driver::describe(Result result) const {
  const char *name = nullptr, *text = nullptr;
  getErrorName(result, &name);
  getErrorString(result, &text);
  std::string description =
      name ? name : "CUDA error " + std::to_string(result);
  return text ? description + " (" + text + ")" : description;
}

void Driver::fail(Result result, const std::string &what) const {
  bool isMemory = result == results::outOfMemory;
  throw Failure(isMemory ? NSACC_RT_MEMORY : NSACC_RT_DRIVER,
                what + ": " + describe(result));
}

ContextScope::ContextScope(Context context) {
  const Driver &driver = Driver::get();
  Context current = nullptr;
  driver.check(driver.ctxGetCurrent(&current), "asking for the context");
  isPushed = current != context;
  if (isPushed)
    driver.check(driver.ctxPush(context), "entering the context");
}

ContextScope::~ContextScope() {
  Context popped;
  if (isPushed)
    Driver::get().ctxPop(&popped);
}

RelaxedCapture::RelaxedCapture() { Driver::get().exchangeCaptureMode(&mode); }

RelaxedCapture::~RelaxedCapture() { Driver::get().exchangeCaptureMode(&mode); }

PrimaryContext::PrimaryContext(int ordinal) : device(getDevice(ordinal)) {
  const Driver &driver = Driver::get();
  driver.check(driver.primaryCtxRetain(&context, device), "opening the device");
}

PrimaryContext::~PrimaryContext() {
  if (!isKept)
    Driver::get().primaryCtxRelease(device);
}

int nsacc::rt::getDeviceCount() {
  const Driver &driver = Driver::get();
  int count = 0;
  driver.check(driver.deviceGetCount(&count), "counting devices");
  if (count == 0)
    failUnavailable("the CUDA driver finds no GPU");
  return count;
}

Device nsacc::rt::getDevice(int ordinal) {
  const Driver &driver = Driver::get();
  int count = getDeviceCount();
  if (ordinal < 0 || ordinal >= count)
    throw Failure(NSACC_RT_INVALID,
                  "there is no device " + std::to_string(ordinal) +
                      ": this machine has " + std::to_string(count) +
                      ", counted from 0");
  Device device;
  driver.check(driver.deviceGet(&device, ordinal), "opening the device");
  return device;
}

int nsacc::rt::getAttribute(Device device, int attribute) {
  const Driver &driver = Driver::get();
  int value = 0;
  driver.check(driver.deviceGetAttribute(&value, attribute, device),
               "asking for an attribute of the device");
  return value;
}
