//===- nsacc_rt.cpp - The runtime's C interface ---------------------------===//

#include "nsacc-rt/nsacc_rt.h"
#include "Measure.h"
#include "Module.h"
#include "PackageFile.h"
#include "Signature.h"
#include "nsacc/RT/Host.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <sys/stat.h>

using namespace nsacc::rt;

struct nsacc_rt_module {
  /// One of the two is set.
  std::unique_ptr<Module> onDevice;
  std::unique_ptr<HostModule> onHost;

  const Package &getPackage() const {
    return onDevice ? onDevice->getPackage() : onHost->getPackage();
  }
};

/// The message for callers. All messages of a thread are at the same address,
/// so that a pointer to an earlier one stays valid, and `printf("%d %s",
/// call(), nsacc_rt_message())` is right in whichever order its arguments are
/// computed.
static thread_local char message[4096];

/// Sets the message and returns the status. A long text is cut before a
/// character of UTF-8.
static nsacc_rt_status fail(nsacc_rt_status status, const char *text) {
  constexpr std::string_view dots = "...";
  size_t size = std::strlen(text);
  bool isCut = size >= sizeof(message);
  if (isCut)
    for (size = sizeof(message) - 1 - dots.size();
         (static_cast<uint8_t>(text[size]) & 0xc0) == 0x80; --size) {
    }
  std::memcpy(message, text, size);
  std::strcpy(message + size, isCut ? dots.data() : "");
  return status;
}

/// Runs `body`; an exception becomes a status.
template <typename Body> static nsacc_rt_status guard(Body body) {
  message[0] = '\0';
  try {
    body();
    return NSACC_RT_OK;
  } catch (const Failure &failure) {
    return fail(failure.status, failure.what());
  } catch (const std::bad_alloc &) {
    return fail(NSACC_RT_MEMORY, "no memory on the host");
  } catch (const std::exception &exception) {
    return fail(NSACC_RT_INVALID, exception.what());
  }
}

static void require(const void *pointer, const char *what) {
  if (!pointer)
    throw Failure(NSACC_RT_INVALID, std::string(what) + " is a null pointer");
}

const char *nsacc_rt_message(void) { return message; }

const char *nsacc_rt_version(void) { return NSACC_RT_VERSION; }

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

nsacc_rt_status nsacc_rt_device_count(int *count) {
  return guard([&] {
    require(count, "count");
    *count = getDeviceCount();
  });
}

