//===- HostCode.cpp - Machine code of a processor, loaded -----------------===//

#include "HostCode.h"
#include "Failure.h"
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace nsacc::rt;

[[noreturn]] static void failToLoad(const std::string &reason) {
  throw Failure(NSACC_RT_PACKAGE, "code can't be loaded: " + reason);
}

HostCode::HostCode(const HostImage &image) : image(image) {
  if (image.writableBytes % static_cast<uint64_t>(sysconf(_SC_PAGESIZE)))
    failToLoad("its " + std::to_string(image.writableBytes) +
               " bytes of data are no whole pages of this system");
  void *mapped = mmap(nullptr, image.bytes.size(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    failToLoad(std::strerror(errno));
  memory = static_cast<char *>(mapped);
  try {
    fill();
  } catch (...) {
    munmap(memory, image.bytes.size());
    throw;
  }
}

HostCode::~HostCode() { munmap(memory, image.bytes.size()); }

void HostCode::fill() {
  std::memcpy(memory, image.bytes.data(), image.bytes.size());
  for (uint32_t offset : image.pointers) {
    uint64_t word;
    std::memcpy(&word, memory + offset, sizeof(word));
    word += reinterpret_cast<uint64_t>(memory);
    std::memcpy(memory + offset, &word, sizeof(word));
  }
  for (size_t i = 0; i < image.functions.size(); ++i) {
    void *function = findHostFunction(image.functions[i]);
    if (!function)
      failToLoad("it calls '" + image.functions[i] +
                 "', which this runtime hasn't: use a newer one");
    std::memcpy(memory + i * sizeof(function), &function, sizeof(function));
  }
  char *code = memory + image.writableBytes;
  size_t codeBytes = image.bytes.size() - image.writableBytes;
  if (codeBytes && mprotect(code, codeBytes, PROT_READ | PROT_EXEC) != 0)
    failToLoad(std::string(std::strerror(errno)) +
               ": this system lets no process run code that it wrote");
  __builtin___clear_cache(code, code + codeBytes);
}

HostFunction HostCode::find(const std::string &kernel) const {
  for (const HostImage::Kernel &each : image.kernels)
    if (each.name == kernel)
      return reinterpret_cast<HostFunction>(memory + each.offset);
  failToLoad("it has no kernel '" + kernel + "'");
}

//===----------------------------------------------------------------------===//
// Processors
//===----------------------------------------------------------------------===//

int nsacc::rt::rankForHost(const std::string &architecture) {
  if (architecture == kThisProcessor)
    return 100;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (architecture == "x86-64")
    return 1;
  if (architecture == "x86-64-v2")
    return __builtin_cpu_supports("x86-64-v2") ? 2 : 0;
  if (architecture == "x86-64-v3")
    return __builtin_cpu_supports("x86-64-v3") ? 3 : 0;
  if (architecture == "x86-64-v4")
    return __builtin_cpu_supports("x86-64-v4") ? 4 : 0;
#elif defined(__aarch64__)
  if (architecture == "aarch64")
    return 1;
#endif
  return 0;
}

std::string nsacc::rt::describeHost() {
  for (const char *name :
       {"x86-64-v4", "x86-64-v3", "x86-64-v2", "x86-64", "aarch64"})
    if (rankForHost(name))
      return name;
  return "a processor that no package is for";
}
