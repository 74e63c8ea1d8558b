//===- package-fuzzer.cpp - Damaged packages through the runtime ----------===//
//
// Whatever the bytes, loading them ends in a module or in an error with a
// message. What loads is launched with tensors of several sizes, and no buffer
// or tensor map that its kernels get may reach out of its memory. On the
// processor the example's code is run where it and its seal are as they were:
// its tensors end where no memory is.
//
//===----------------------------------------------------------------------===//

#include "ExamplePackage.h"
#include "FakeCUDA.h"
#include "Kernels.h"
#include "PackageFile.h"
#include "PackageMutator.h"
#include "nsacc-rt/nsacc_rt.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace nsacc;
using namespace nsacc::rt;

[[noreturn]] static void fail(const std::string &reason) {
  fprintf(stderr, "package-fuzzer: %s\n", reason.c_str());
  std::abort();
}

static void require(bool holds, const std::string &reason) {
  if (!holds)
    fail(reason);
}

namespace {

/// Tensors for a package's parameters. Their memory isn't there: the fake
/// driver runs no kernel. Each begins at a round address of its own.
class Tensors {
public:
  Tensors(const Package &package, int64_t size) {
    shapes.reserve(package.parameters.size());
    for (const Parameter &parameter : package.parameters) {
      auto &shape = shapes.emplace_back();
      uint64_t bytes = getBytes(parameter.dtype);
      for (const Size &each : parameter.sizes) {
        shape.push_back(each.fixed.value_or(size));
        bytes = multiply(bytes, shape.back());
      }
      tensors.push_back({reinterpret_cast<void *>((tensors.size() + 1) << 46),
                         toNumber(parameter.dtype),
                         static_cast<int32_t>(shape.size()), shape.data(),
                         nullptr});
      rooms.push_back(bytes);
    }
  }

  const nsacc_rt_tensor *get() const { return tensors.data(); }
  /// Sizes in the order of kernels' buffers.
  std::vector<std::vector<int64_t>> getSizes(const Package &package) const {
    std::vector<std::vector<int64_t>> sizes = shapes;
    for (size_t i = 0; i < sizes.size(); ++i)
      for (size_t dim = 0; dim < sizes[i].size(); ++dim)
        sizes[i][package.parameters[i].order[dim]] = shapes[i][dim];
    return sizes;
  }
  size_t getCount() const { return tensors.size(); }
  /// Bytes from an address to the end of its buffer.
  uint64_t getRoom(uint64_t address) const {
    uint64_t index = address >> 46;
    if (index == 0 || index > rooms.size() || address % (1ull << 46) != 0)
      return fakecuda::getRoom(address);
    return rooms[index - 1];
  }

private:
  static uint64_t multiply(uint64_t left, int64_t right) {
    uint64_t product;
    bool isLarge =
        __builtin_mul_overflow(left, static_cast<uint64_t>(right), &product);
    return isLarge ? UINT64_MAX : product;
  }

  std::vector<std::vector<int64_t>> shapes;
  std::vector<nsacc_rt_tensor> tensors;
  std::vector<uint64_t> rooms;
};

/// What a kernel was given, word by word.
class LaunchChecker {
public:
  LaunchChecker(const Package &package, const TargetCode &code,
                const fakecuda::Launch &launch, const Tensors &tensors)
      : package(package), code(code), launch(launch), tensors(tensors) {}

  void check(const rt::Launch &plan) {
    for (const Argument &argument : plan.arguments)
      if (argument.isBuffer)
        checkBuffer(argument.index);
      else
        ++next;
    for (const ExtraParameter &extra : plan.extra)
      if (extra.kind == ExtraParameter::Kind::TensorMap)
        checkMap();
      else
        require(fakecuda::getRoom(launch.getWord(next++)) >= 8,
                "a word for the host outside of its memory");
    require(next == launch.parameters.size(), "parameters that nothing passes");
  }

private:
  using Steps = std::vector<std::pair<uint64_t, uint64_t>>;

  /// Elements of `bytes` bytes at all of sizes and strides in bytes.
  void checkExtent(uint64_t address, const Steps &steps, uint64_t bytes,
                   const char *what) {
    unsigned __int128 reach = bytes;
    for (auto [size, stride] : steps) {
      if (size == 0)
        return;
      reach += static_cast<unsigned __int128>(size - 1) * stride;
    }
    require(reach <= tensors.getRoom(address),
            std::string(what) + " reaches out of its memory");
  }

