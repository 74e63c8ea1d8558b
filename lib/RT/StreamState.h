//===- StreamState.h - A module's state for each stream ---------*- C++ -*-===//

#ifndef NSACC_LIB_RT_STREAMSTATE_H
#define NSACC_LIB_RT_STREAMSTATE_H

#include "Buffers.h"
#include "Driver.h"
#include <mutex>

namespace nsacc::rt {

/// A stream, or one capture of it into a graph. Captures have separate states,
/// since graphs run at the same time as their stream.
struct StreamKey {
  uint64_t id;
  bool isCapture;

  bool operator==(const StreamKey &) const = default;
};

/// Queries the driver. Throws if a capture has failed.
StreamKey getKey(driver::Stream stream);

/// Device memory of a stream's launches: a counter, workspace, and records of
/// failures. Holding `mutex` keeps the launches of two runs apart.
class StreamState {
public:
  /// Has as many failure records as a module's variants have launches.
  StreamState(size_t numRecords, bool isCapture);
  ~StreamState();
  StreamState(const StreamState &) = delete;
  StreamState &operator=(const StreamState &) = delete;

  std::mutex mutex;

  /// Makes room for `bytes` of workspace, and clears the counter of new memory
  /// on the stream.
  void reserve(int64_t bytes, driver::Stream stream);
  uint64_t getWorkspace() const { return block + kCounterBytes; }
  uint64_t getCounter() const { return block; }
  uint64_t getRaised() const { return block + sizeof(uint64_t); }
  /// The device's address of a failure record.
  uint64_t getRecord(size_t record) const;
  bool isOfCapture() const { return isCapture; }
  bool hasRoom(int64_t bytes) const { return block != 0 && bytes <= capacity; }

  bool hasFailed() const;
  /// The least failure of the first launch that has one, as its message; clears
  /// all records. For each record, `codes` has the code whose launch may write
  /// it.
  std::string takeFailure(const std::vector<const TargetCode *> &codes);

  /// Kept between launches so that launching allocates nothing.
  struct Scratch {
    std::vector<Buffer> buffers;
    std::vector<const int64_t *> sizes; ///< of the buffers of parameters
    std::vector<int64_t> numbers;
    std::vector<driver::TensorMap> storage;
    std::vector<void *> parameters;
  } scratch;

private:
  /// Separates workspace from the counter that every block of a grid
  /// increments.
  static constexpr int64_t kCounterBytes = 256;

  volatile uint64_t *getHostRecord(size_t record) const;

  size_t numRecords;
  bool isCapture;
  uint64_t block = 0;
  int64_t capacity = 0;
  /// Memory that recorded launches of a capture still use.
  std::vector<uint64_t> retired;
  void *hostRecords = nullptr;
  uint64_t deviceRecords = 0;
};

} // namespace nsacc::rt

#endif // NSACC_LIB_RT_STREAMSTATE_H