nsacc_rt_status nsacc_rt_device(int device, nsacc_rt_device_info *info) {
  return guard([&] {
    require(info, "info");
    if (device == NSACC_RT_HOST)
      throw Failure(NSACC_RT_INVALID,
                    "NSACC_RT_HOST is no GPU: nsacc_rt_target says what code a "
                    "module of it runs");
    namespace attributes = driver::deviceAttributes;
    driver::Device handle = getDevice(device);
    const Driver &driver = Driver::get();
    std::memset(info, 0, sizeof(*info));
    driver.check(
        driver.deviceGetName(info->name, sizeof(info->name) - 1, handle),
        "asking for the device's name");
    info->major = getAttribute(handle, attributes::major);
    info->minor = getAttribute(handle, attributes::minor);
    info->multiprocessors = getAttribute(handle, attributes::multiprocessors);
    info->shared_bytes = getAttribute(handle, attributes::sharedBytesOptIn);
    info->shared_bytes_of_multiprocessor =
        getAttribute(handle, attributes::sharedBytesOfMultiprocessor);
    info->registers_of_multiprocessor =
        getAttribute(handle, attributes::registersOfMultiprocessor);
    info->l2_bytes = getAttribute(handle, attributes::l2Bytes);
    info->driver_version = driver.version;
  });
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

static nsacc_rt_module *load(const void *bytes, size_t size, int device) {
  std::optional<Package> package;
  try {
    package = readPackage(
        bytes, size, device == NSACC_RT_HOST ? CodeFor::Host : CodeFor::All);
  } catch (const std::runtime_error &error) {
    throw Failure(NSACC_RT_PACKAGE, error.what());
  }
  auto loaded = std::make_unique<nsacc_rt_module>();
  if (device == NSACC_RT_HOST && isForThisProcessor(*package))
    throw Failure(NSACC_RT_PACKAGE,
                  "the package is for the processor that compiled it alone");
  if (device == NSACC_RT_HOST)
    loaded->onHost = std::make_unique<HostModule>(std::move(*package));
  else if (device < -1)
    throw Failure(NSACC_RT_INVALID,
                  "there is no device " + std::to_string(device));
  else
    loaded->onDevice = std::make_unique<Module>(std::move(*package), device);
  return loaded.release();
}

nsacc_rt_status nsacc_rt_load(const void *package, size_t size, int device,
                              nsacc_rt_module **module) {
  return guard([&] {
    require(package, "package");
    require(module, "module");
    *module = nullptr;
    *module = load(package, size, device);
  });
}

namespace {
struct FileBytes {
  std::unique_ptr<char[]> bytes;
  size_t size = 0;
};
} // namespace

/// The file's size, and one byte to detect its end. Files that aren't plain
/// have no size.
static size_t guessCapacity(FILE *file) {
  constexpr size_t least = 1 << 16;
  struct stat info;
  if (fstat(fileno(file), &info) != 0 || info.st_size < 0)
    return least;
  return std::max(least, static_cast<size_t>(info.st_size) + 1);
}

static FileBytes readFile(const char *path) {
  auto fail = [&] {
    throw Failure(NSACC_RT_INVALID, "can't read '" + std::string(path) +
                                        "': " + std::strerror(errno));
  };
  std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path, "rb"),
                                              std::fclose);
  if (!file)
    fail();
  FileBytes read;
  size_t capacity = 0;
  do {
    // The buffer isn't zeroed before reading.
    capacity = capacity ? 2 * capacity : guessCapacity(file.get());
    auto larger = std::make_unique_for_overwrite<char[]>(capacity);
    std::copy_n(read.bytes.get(), read.size, larger.get());
    read.bytes = std::move(larger);
    read.size += std::fread(read.bytes.get() + read.size, 1,
                            capacity - read.size, file.get());
    // Devices and pipes may never end.
  } while (read.size == capacity &&
           read.size <= countFileBytes({read.bytes.get(), read.size}));
  if (std::ferror(file.get()))
    fail();
  return read;
}

nsacc_rt_status nsacc_rt_load_file(const char *path, int device,
                                   nsacc_rt_module **module) {
  return guard([&] {
    require(path, "path");
    require(module, "module");
    *module = nullptr;
    FileBytes file = readFile(path);
    try {
      *module = load(file.bytes.get(), file.size, device);
    } catch (const Failure &failure) {
      if (failure.status != NSACC_RT_PACKAGE)
        throw;
      throw Failure(failure.status,
                    "'" + std::string(path) + "': " + failure.what());
    }
  });
}

void nsacc_rt_unload(nsacc_rt_module *module) { delete module; }

const char *nsacc_rt_kernel(const nsacc_rt_module *module) {
  return module ? module->getPackage().kernel.c_str() : "";
}

const char *nsacc_rt_target(const nsacc_rt_module *module) {
  if (!module)
    return "";
  return module->onDevice ? module->onDevice->getArchitecture().c_str()
                          : module->onHost->getArchitecture().c_str();
}

int nsacc_rt_module_device(const nsacc_rt_module *module) {
  if (!module)
    return -1;
  return module->onDevice ? module->onDevice->getDevice() : NSACC_RT_HOST;
}

size_t nsacc_rt_parameter_count(const nsacc_rt_module *module) {
  return module ? module->getPackage().parameters.size() : 0;
}

nsacc_rt_status nsacc_rt_get_parameter(const nsacc_rt_module *module,
                                       size_t index,
                                       nsacc_rt_parameter *parameter) {
  return guard([&] {
    require(module, "module");
    require(parameter, "parameter");
    const auto &parameters = module->getPackage().parameters;
    if (index >= parameters.size())
      throw Failure(NSACC_RT_INVALID,
                    "there is no parameter " + std::to_string(index));
    const Parameter &found = parameters[index];
    *parameter = {found.name.c_str(), toNumber(found.dtype),
                  static_cast<int>(found.sizes.size()), found.isResult};
  });
}