  void checkBuffer(uint32_t index) {
    size_t numParameters = package.parameters.size();
    bool isParameter = index < numParameters;
    size_t rank =
        isParameter ? package.parameters[index].sizes.size()
                    : code.plan.workspaces[index - numParameters].sizes.size();
    DType dtype = isParameter
                      ? package.parameters[index].dtype
                      : code.plan.workspaces[index - numParameters].dtype;
    uint64_t address = launch.getWord(next++), bytes = getBytes(dtype);
    Steps steps;
    for (size_t dim = 0; dim < rank; ++dim)
      steps.push_back({launch.getWord(next + dim),
                       launch.getWord(next + rank + dim) * bytes});
    next += 2 * rank;
    checkExtent(address, steps, bytes, "a buffer");
  }

  void checkMap() {
    fakecuda::MapContent map;
    const std::string &bytes = launch.parameters.at(next++);
    require(bytes.size() == sizeof(driver::TensorMap), "a map of other size");
    std::memcpy(&map, bytes.data(), sizeof(map));
    static constexpr uint64_t elementBytes[] = {1, 0, 0, 4, 0, 8, 2, 4, 8, 2};
    uint64_t element = elementBytes[map.type];
    Steps steps = {{map.sizes[0], element}};
    for (uint32_t i = 1; i < map.rank; ++i)
      steps.push_back({map.sizes[i], map.strides[i - 1]});
    checkExtent(map.address, steps, element, "a tensor map");
  }

  const Package &package;
  const TargetCode &code;
  const fakecuda::Launch &launch;
  const Tensors &tensors;
  size_t next = 0;
};

} // namespace

/// Whether one of the variants is said to be of no call.
static bool isShadowed(const Package &package, const Variant &variant) {
  size_t index = &variant - package.variants.data();
  auto shadowed = findShadowed(package);
  return std::any_of(shadowed.begin(), shadowed.end(),
                     [&](auto pair) { return pair.first == index; });
}

/// The code that these tensors run on the fake's device 0; null if none.
static const TargetCode *findCode(const Package &package,
                                  const Tensors &tensors) {
  std::vector<std::vector<int64_t>> all = tensors.getSizes(package);
  std::vector<const int64_t *> sizes;
  for (const std::vector<int64_t> &each : all)
    sizes.push_back(each.data());
  std::vector<int64_t> numbers;
  for (const Variant &variant : package.variants) {
    std::optional<size_t> target = chooseTarget(package, variant, 9, 0);
    if (!target)
      continue;
    if (computeSteps(variant.steps, sizes, numbers))
      return nullptr;
    if (!findFailedGuard(variant, numbers)) {
      require(!isShadowed(package, variant), "a call of a shadowed variant");
      return &variant.targets[*target];
    }
  }
  return nullptr;
}

/// The launches of a plan that run something, as they run.
static std::vector<const rt::Launch *>
getPlanned(const Package &package, const Plan &plan, const Tensors &tensors) {
  std::vector<std::vector<int64_t>> all = tensors.getSizes(package);
  std::vector<const int64_t *> sizes;
  for (const std::vector<int64_t> &each : all)
    sizes.push_back(each.data());
  std::vector<int64_t> numbers;
  std::vector<const rt::Launch *> planned;
  if (computeNumbers(plan, sizes, numbers))
    return planned;
  auto add = [&](size_t index) -> Problem {
    if (!isEmpty(plan.launches[index], numbers))
      planned.push_back(&plan.launches[index]);
    return std::nullopt;
  };
  if (forEachLaunch(plan, sizes, numbers, add))
    planned.clear();
  return planned;
}

static void launch(nsacc_rt_module *module, const Package &package,
                   int64_t size) {
  Tensors tensors(package, size);
  fakecuda::reset();
  nsacc_rt_status status =
      nsacc_rt_launch(module, tensors.get(), tensors.getCount(), nullptr);
  require((status == NSACC_RT_OK) == (*nsacc_rt_message() == '\0'),
          "a status without a message");
  require(fakecuda::getMisuse().empty(), fakecuda::getMisuse());
  const TargetCode *code = findCode(package, tensors);
  require(code || status != NSACC_RT_OK, "sizes that no variant is for");
  const auto &launches = fakecuda::getLaunches();
  if (launches.empty())
    return;
  require(code, "a launch of no variant");
  std::vector<const rt::Launch *> planned =
      getPlanned(package, code->plan, tensors);
  for (size_t i = 0; i < launches.size(); ++i) {
    require(i < planned.size() && planned[i]->kernel == launches[i].kernel,
            "a launch that isn't planned");
    LaunchChecker(package, *code, launches[i], tensors).check(*planned[i]);
  }
}

//===----------------------------------------------------------------------===//
// The processor
//===----------------------------------------------------------------------===//

