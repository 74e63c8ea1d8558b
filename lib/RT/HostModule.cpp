//===- HostModule.cpp - A package on the host's processor -----------------===//

#include "ChooseVariant.h"
#include "HostCode.h"
#include "HostRun.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <pthread.h>
#include <utility>

using namespace nsacc::rt;

//===----------------------------------------------------------------------===//
// Stacks
//===----------------------------------------------------------------------===//

int64_t nsacc::rt::getStackBytes() {
  pthread_attr_t attributes;
  size_t size = 0;
  pthread_attr_init(&attributes);
  pthread_attr_getstacksize(&attributes, &size);
  pthread_attr_destroy(&attributes);
  return static_cast<int64_t>(size);
}

/// Reserved for spilled registers, and for the frames below.
static constexpr int64_t kStackReserve = 512 << 10;

Problem nsacc::rt::checkStack(int64_t bytes) {
  if (bytes + kStackReserve <= getStackBytes())
    return std::nullopt;
  return "a program's tiles take " + std::to_string(bytes) +
         " bytes of a stack of " + std::to_string(getStackBytes());
}

/// The calling thread's stack, from its lowest address; empty if it isn't
/// known.
static std::pair<uintptr_t, uintptr_t> findStack() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0)
    return {};
  void *lowest = nullptr;
  size_t size = 0, guard = 0;
  pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_getguardsize(&attributes, &guard);
  pthread_attr_destroy(&attributes);
  auto first = reinterpret_cast<uintptr_t>(lowest);
  return {first + guard, first + size};
}

bool nsacc::rt::hasRoomOnStack(int64_t bytes) {
  // Cached: for a process's first thread it is read from a file.
  static thread_local const auto stack = findStack();
  auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  // Coroutines run on other stacks.
  return here > stack.first && here < stack.second &&
         bytes + kStackReserve <= static_cast<int64_t>(here - stack.first);
}

//===----------------------------------------------------------------------===//
// Tensors with strides that code can't use
//===----------------------------------------------------------------------===//

namespace {

/// Row-major copies of tensors with strides that programs can't use.
class Copies {
public:
  ~Copies() {
    for (const Copy &copy : copies)
      std::free(copy.data);
  }

  Buffer add(const Buffer &given, bool isResult) {
    Buffer packed = given;
    int64_t bytes;
    packed.setStrides(bytes); // can't fail: its elements are in memory
    void *data = std::malloc(static_cast<size_t>(std::max<int64_t>(bytes, 1)));
    if (!data)
      throw Failure(NSACC_RT_MEMORY, "no memory for a copy of " +
                                         std::to_string(bytes) + " bytes");
    packed.address = reinterpret_cast<uint64_t>(data);
    copies.push_back({data, given, packed, isResult});
    copy(given, packed);
    return packed;
  }

  void writeBack() const {
    for (const Copy &each : copies)
      if (each.isResult)
        copy(each.packed, each.given);
  }

private:
  struct Copy {
    void *data;
    Buffer given, packed;
    bool isResult;
  };

  static void copy(const Buffer &from, const Buffer &to) {
    if (!from.isEmpty())
      copyDims(from, to, 0, from.address, to.address);
  }

  static void copyDims(const Buffer &from, const Buffer &to, uint32_t dim,
                       uint64_t source, uint64_t target) {
    auto bytes = static_cast<int64_t>(getBytes(from.dtype));
    if (dim == from.rank) {
      std::memcpy(reinterpret_cast<void *>(target),
                  reinterpret_cast<const void *>(source),
                  static_cast<size_t>(bytes));
      return;
    }
    for (int64_t i = 0; i < from.sizes[dim]; ++i)
      copyDims(from, to, dim + 1,
               source + static_cast<uint64_t>(i * from.strides[dim] * bytes),
               target + static_cast<uint64_t>(i * to.strides[dim] * bytes));
  }

  std::vector<Copy> copies;
};

} // namespace

