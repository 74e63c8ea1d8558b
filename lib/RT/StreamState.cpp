//===- StreamState.cpp - A module's state for each stream -----------------===//

#include "StreamState.h"
#include "nsacc-rt/failures.h"
#include <algorithm>
#include <cstring>

using namespace nsacc::rt;

static constexpr size_t kRecordBytes = NSACC_RT_FAILURE_WORDS * 8;

static driver::Result getCapture(driver::Stream stream, int &status,
                                 uint64_t &id) {
  const Driver &driver = Driver::get();
  if (driver.streamGetCaptureInfo3)
    return driver.streamGetCaptureInfo3(stream, &status, &id, nullptr, nullptr,
                                        nullptr, nullptr);
  return driver.streamGetCaptureInfo(stream, &status, &id, nullptr, nullptr,
                                     nullptr);
}

StreamKey nsacc::rt::getKey(driver::Stream stream) {
  const Driver &driver = Driver::get();
  int status = driver::kCaptureNone;
  uint64_t capture = 0;
  driver.check(getCapture(stream, status, capture),
               "asking whether the stream is captured");
  if (status == driver::kCaptureActive)
    return {capture, true};
  if (status != driver::kCaptureNone)
    driver.fail(driver::results::captureInvalidated,
                "launching while a capture has failed");
  // A handle may be reused for another stream, an id isn't.
  unsigned long long id = 0;
  driver.check(driver.streamGetId(stream, &id), "asking for the stream's id");
  return {id, false};
}

StreamState::StreamState(size_t numRecords, bool isCapture)
    : numRecords(numRecords), isCapture(isCapture) {
  const Driver &driver = Driver::get();
  RelaxedCapture relaxed;
  size_t bytes = std::max<size_t>(numRecords, 1) * kRecordBytes;
  driver.check(driver.memHostAlloc(&hostRecords, bytes,
                                   driver::kPortable | driver::kDeviceMapped),
               "allocating memory for failures");
  std::memset(hostRecords, 0, bytes);
  driver::Address address = 0;
  driver::Result result =
      driver.memHostGetDevicePointer(&address, hostRecords, 0);
  if (result != driver::results::success) {
    driver.memFreeHost(hostRecords);
    driver.fail(result, "mapping memory for failures");
  }
  deviceRecords = address;
}

StreamState::~StreamState() {
  // Errors can't be reported, for instance when the process ends.
  const Driver &driver = Driver::get();
  if (block)
    driver.memFree(block);
  for (uint64_t address : retired)
    driver.memFree(address);
  driver.memFreeHost(hostRecords);
}

void StreamState::reserve(int64_t bytes, driver::Stream stream) {
  if (hasRoom(bytes))
    return;
  const Driver &driver = Driver::get();
  RelaxedCapture relaxed;
  // Allocates some more, so that slowly growing sizes don't allocate each time.
  int64_t grown = block ? std::max(bytes, capacity + capacity / 2) : bytes;
  driver::Address address = 0;
  driver::Result result = driver.memAlloc(&address, grown + kCounterBytes);
  if (result == driver::results::outOfMemory && grown > bytes)
    result = driver.memAlloc(&address, (grown = bytes) + kCounterBytes);
  if (result != driver::results::success)
    driver.fail(result, "allocating a workspace of " + std::to_string(bytes) +
                            " bytes");
  result = driver.memsetAsync(address, 0, kCounterBytes / 4, stream);
  if (result != driver::results::success) {
    driver.memFree(address);
    driver.fail(result, "clearing the counter");
  }
  if (block && isCapture)
    retired.push_back(block);
  else if (block)
    driver.memFree(block); // waits for the kernels that use it
  block = address;
  capacity = grown;
}

uint64_t StreamState::getRecord(size_t record) const {
  return deviceRecords + record * kRecordBytes;
}

volatile uint64_t *StreamState::getHostRecord(size_t record) const {
  return static_cast<uint64_t *>(hostRecords) + record * NSACC_RT_FAILURE_WORDS;
}

bool StreamState::hasFailed() const {
  for (size_t record = 0; record < numRecords; ++record)
    if (getHostRecord(record)[NSACC_RT_FAILURE_COUNT] != 0)
      return true;
  return false;
}

/// Copies the values of a record, which the device may write again.
static std::array<int64_t, NSACC_RT_FAILURE_MAX_VALUES>
readValues(const volatile uint64_t *record) {
  std::array<int64_t, NSACC_RT_FAILURE_MAX_VALUES> values;
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<int64_t>(record[NSACC_RT_FAILURE_VALUES + i]);
  return values;
}

std::string
StreamState::takeFailure(const std::vector<const TargetCode *> &codes) {
  std::string text;
  for (size_t index = 0; index < numRecords; ++index) {
    volatile uint64_t *record = getHostRecord(index);
    if (record[NSACC_RT_FAILURE_COUNT] == 0)
      continue;
    uint64_t assertion = record[NSACC_RT_FAILURE_ASSERTION];
    const std::vector<Assertion> &assertions = codes[index]->assertions;
    if (!text.empty())
      ; // Failures of later launches don't matter.
    else if (assertion < assertions.size())
      text = formatMessage(assertions[assertion], readValues(record).data());
    else
      text = "a kernel failed for a reason that its package doesn't have: " +
             std::to_string(assertion);
    record[NSACC_RT_FAILURE_COUNT] = 0;
  }
  return text;
}
