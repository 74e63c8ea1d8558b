//===- Launch.cpp - Runs a package's plan on a stream ---------------------===//

#include "ChooseVariant.h"
#include "Module.h"
#include "Placement.h"
#include <algorithm>
#include <cstring>
#include <optional>

using namespace nsacc::rt;

StreamState &Module::getState(driver::Stream stream) {
  StreamKey key = getKey(stream);
  std::lock_guard<std::mutex> lock(statesMutex);
  std::unique_ptr<StreamState> &state = states[key];
  if (!state)
    state = std::make_unique<StreamState>(recordCodes.size(), key.isCapture);
  return *state;
}

Module::Call Module::prepare(const nsacc_rt_tensor *tensors, size_t count,
                             StreamState &state) const {
  auto &[buffers, sizes, numbers, storage, parameters] = state.scratch;
  bindTensors(package.parameters, sameSizes, tensors, count, kDeviceTensors,
              buffers);
  for (size_t i = 0; i < count; ++i)
    buffers[i].reorder(package.parameters[i].order);
  auto pointToSizes = [&, count = buffers.size()] {
    sizes.clear();
    for (size_t index = 0; index < count; ++index)
      sizes.push_back(buffers[index].sizes.data());
  };
  pointToSizes();
  Kernels &kernels = chooseVariant(package, variants, sizes, numbers);
  const Plan &plan = kernels.getPlan();
  if (Problem problem = computeNumbers(plan, sizes, numbers))
    throw Failure(NSACC_RT_INVALID, *problem);
  int64_t bytes = placeWorkspaces(plan, numbers, buffers);
  // Adding workspaces has reallocated the buffers.
  pointToSizes();
  return {kernels, bytes};
}

/// Loads a variant's kernels with the stream's state unlocked, since compiling
/// takes seconds. False if they were loaded.
static bool loadUnlocked(Kernels &kernels, std::unique_lock<std::mutex> &lock) {
  if (kernels.areLoaded())
    return false;
  lock.unlock();
  kernels.load();
  lock.lock();
  return true;
}

void Module::reserve(const nsacc_rt_tensor *tensors, size_t count,
                     driver::Stream stream) {
  ContextScope scope(context);
  StreamState &state = getState(stream);
  std::unique_lock<std::mutex> lock(state.mutex);
  Call call = prepare(tensors, count, state);
  loadUnlocked(call.kernels, lock);
  state.reserve(call.bytes, stream);
}

void Module::launch(const nsacc_rt_tensor *tensors, size_t count,
                    driver::Stream stream) {
  ContextScope scope(context);
  launch(tensors, count, stream, getState(stream));
}

void Module::launch(const nsacc_rt_tensor *tensors, size_t count,
                    driver::Stream stream, StreamState &state) {
  std::unique_lock<std::mutex> lock(state.mutex);
  if (state.hasFailed())
    reportFailure(state, stream);
  auto [kernels, bytes] = prepare(tensors, count, state);
  checkData(package.parameters, state.scratch.buffers);
  checkApart(package.parameters, state.scratch.buffers,
             /*mayShareInputs=*/false);
  const Plan &plan = kernels.getPlan();
  auto forEach = [&](const std::function<void(size_t)> &visit) {
    auto visitLaunch = [&](size_t index) -> Problem {
      visit(index);
      return std::nullopt;
    };
    if (Problem problem = forEachLaunch(plan, state.scratch.sizes,
                                        state.scratch.numbers, visitLaunch))
      throw Failure(NSACC_RT_INVALID, *problem);
  };
  // Check all launches before the first one.
  forEach([&](size_t index) {
    if (Problem problem =
            findGridProblem(plan.launches[index], state.scratch.numbers))
      throw Failure(NSACC_RT_INVALID, *problem);
  });
  if (loadUnlocked(kernels, lock))
    prepare(tensors, count, state); // another call may have changed the state
  state.reserve(bytes, stream);
  for (size_t i = count; i < state.scratch.buffers.size(); ++i)
    state.scratch.buffers[i].address += state.getWorkspace();
  bool followsOwn = false;
  forEach([&](size_t index) {
    followsOwn = enqueue(kernels, index, followsOwn, state, stream);
  });
  workspaceBytes.store(bytes, std::memory_order_relaxed);
}

void Module::reportFailure(StreamState &state, driver::Stream stream) {
  // A running kernel may still report a failure with smaller values.
  const Driver &driver = Driver::get();
  driver.check(driver.streamSynchronize(stream), "waiting for a failed run");
  throw Failure(NSACC_RT_FAILED, state.takeFailure(recordCodes));
}

void Module::check(driver::Stream stream) {
  ContextScope scope(context);
  StreamKey key = getKey(stream);
  std::lock_guard<std::mutex> lock(statesMutex);
  for (auto &[each, state] : states) {
    // A graph may run on any stream.
    if (!(each == key) && !each.isCapture)
      continue;
    std::lock_guard<std::mutex> stateLock(state->mutex);
    if (state->hasFailed())
      throw Failure(NSACC_RT_FAILED, state->takeFailure(recordCodes));
  }
}

//===----------------------------------------------------------------------===//
// One kernel
//===----------------------------------------------------------------------===//

namespace {

/// Lays out a kernel's parameters. The storage is large enough from the start,
/// so that addresses stay valid.
class Packer {
public:
  Packer(const Launch &launch, StreamState::Scratch &scratch)
      : storage(scratch.storage), parameters(scratch.parameters) {
    // A buffer takes 1 + 2 * kMaxRank words, fewer than two maps have.
    size_t units = launch.arguments.size() * 2 + launch.extra.size();
    if (storage.size() < units)
      storage.resize(units);
    parameters.clear();
  }