namespace {

/// Memory that ends at a page that isn't there, and begins at one but for what
/// makes it whole pages.
class GuardedMemory {
public:
  explicit GuardedMemory(size_t bytes) {
    size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_t pages = (bytes + page - 1) / page;
    mappedBytes = (pages + 2) * page;
    void *mapped = mmap(nullptr, mappedBytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(mapped != MAP_FAILED, "no memory to run in");
    memory = static_cast<char *>(mapped);
    if (pages)
      require(mprotect(memory + page, pages * page, PROT_READ | PROT_WRITE) ==
                  0,
              "no memory to run in");
    data = memory + (pages + 1) * page - bytes;
  }
  ~GuardedMemory() { munmap(memory, mappedBytes); }
  GuardedMemory(const GuardedMemory &) = delete;
  GuardedMemory &operator=(const GuardedMemory &) = delete;

  void *get() const { return data; }

private:
  size_t mappedBytes;
  char *memory, *data;
};

} // namespace

#if defined(__x86_64__)
static void runOnHost(nsacc_rt_module *module, int64_t size) {
  GuardedMemory memory(static_cast<size_t>(size) * sizeof(int32_t));
  nsacc_rt_tensor out = {memory.get(), NSACC_DTYPE_I32, 1, &size, nullptr};
  nsacc_rt_host_options options = {};
  options.threads = 1;
  require(nsacc_rt_run_on_host(module, &out, 1, &options) == NSACC_RT_OK,
          nsacc_rt_message());
  auto *counted = static_cast<const int32_t *>(memory.get());
  for (int32_t i = 0; i < size; ++i)
    require(counted[i] == i, "a result that the example doesn't have");
}

/// Code that was changed, or that was sealed with another plan, does what it
/// likes: whoever writes it has to be trusted.
static void runUnchanged(nsacc_rt_module *module, std::string_view file) {
  static const std::string example = writePackage(makeHostPackage());
  if (!fuzz::hasCodeOf(file, example))
    return;
  for (int64_t size : {0, 1, 5, 33, 5000})
    runOnHost(module, size);
}
#else
static void runUnchanged(nsacc_rt_module *, std::string_view) {}
#endif

static void loadOnHost(const uint8_t *data, size_t size) {
  nsacc_rt_module *module = nullptr;
  bool isLoaded =
      nsacc_rt_load(data, size, NSACC_RT_HOST, &module) == NSACC_RT_OK;
  require(isLoaded == (module != nullptr), "a module without a status");
  require(isLoaded == (*nsacc_rt_message() == '\0'),
          "a status without a message");
  if (isLoaded)
    runUnchanged(module, {reinterpret_cast<const char *>(data), size});
  nsacc_rt_unload(module);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // One device's allocation; more is an error to be told.
  fakecuda::setLargestAllocation(size_t(1) << 22);
  fakecuda::reset();
  loadOnHost(data, size);
  nsacc_rt_module *module = nullptr;
  nsacc_rt_status status = nsacc_rt_load(data, size, 0, &module);
  if (status != NSACC_RT_OK) {
    require(!module && *nsacc_rt_message(), "an error without a message");
  } else {
    Package package = readPackage(data, size);
    require(!describePackage(package).empty(), "nothing to tell");
    // The fake knows parameters by the text that stands for one target.
    if (std::all_of(
            package.variants.begin(), package.variants.end(),
            [](const Variant &variant) { return variant.targets.size() == 1; }))
      for (int64_t tokens : {0, 1, 5, 33, 100})
        launch(module, package, tokens);
    nsacc_rt_check(module, nullptr);
    nsacc_rt_unload(module);
  }
  require(fakecuda::getAllocatedBytes() == 0, "memory leaked");
  require(fakecuda::getRetained() == 0, "a context leaked");
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t most, unsigned seed) {
  std::string_view file(reinterpret_cast<const char *>(data), size);
  std::string mutated;
  switch (seed % 8) {
  case 0: // the head, and the checksum's answer to what is behind it
    return LLVMFuzzerMutate(data, size, most);
  case 1: { // bytes of the body
    std::string body = fuzz::getBody(file, seed);
    size_t bytes = body.size();
    body.resize(bytes + 64);
    body.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t *>(body.data()),
                                 bytes, body.size()));
    mutated = sealBody(seed / 8 % 2 ? fuzz::makeSealed(body) : body);
    break;
  }
  default:
    mutated = fuzz::mutateFields(file, seed);
  }
  // A package that is cut short says nothing.
  if (mutated.size() > most)
    mutated = writePackage(makeVariants());
  size = std::min(mutated.size(), most);
  std::copy_n(mutated.begin(), size, data);
  return size;
}
