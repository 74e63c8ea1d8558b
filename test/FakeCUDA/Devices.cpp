//===- Devices.cpp - Devices, contexts and streams of the fake driver -----===//

#include "State.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

using namespace fakecuda;
using namespace nsacc::rt::driver;

// The values that drivers report for one product of each compute capability.
static constexpr FakeDevice kKnown[] = {
    {"Fake T4", 7, 5, 65536, 65536, 40, 4 << 20},
    {"Fake A100", 8, 0, 166912, 167936, 108, 40 << 20},
    {"Fake A40", 8, 6, 101376, 102400, 84, 6 << 20},
    {"Fake L40S", 8, 9, 101376, 102400, 142, 96 << 20},
    {"Fake H200", 9, 0, 232448, 233472, 132, 60 << 20},
    {"Fake B200", 10, 0, 232448, 233472, 148, 126 << 20},
    {"Fake RTX 5090", 12, 0, 101376, 102400, 170, 96 << 20},
};

std::vector<FakeDevice> fakecuda::makeDevices(const std::string &capabilities) {
  std::vector<FakeDevice> devices;
  std::istringstream list(capabilities);
  for (std::string each; std::getline(list, each, ',');) {
    auto found = std::find_if(std::begin(kKnown), std::end(kKnown),
                              [&](const FakeDevice &known) {
                                return std::to_string(known.major) + "." +
                                           std::to_string(known.minor) ==
                                       each;
                              });
    if (found == std::end(kKnown) || devices.size() == kMostDevices) {
      std::fprintf(stderr, "the fake driver can't play '%s'\n",
                   capabilities.c_str());
      std::abort();
    }
    devices.push_back(*found);
  }
  return devices;
}

std::vector<FakeDevice> fakecuda::getInitialDevices() {
  const char *given = std::getenv("FAKE_CUDA_DEVICES");
  return makeDevices(given ? given : "9.0,8.0");
}

FAKE_EXPORT Result cuInit(unsigned flags) {
  FAKE_ENTER(cuInit);
  state.isInitialized = true;
  return results::success;
}

FAKE_EXPORT Result cuDriverGetVersion(int *version) {
  *version = State::get().version;
  return results::success;
}

FAKE_EXPORT Result cuGetErrorName(Result error, const char **name) {
  *name = error == results::outOfMemory          ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == kInvalidValue               ? "CUDA_ERROR_INVALID_VALUE"
          : error == kInvalidContext             ? "CUDA_ERROR_INVALID_CONTEXT"
          : error == kInvalidHandle              ? "CUDA_ERROR_INVALID_HANDLE"
          : error == kNotFound                   ? "CUDA_ERROR_NOT_FOUND"
          : error == results::captureUnsupported ? "CUDA_ERROR_STREAM_CAPTURE_"
                                                   "UNSUPPORTED"
                                                 : nullptr;
  return *name ? results::success : kInvalidValue;
}

FAKE_EXPORT Result cuGetErrorString(Result error, const char **text) {
  *text = "of the fake driver";
  return results::success;
}

FAKE_EXPORT Result cuDeviceGetCount(int *count) {
  FAKE_ENTER(cuDeviceGetCount);
  *count = static_cast<int>(state.devices.size());
  return results::success;
}

FAKE_EXPORT Result cuDeviceGet(Device *device, int ordinal) {
  FAKE_ENTER(cuDeviceGet);
  if (ordinal < 0 || ordinal >= static_cast<int>(state.devices.size()))
    return state.misused("cuDeviceGet of no device");
  *device = ordinal;
  return results::success;
}

FAKE_EXPORT Result cuDeviceGetName(char *name, int size, Device device) {
  FAKE_ENTER(cuDeviceGetName);
  std::strncpy(name, state.devices[device].name, size);
  return results::success;
}

FAKE_EXPORT Result cuDeviceGetAttribute(int *value, int attribute,
                                        Device device) {
  FAKE_ENTER(cuDeviceGetAttribute);
  const FakeDevice &known = state.devices[device];
  switch (attribute) {
  case deviceAttributes::multiprocessors:
    *value = known.multiprocessors;
    return results::success;
  case deviceAttributes::l2Bytes:
    *value = known.l2Bytes;
    return results::success;
  case deviceAttributes::major:
    *value = known.major;
    return results::success;
  case deviceAttributes::minor:
    *value = known.minor;
    return results::success;
  case deviceAttributes::sharedBytesOfMultiprocessor:
    *value = known.sharedBytesOfMultiprocessor;
    return results::success;
  case deviceAttributes::registersOfMultiprocessor:
    *value = 65536;
    return results::success;
  case deviceAttributes::sharedBytesOptIn:
    *value = known.sharedBytes;
    return results::success;
  default:
    return state.misused("cuDeviceGetAttribute of an unknown attribute");
  }
}

FAKE_EXPORT Result cuDevicePrimaryCtxRetain(Context *context, Device device) {
  FAKE_ENTER(cuDevicePrimaryCtxRetain);
  *context = &state.contexts[device];
  ++(*context)->retained;
  return results::success;
}

FAKE_EXPORT Result cuDevicePrimaryCtxRelease_v2(Device device) {
  FAKE_ENTER(cuDevicePrimaryCtxRelease_v2);
  if (state.contexts[device].retained == 0)
    return state.misused("cuDevicePrimaryCtxRelease of a context that isn't "
                         "retained");
  --state.contexts[device].retained;
  return results::success;
}

FAKE_EXPORT Result cuCtxGetCurrent(Context *context) {
  FAKE_ENTER(cuCtxGetCurrent);
  *context = getCurrent();
  return results::success;
}

