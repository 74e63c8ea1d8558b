//===- Control.cpp - Control of the fake driver by tests ------------------===//

#include "State.h"
#include <cstring>

using namespace fakecuda;
using nsacc::rt::driver::StreamImpl;

State &State::get() {
  // Never destroyed: modules are unloaded when the process ends.
  static State *state = new State;
  return *state;
}

Result State::misused(const std::string &what, Result result) {
  misuse += what + "\n";
  return result;
}

const std::pair<const uint64_t, size_t> *
State::findMemory(uint64_t address) const {
  for (const auto *memory : {&deviceMemory, &hostMemory}) {
    auto after = memory->upper_bound(address);
    if (after == memory->begin())
      continue;
    auto found = std::prev(after);
    if (address < found->first + found->second)
      return &*found;
  }
  return nullptr;
}

Result fakecuda::enter(State &state, const char *symbol) {
  ++state.calls[symbol];
  if (!state.isInitialized && std::strcmp(symbol, "cuInit") != 0)
    return state.misused(std::string(symbol) + " before cuInit",
                         kNotInitialized);
  auto injected = state.injected.find(symbol);
  if (injected == state.injected.end())
    return driver::results::success;
  if (injected->second.after-- > 0)
    return driver::results::success;
  Result result = injected->second.result;
  state.injected.erase(injected);
  return result;
}

Result fakecuda::checkUnsafe(State &state, const char *symbol) {
  if (getThreadMode() == driver::kCaptureModeRelaxed)
    return driver::results::success;
  for (driver::Stream stream : state.streams) {
    bool isMine = stream->owner == std::this_thread::get_id();
    if (stream->captureStatus != driver::kCaptureActive ||
        stream->captureMode == 2 || (stream->captureMode == 1 && !isMine))
      continue;
    stream->captureStatus = 2; // invalidated
    return state.misused(std::string(symbol) + " during a capture",
                         driver::results::captureUnsupported);
  }
  return driver::results::success;
}

void fakecuda::capture(State &state, driver::Stream stream, int mode) {
  stream->captureStatus = driver::kCaptureActive;
  stream->captureId = state.nextId++;
  stream->captureMode = mode;
  stream->owner = std::this_thread::get_id();
  stream->recorded.clear();
}

std::vector<driver::Context> &fakecuda::getStack() {
  static thread_local std::vector<driver::Context> stack;
  return stack;
}

driver::Context fakecuda::getCurrent() {
  return getStack().empty() ? nullptr : getStack().back();
}

int &fakecuda::getThreadMode() {
  static thread_local int mode = 0;
  return mode;
}

driver::Stream fakecuda::resolve(State &state, driver::Stream stream) {
  static std::vector<StreamImpl> defaults = [&] {
    std::vector<StreamImpl> made;
    for (driver::ContextImpl &context : state.contexts)
      made.push_back({&context, uint64_t(made.size() + 1)});
    return made;
  }();
  if (stream)
    return stream;
  return getCurrent() ? &defaults[getCurrent()->device] : nullptr;
}

//===----------------------------------------------------------------------===//
// Interface of tests
//===----------------------------------------------------------------------===//

uint64_t Launch::getWord(size_t parameter) const {
  uint64_t word = 0;
  const std::string &bytes = parameters.at(parameter);
  std::memcpy(&word, bytes.data(), std::min(bytes.size(), sizeof(word)));
  return word;
}

void fakecuda::reset() {
  State &state = State::get();
  std::lock_guard<std::mutex> lock(state.mutex);
  state.calls.clear();
  state.injected.clear();
  state.launches.clear();
  state.kernelBody = nullptr;
  state.misuse.clear();
}

void fakecuda::failCall(const std::string &symbol, Result result,
                        unsigned after) {
  State &state = State::get();
  std::lock_guard<std::mutex> lock(state.mutex);
  state.injected[symbol] = {result, after};
}

unsigned fakecuda::countCalls(const std::string &symbol) {
  State &state = State::get();
  std::lock_guard<std::mutex> lock(state.mutex);
  return state.calls[symbol];
}

unsigned fakecuda::countAllocationsAndWaits() {
  unsigned count = 0;
  for (const char *symbol :
       {"cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc", "cuMemFreeHost",
        "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuStreamSynchronize"})
    count += countCalls(symbol);
  return count;
}

const std::vector<Launch> &fakecuda::getLaunches() {
  return State::get().launches;
}

void fakecuda::setKernelBody(std::function<void(const Launch &)> body) {
  State &state = State::get();
  std::lock_guard<std::mutex> lock(state.mutex);
  state.kernelBody = std::move(body);
}

std::string fakecuda::getMisuse() {
  State &state = State::get();
  std::lock_guard<std::mutex> lock(state.mutex);
  return state.misuse;
}

size_t fakecuda::getAllocatedBytes() { return State::get().allocatedBytes; }

size_t fakecuda::countHandles() {
  State &state = State::get();
  std::lock_guard<std::mutex> lock(state.mutex);
  return state.streams.size() + state.events.size() + state.graphs.size() +
         state.graphExecs.size();
}

void fakecuda::setLargestAllocation(size_t bytes) {
  State::get().largestAllocation = bytes;
}

void fakecuda::setResidentBlocks(int blocks) {
  State::get().residentBlocks = blocks;
}

unsigned fakecuda::getRetained() {
  State &state = State::get();
  std::lock_guard<std::mutex> lock(state.mutex);
  unsigned retained = 0;
  for (const driver::ContextImpl &context : state.contexts)
    retained += context.retained;
  return retained;
}

void fakecuda::setVersion(int version) { State::get().version = version; }

void fakecuda::setDevices(const std::string &capabilities) {
  State &state = State::get();
  std::lock_guard<std::mutex> lock(state.mutex);
  state.devices =
      capabilities.empty() ? getInitialDevices() : makeDevices(capabilities);
}

bool fakecuda::isDeviceAddress(uint64_t address) {
  State &state = State::get();
  std::lock_guard<std::mutex> lock(state.mutex);
  return state.findMemory(address) != nullptr;
}

size_t fakecuda::getRoom(uint64_t address) {
  State &state = State::get();
  std::lock_guard<std::mutex> lock(state.mutex);
  const auto *memory = state.findMemory(address);
  return memory ? memory->first + memory->second - address : 0;
}

driver::Stream fakecuda::createStream(int device) {
  State &state = State::get();
  std::lock_guard<std::mutex> lock(state.mutex);
  auto *stream = new StreamImpl{&state.contexts[device], state.nextId++};
  state.streams.push_back(stream);
  return stream;
}

void fakecuda::destroyStream(driver::Stream stream) {
  State &state = State::get();
  std::lock_guard<std::mutex> lock(state.mutex);
  std::erase(state.streams, stream);
  delete stream;
}

void fakecuda::beginCapture(driver::Stream stream, int mode) {
  State &state = State::get();
  std::lock_guard<std::mutex> lock(state.mutex);
  capture(state, stream, mode);
}

bool fakecuda::endCapture(driver::Stream stream) {
  State &state = State::get();
  std::lock_guard<std::mutex> lock(state.mutex);
  bool isValid = stream->captureStatus == driver::kCaptureActive;
  stream->captureStatus = driver::kCaptureNone;
  return isValid;
}

void fakecuda::setCurrent(int device) {
  getStack().clear();
  if (device >= 0)
    getStack().push_back(&State::get().contexts[device]);
}