  uint64_t *add(uint64_t word) {
    uint64_t *place = reinterpret_cast<uint64_t *>(storage.data()) + used++;
    *place = word;
    parameters.push_back(place);
    return place;
  }

  void add(const Buffer &buffer) {
    add(buffer.address);
    for (uint32_t dim = 0; dim < buffer.rank; ++dim)
      add(static_cast<uint64_t>(buffer.sizes[dim]));
    for (uint32_t dim = 0; dim < buffer.rank; ++dim)
      add(static_cast<uint64_t>(buffer.strides[dim]));
  }

  void add(const driver::TensorMap &map) {
    static_assert(2 * sizeof(map) >= (1 + 2 * kMaxRank) * sizeof(uint64_t));
    size_t unit = storage.size() - ++maps;
    storage[unit] = map;
    parameters.push_back(&storage[unit]);
  }

private:
  std::vector<driver::TensorMap> &storage; ///< words grow from the front, maps
                                           ///< from the back
  std::vector<void *> &parameters;
  size_t used = 0, maps = 0;
};

} // namespace

driver::TensorMap Module::getMap(const Launch &launch, const TensorMap &map,
                                 const StreamState &state) {
  uint32_t index = launch.arguments[map.argument].index;
  std::function<std::string()> getName = [&] {
    return index < package.parameters.size()
               ? describe(package.parameters[index])
               : "workspace " +
                     std::to_string(index - package.parameters.size());
  };
  Buffer buffer = state.scratch.buffers[index];
  if (buffer.isEmpty()) {
    // The buffer isn't used, but a map needs an element.
    buffer.address = state.getCounter() + 128;
    buffer.sizes.fill(1);
  }
  MapRequest request = makeRequest(map, buffer, getName);
  return maps.get(request, getName);
}

uint64_t *Module::pack(const Launch &launch, size_t record,
                       StreamState &state) {
  Packer packer(launch, state.scratch);
  uint64_t *firstZ = nullptr;
  for (const Argument &argument : launch.arguments) {
    if (argument.isBuffer)
      packer.add(state.scratch.buffers[argument.index]);
    else // The low bytes are the first ones.
      packer.add(static_cast<uint64_t>(state.scratch.numbers[argument.index]));
  }
  for (const ExtraParameter &extra : launch.extra) {
    switch (extra.kind) {
    case ExtraParameter::Kind::TensorMap:
      packer.add(getMap(launch, extra.map, state));
      break;
    case ExtraParameter::Kind::Counter:
      packer.add(state.getCounter());
      break;
    case ExtraParameter::Kind::Raised:
      packer.add(state.getRaised());
      break;
    case ExtraParameter::Kind::Failures:
      packer.add(state.getRecord(record));
      break;
    case ExtraParameter::Kind::FirstZ:
      firstZ = packer.add(uint64_t{0});
      break;
    }
  }
  return firstZ;
}

namespace {

/// Launch attributes of a kernel besides its grid.
class Attributes {
public:
  void addCluster(unsigned blocks) {
    driver::LaunchAttribute &attribute = add();
    attribute.id = driver::LaunchAttribute::clusterDimension;
    attribute.cluster[0] = blocks;
    attribute.cluster[1] = attribute.cluster[2] = 1;
  }
  /// Lets the kernel start before the launch before it has ended.
  void addProgrammatic() {
    driver::LaunchAttribute &attribute = add();
    attribute.id = driver::LaunchAttribute::programmaticSerialization;
    attribute.isProgrammatic = 1;
  }
  void set(driver::LaunchConfig &config) {
    config.attributes = storage;
    config.numAttributes = count;
  }

private:
  driver::LaunchAttribute &add() { return storage[count++]; }

  driver::LaunchAttribute storage[2] = {};
  unsigned count = 0;
};

} // namespace

bool Module::enqueue(const Kernels &kernels, size_t index, bool followsOwn,
                     StreamState &state, driver::Stream stream) {
  const Launch &launch = kernels.getPlan().launches[index];
  const std::vector<int64_t> &numbers = state.scratch.numbers;
  if (isEmpty(launch, numbers))
    return false;
  uint64_t *firstZ = pack(launch, kernels.getRecord(index), state);
  const Driver &driver = Driver::get();
  Attributes attributes;
  if (launch.cluster > 1)
    attributes.addCluster(launch.cluster);
  // After a kernel of another owner: when it has ended, the kernels before it
  // may still run.
  if (launch.isDependent && followsOwn &&
      (!state.isOfCapture() || driver.recordsDependentLaunches()))
    attributes.addProgrammatic();
  driver::LaunchConfig config = {};
  for (unsigned axis = 0; axis < 3; ++axis)
    config.grid[axis] = static_cast<unsigned>(numbers[launch.grid[axis]]);
  if (isPersistent(launch)) {
    config.grid[0] = static_cast<unsigned>(std::min<int64_t>(
        *countPoints(launch, numbers), kernels.getResidentBlocks(index)));
    config.grid[1] = config.grid[2] = 1;
  }
  config.block[0] = launch.threads;
  config.block[1] = config.block[2] = 1;
  config.sharedBytes = launch.sharedBytes;
  config.stream = stream;
  attributes.set(config);
  // If there are more blocks than a device takes along the last axis, they run
  // in parts.
  int64_t blocks = config.grid[2];
  for (int64_t first = 0; first < blocks; first += kMostBlocksOfZ) {
    config.grid[2] =
        static_cast<unsigned>(std::min(blocks - first, kMostBlocksOfZ));
    if (firstZ)
      *firstZ = static_cast<uint64_t>(first);
    driver::Result result =
        driver.launchKernel(&config, kernels.getFunction(index),
                            state.scratch.parameters.data(), nullptr);
    if (result != driver::results::success)
      driver.fail(result, "launching kernel '" + launch.kernel + "'");
  }
  return true;
}