FAKE_EXPORT Result cuCtxGetDevice(Device *device) {
  FAKE_ENTER(cuCtxGetDevice);
  if (!getCurrent())
    return state.misused("cuCtxGetDevice without a context", kInvalidContext);
  *device = getCurrent()->device;
  return results::success;
}

FAKE_EXPORT Result cuCtxPushCurrent_v2(Context context) {
  FAKE_ENTER(cuCtxPushCurrent_v2);
  getStack().push_back(context);
  return results::success;
}

FAKE_EXPORT Result cuCtxPopCurrent_v2(Context *context) {
  FAKE_ENTER(cuCtxPopCurrent_v2);
  if (getStack().empty())
    return state.misused("cuCtxPopCurrent without a context", kInvalidContext);
  *context = getStack().back();
  getStack().pop_back();
  return results::success;
}

FAKE_EXPORT Result cuStreamSynchronize(Stream stream) {
  FAKE_ENTER_UNSAFE(cuStreamSynchronize);
  Stream found = resolve(state, stream);
  if (!found)
    return kInvalidContext;
  if (found->captureStatus != kCaptureNone)
    return state.misused("waiting for a stream that is captured",
                         results::captureUnsupported);
  for (Event event : state.events)
    if (event->stream == found)
      event->wasWaitedFor = true;
  return results::success;
}

FAKE_EXPORT Result cuStreamCreate(Stream *stream, unsigned flags) {
  FAKE_ENTER(cuStreamCreate);
  if (!getCurrent())
    return state.misused("cuStreamCreate without a context", kInvalidContext);
  if (flags > kNonBlocking)
    return state.misused("cuStreamCreate with unknown flags");
  *stream = new StreamImpl{getCurrent(), state.nextId++};
  state.streams.push_back(*stream);
  return results::success;
}

FAKE_EXPORT Result cuStreamDestroy_v2(Stream stream) {
  FAKE_ENTER(cuStreamDestroy_v2);
  if (!std::erase(state.streams, stream))
    return state.misused("cuStreamDestroy of no stream", kInvalidHandle);
  if (stream->captureStatus != kCaptureNone)
    state.misused("cuStreamDestroy during its capture");
  delete stream;
  return results::success;
}

FAKE_EXPORT Result cuEventCreate(Event *event, unsigned flags) {
  FAKE_ENTER(cuEventCreate);
  if (!getCurrent())
    return state.misused("cuEventCreate without a context", kInvalidContext);
  if (flags != 0)
    return state.misused("cuEventCreate with flags: events have to have times");
  *event = *state.events.insert(new EventImpl).first;
  return results::success;
}

FAKE_EXPORT Result cuEventDestroy_v2(Event event) {
  FAKE_ENTER(cuEventDestroy_v2);
  if (!state.events.erase(event))
    return state.misused("cuEventDestroy of no event", kInvalidHandle);
  delete event;
  return results::success;
}

FAKE_EXPORT Result cuEventRecord(Event event, Stream stream) {
  FAKE_ENTER(cuEventRecord);
  Stream found = resolve(state, stream);
  if (!found || !state.events.contains(event))
    return state.misused("cuEventRecord of no event or stream", kInvalidHandle);
  if (found->captureStatus != kCaptureNone)
    return state.misused("cuEventRecord of an event with a time in a capture");
  *event = {found, state.milliseconds};
  return results::success;
}

FAKE_EXPORT Result cuEventElapsedTime(float *milliseconds, Event begin,
                                      Event end) {
  FAKE_ENTER(cuEventElapsedTime);
  for (Event event : {begin, end}) {
    if (!state.events.contains(event) || !event->stream)
      return state.misused("cuEventElapsedTime of an event that isn't recorded",
                           kInvalidHandle);
    if (!event->wasWaitedFor)
      return state.misused("cuEventElapsedTime without waiting", kNotReady);
  }
  *milliseconds = static_cast<float>(end->milliseconds - begin->milliseconds);
  return results::success;
}

FAKE_EXPORT Result cuStreamGetId(Stream stream, unsigned long long *id) {
  FAKE_ENTER(cuStreamGetId);
  Stream found = resolve(state, stream);
  if (!found)
    return state.misused("cuStreamGetId without a context", kInvalidContext);
  *id = found->id;
  return results::success;
}

static Result getCapture(State &state, Stream stream, int *status,
                         uint64_t *id) {
  Stream found = resolve(state, stream);
  if (!found)
    return state.misused("cuStreamGetCaptureInfo without a context",
                         kInvalidContext);
  *status = found->captureStatus;
  *id = found->captureId;
  return results::success;
}

// The function of drivers before CUDA 12.3. In later drivers it fails here once
// an edge has data.
FAKE_EXPORT Result cuStreamGetCaptureInfo_v2(Stream stream, int *status,
                                             uint64_t *id, void **,
                                             const void **, size_t *) {
  FAKE_ENTER(cuStreamGetCaptureInfo_v2);
  return getCapture(state, stream, status, id);
}

FAKE_EXPORT Result cuStreamGetCaptureInfo_v3(Stream stream, int *status,
                                             uint64_t *id, void **,
                                             const void **, const void **,
                                             size_t *) {
  FAKE_ENTER(cuStreamGetCaptureInfo_v3);
  return getCapture(state, stream, status, id);
}

FAKE_EXPORT Result cuThreadExchangeStreamCaptureMode(int *mode) {
  FAKE_ENTER(cuThreadExchangeStreamCaptureMode);
  std::swap(*mode, getThreadMode());
  return results::success;
}