/// Whether a tensor's strides are the ones that code was compiled for.
static bool fits(const Buffer &buffer, const Parameter &parameter) {
  for (uint32_t dim = 0; dim < buffer.rank; ++dim)
    if (buffer.sizes[dim] > 1 &&
        parameter.strides[dim].value_or(buffer.strides[dim]) !=
            buffer.strides[dim])
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

namespace nsacc::rt {

/// A variant's code for this processor, loaded when a call first needs it.
class HostVariant {
public:
  HostVariant(const Package &package, const Variant &variant,
              const TargetCode &code)
      : package(package), variant(variant), code(code) {}

  const Variant &getVariant() const { return variant; }
  const TargetCode &getCode() const { return code; }
  LaunchCosts &getCosts() { return costs; }

  const std::vector<HostFunction> &getFunctions() {
    std::lock_guard<std::mutex> lock(mutex);
    if (isLoaded)
      return functions;
    if (Problem problem = checkStack(code.stackBytes))
      throw Failure(NSACC_RT_UNAVAILABLE, *problem + ": raise its limit");
    functions.clear();
    for (const Launch &launch : code.plan.launches) {
      std::unique_ptr<HostCode> &object = objects[launch.image];
      if (!object)
        object = std::make_unique<HostCode>(package.images[launch.image].host);
      functions.push_back(object->find(launch.kernel));
    }
    isLoaded = true;
    return functions;
  }

private:
  const Package &package;
  const Variant &variant;
  const TargetCode &code;
  LaunchCosts costs;
  std::mutex mutex;
  bool isLoaded = false;
  std::map<uint32_t, std::unique_ptr<HostCode>> objects; ///< by image
  std::vector<HostFunction> functions;                   ///< of launches
};

} // namespace nsacc::rt

/// The best of a variant's targets that this processor can run; null: none.
static const TargetCode *chooseHostTarget(const Variant &variant) {
  const TargetCode *best = nullptr;
  for (const TargetCode &code : variant.targets)
    if (int rank = rankForHost(code.architecture);
        rank > (best ? rankForHost(best->architecture) : 0))
      best = &code;
  return best;
}

bool nsacc::rt::isForThisProcessor(const Package &package) {
  for (const Variant &variant : package.variants)
    for (const TargetCode &code : variant.targets)
      if (code.architecture == kThisProcessor)
        return true;
  return false;
}

//===----------------------------------------------------------------------===//
// HostModule
//===----------------------------------------------------------------------===//

HostModule::HostModule(Package given)
    : package(std::move(given)), sameSizes(findSameSizes(package.parameters)) {
  for (const Variant &variant : package.variants)
    if (const TargetCode *code = chooseHostTarget(variant))
      variants.push_back(
          std::make_unique<HostVariant>(package, variant, *code));
  if (variants.empty())
    throw Failure(NSACC_RT_PACKAGE,
                  "the package has code for " + listArchitectures(package) +
                      "; this processor is " + describeHost() +
                      ": compile it with --target cpu");
  if (variants.front()->getVariant().guards.empty())
    variants.front()->getFunctions();
}

HostModule::~HostModule() = default;

const std::string &HostModule::getArchitecture() const {
  return variants.front()->getCode().architecture;
}

size_t HostModule::countLaunches() const {
  size_t most = 0;
  for (const auto &variant : variants)
    most = std::max(most, variant->getCode().plan.launches.size());
  return most;
}

/// Whether a result may share memory with an input that is needed to the end.
static bool mayShareInput(const std::vector<Parameter> &parameters,
                          const std::vector<Buffer> &buffers, size_t index) {
  if (!parameters[index].isResult)
    return false;
  Extent own = Extent::get(buffers[index]);
  for (size_t i = 0; i < index; ++i)
    if (!parameters[i].isResult && own.meets(Extent::get(buffers[i])))
      return true;
  return false;
}

/// Whether there is nothing to compute.
static bool hasEmptyResults(const std::vector<Parameter> &parameters,
                            const std::vector<Buffer> &buffers) {
  size_t results = 0, empty = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    results += parameters[i].isResult;
    empty += parameters[i].isResult && buffers[i].isEmpty();
  }
  return results > 0 && empty == results;
}

void HostModule::run(const nsacc_rt_tensor *tensors, size_t count,
                     const HostOptions &options, HostUsage *usage) {
  const std::vector<Parameter> &parameters = package.parameters;
  std::vector<Buffer> buffers;
  bindTensors(parameters, sameSizes, tensors, count, kHostTensors, buffers);
  checkData(parameters, buffers);
  checkApart(parameters, buffers, /*mayShareInputs=*/true);
  checkOffsets(parameters, buffers);
  bool isEmpty = hasEmptyResults(parameters, buffers);
  Copies copies;
  std::vector<const int64_t *> sizes;
  for (size_t i = 0; i < count; ++i) {
    Buffer &buffer = buffers[i];
    if (!isEmpty &&
        (!fits(buffer, parameters[i]) || mayShareInput(parameters, buffers, i)))
      buffer = copies.add(buffer, parameters[i].isResult);
    buffer.reorder(parameters[i].order);
    sizes.push_back(buffer.sizes.data());
  }
  std::vector<int64_t> numbers;
  HostVariant &variant = chooseVariant(package, variants, sizes, numbers);
  HostUsage own;
  HostUsage &measured = usage ? *usage : own;
  if (isEmpty) {
    workspaceBytes = 0;
    return;
  }
  HostRun(variant.getCode(), variant.getFunctions(), variant.getCosts(),
          std::move(buffers), options, measured)
      .run();
  copies.writeBack();
  workspaceBytes = measured.peakWorkspaceBytes;
}