int64_t nsacc_rt_parameter_size(const nsacc_rt_module *module, size_t index,
                                int dim) {
  if (!module)
    return -1;
  const auto &parameters = module->getPackage().parameters;
  if (index >= parameters.size() || dim < 0 ||
      static_cast<size_t>(dim) >= parameters[index].sizes.size())
    return -1;
  return parameters[index].sizes[dim].fixed.value_or(-1);
}

nsacc_rt_status nsacc_rt_match(const nsacc_rt_module *module,
                               const nsacc_rt_signature *signature) {
  return guard([&] {
    require(module, "module");
    require(signature, "signature");
    require(signature->kernel, "kernel");
    if (signature->count)
      require(signature->parameters, "parameters");
    matchSignature(module->getPackage(), *signature);
  });
}

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

static driver::Stream toStream(nsacc_rt_stream stream) {
  return static_cast<driver::Stream>(stream);
}

/// The host's module; null if the module is on a device. The host has no
/// streams.
static HostModule *getHostModule(nsacc_rt_module *module,
                                 nsacc_rt_stream stream) {
  require(module, "module");
  if (module->onHost && stream)
    throw Failure(NSACC_RT_INVALID,
                  "the module is the host's, which has no stream but NULL");
  return module->onHost.get();
}

/// Headers that `nsacc header` writes pass no tensors if they get no sizes.
static void requireTensors(const nsacc_rt_module &module,
                           const nsacc_rt_tensor *tensors, size_t count) {
  size_t expected = module.getPackage().parameters.size();
  if (tensors || (expected == 0 && count == 0))
    return;
  if (count > 0)
    require(tensors, "tensors");
  throw Failure(NSACC_RT_INVALID,
                "expected " + std::to_string(expected) +
                    " tensors, inputs and then results, found 0: in functions "
                    "of a header by nsacc, sizes is a null pointer");
}

nsacc_rt_status nsacc_rt_launch(nsacc_rt_module *module,
                                const nsacc_rt_tensor *tensors, size_t count,
                                nsacc_rt_stream stream) {
  return guard([&] {
    HostModule *host = getHostModule(module, stream);
    requireTensors(*module, tensors, count);
    if (host)
      host->run(tensors, count, {});
    else
      module->onDevice->launch(tensors, count, toStream(stream));
  });
}

nsacc_rt_status nsacc_rt_run_on_host(nsacc_rt_module *module,
                                     const nsacc_rt_tensor *tensors,
                                     size_t count,
                                     const nsacc_rt_host_options *options) {
  return guard([&] {
    HostModule *host = getHostModule(module, nullptr);
    if (!host)
      throw Failure(NSACC_RT_INVALID, "the module is on a device, not on the "
                                      "host: use nsacc_rt_launch");
    requireTensors(*module, tensors, count);
    HostOptions own;
    if (options)
      own.threads = options->threads;
    if (options && options->is_interrupted)
      own.isInterrupted = [options] {
        return options->is_interrupted(options->data) != 0;
      };
    host->run(tensors, count, own);
  });
}

nsacc_rt_status nsacc_rt_reserve(nsacc_rt_module *module,
                                 const nsacc_rt_tensor *tensors, size_t count,
                                 nsacc_rt_stream stream) {
  return guard([&] {
    if (getHostModule(module, stream))
      return;
    requireTensors(*module, tensors, count);
    module->onDevice->reserve(tensors, count, toStream(stream));
  });
}

nsacc_rt_status nsacc_rt_check(nsacc_rt_module *module,
                               nsacc_rt_stream stream) {
  return guard([&] {
    if (!getHostModule(module, stream))
      module->onDevice->check(toStream(stream));
  });
}

nsacc_rt_status nsacc_rt_measure(nsacc_rt_module *module,
                                 const nsacc_rt_tensor *tensors, size_t count,
                                 const nsacc_rt_measure_options *options,
                                 double *milliseconds) {
  return guard([&] {
    HostModule *host = getHostModule(module, nullptr);
    require(options, "options");
    checkOptions(*options, host != nullptr);
    require(milliseconds, "milliseconds");
    requireTensors(*module, tensors, count);
    if (host)
      measureOnHost(*host, tensors, count, *options, milliseconds);
    else
      module->onDevice->measure(tensors, count, *options, milliseconds);
  });
}

int64_t nsacc_rt_workspace_bytes(const nsacc_rt_module *module) {
  if (!module)
    return 0;
  return module->onDevice ? module->onDevice->getWorkspaceBytes()
                          : module->onHost->getWorkspaceBytes();
}

size_t nsacc_rt_launch_count(const nsacc_rt_module *module) {
  if (!module)
    return 0;
  return module->onDevice ? module->onDevice->countLaunches()
                          : module->onHost->countLaunches();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The processor's caches have lines of 64 bytes.
static void *allocateOnHost(size_t bytes) {
  constexpr size_t line = 64;
  void *data = bytes > SIZE_MAX - line
                   ? nullptr
                   : std::aligned_alloc(line, bytes / line * line + line);
  if (!data)
    throw std::bad_alloc();
  return data;
}

/// Runs `body` with the device's primary context.
template <typename Body>
static nsacc_rt_status onDevice(int device, Body body) {
  return guard([&] {
    PrimaryContext context(device);
    ContextScope scope(context.get());
    body(Driver::get());
  });
}

nsacc_rt_status nsacc_rt_allocate(int device, size_t bytes, void **data) {
  return guard([&] {
    require(data, "data");
    *data = nullptr;
    if (device == NSACC_RT_HOST) {
      *data = allocateOnHost(bytes);
      return;
    }
    // The context stays for as long as the memory does.
    PrimaryContext context(device);
    ContextScope scope(context.get());
    const Driver &driver = Driver::get();
    driver::Address address = 0;
    driver::Result result = driver.memAlloc(&address, bytes ? bytes : 1);
    if (result != driver::results::success)
      driver.fail(result, "allocating " + std::to_string(bytes) + " bytes");
    *data = reinterpret_cast<void *>(address);
    context.keep();
  });
}

void nsacc_rt_free(int device, void *data) {
  if (!data)
    return;
  if (device == NSACC_RT_HOST) {
    std::free(data);
    return;
  }
  onDevice(device, [&](const Driver &driver) {
    driver.memFree(reinterpret_cast<driver::Address>(data));
    driver.primaryCtxRelease(getDevice(device));
  });
}

static nsacc_rt_status copyOnHost(void *to, const void *from, size_t bytes) {
  return guard([&] {
    if (!bytes)
      return;
    require(to, "to");
    require(from, "from");
    std::memcpy(to, from, bytes);
  });
}

nsacc_rt_status nsacc_rt_to_device(int device, void *to, const void *from,
                                   size_t bytes) {
  if (device == NSACC_RT_HOST)
    return copyOnHost(to, from, bytes);
  return onDevice(device, [&](const Driver &driver) {
    if (bytes)
      driver.check(driver.memcpyToDevice(reinterpret_cast<driver::Address>(to),
                                         from, bytes),
                   "copying to the device");
  });
}

nsacc_rt_status nsacc_rt_to_host(int device, void *to, const void *from,
                                 size_t bytes) {
  if (device == NSACC_RT_HOST)
    return copyOnHost(to, from, bytes);
  return onDevice(device, [&](const Driver &driver) {
    if (bytes)
      driver.check(driver.memcpyToHost(
                       to, reinterpret_cast<driver::Address>(from), bytes),
                   "copying from the device");
  });
}

nsacc_rt_status nsacc_rt_synchronize(int device, nsacc_rt_stream stream) {
  // Runs on the host are done when they return.
  if (device == NSACC_RT_HOST)
    return guard([&] {
      if (stream)
        throw Failure(NSACC_RT_INVALID, "the host has no stream but NULL");
    });
  return onDevice(device, [&](const Driver &driver) {
    driver.check(driver.streamSynchronize(toStream(stream)),
                 "waiting for the stream");
  });
}
