//===- Measure.cpp - Times of launches ------------------------------------===//

#include "Measure.h"
#include "Module.h"
#include <chrono>

using namespace nsacc::rt;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

[[noreturn]] static void failOption(const char *name, auto value,
                                    const std::string &reason) {
  throw Failure(NSACC_RT_INVALID, std::string("options.") + name + " is " +
                                      std::to_string(value) + reason);
}

static void checkHostOptions(const nsacc_rt_measure_options &options) {
  if (options.flush_bytes)
    failOption("flush_bytes", options.flush_bytes,
               ", but the module is the host's, expected 0: each core has "
               "caches of its own, which writing memory doesn't empty");
  if (options.graph)
    failOption("graph", options.graph,
               ", but the module is the host's, expected 0: there are CUDA "
               "graphs on devices only");
}

static void checkDeviceOptions(const nsacc_rt_measure_options &options) {
  if (options.threads)
    failOption("threads", options.threads,
               ", but the module is on a device, expected 0: threads are for "
               "runs on the host");
  if (options.flush_bytes % sizeof(uint32_t) != 0)
    failOption("flush_bytes", options.flush_bytes,
               ", expected a multiple of 4");
  if (options.flush_bytes && options.launches != 1)
    failOption("flush_bytes", options.flush_bytes,
               ", but options.launches is " + std::to_string(options.launches) +
                   ", expected 1: the cache is empty for the first launch "
                   "of a time only");
}

void nsacc::rt::checkOptions(const nsacc_rt_measure_options &options,
                             bool isOnHost) {
  if (options.runs == 0)
    failOption("runs", 0, ", expected at least 1");
  if (options.launches == 0)
    failOption("launches", 0, ", expected at least 1");
  if (isOnHost)
    checkHostOptions(options);
  else
    checkDeviceOptions(options);
}

//===----------------------------------------------------------------------===//
// On the host
//===----------------------------------------------------------------------===//

void nsacc::rt::measureOnHost(HostModule &module,
                              const nsacc_rt_tensor *tensors, size_t count,
                              const nsacc_rt_measure_options &options,
                              double *milliseconds) {
  using Clock = std::chrono::steady_clock;
  HostOptions ofRuns;
  ofRuns.threads = options.threads;
  module.run(tensors, count, ofRuns);
  for (uint32_t i = 0; i < options.runs; ++i) {
    Clock::time_point begin = Clock::now();
    for (uint32_t each = 0; each < options.launches; ++each)
      module.run(tensors, count, ofRuns);
    std::chrono::duration<double, std::milli> taken = Clock::now() - begin;
    milliseconds[i] = taken.count() / options.launches;
  }
}

//===----------------------------------------------------------------------===//
// On a device
//===----------------------------------------------------------------------===//

void nsacc::rt::requireMeasuring(const Driver &driver, bool hasGraph) {
  auto require = [](auto function, const char *symbol) {
    if (!function)
      throw Failure(NSACC_RT_UNAVAILABLE,
                    std::string("the CUDA driver has no ") + symbol +
                        ", which nsacc_rt_measure needs: update it");
  };
#define ENTRY(name, symbol, parameters)
#define OPTIONAL_ENTRY(name, symbol, parameters)
#define MEASURE_ENTRY(name, symbol, parameters) require(driver.name, #symbol);
#define GRAPH_ENTRY(name, symbol, parameters)                                  \
  if (hasGraph)                                                                \
    require(driver.name, #symbol);
#include "Entries.def"
}

namespace {

/// Owns an object of the driver.
template <typename Handle>
using Owned =
    std::unique_ptr<std::remove_pointer_t<Handle>, driver::Result (*)(Handle)>;

/// Memory that is written to empty the cache.
class FlushMemory {
public:
  explicit FlushMemory(size_t bytes) : words(bytes / sizeof(uint32_t)) {
    if (bytes == 0)
      return;
    const Driver &driver = Driver::get();
    driver::Result result = driver.memAlloc(&address, bytes);
    if (result != driver::results::success)
      driver.fail(result, "allocating " + std::to_string(bytes) +
                              " bytes to empty the cache with");
  }
  ~FlushMemory() {
    if (address)
      Driver::get().memFree(address);
  }
  FlushMemory(const FlushMemory &) = delete;
  FlushMemory &operator=(const FlushMemory &) = delete;

  void write(driver::Stream stream) const {
    const Driver &driver = Driver::get();
    if (address)
      driver.check(driver.memsetAsync(address, 0, words, stream),
                   "emptying the cache");
  }

private:
  size_t words;
  driver::Address address = 0;
};

/// Puts launches on a separate stream, between events.
class Measurement {
public:
  /// `launch` puts a launch on the stream that it is given.
  Measurement(const nsacc_rt_measure_options &options,
              std::function<void(driver::Stream)> launch)
      : options(options), launch(std::move(launch)),
        flushMemory(options.flush_bytes), stream(createStream()) {}
  ~Measurement() {
    // After a failure, earlier launches may still be using the tensors.
    Driver::get().streamSynchronize(stream.get());
  }
  Measurement(const Measurement &) = delete;
  Measurement &operator=(const Measurement &) = delete;

  void launchOnce() const { launch(stream.get()); }
  void wait() const {
    const Driver &driver = Driver::get();
    driver.check(driver.streamSynchronize(stream.get()),
                 "waiting for a measured run");
  }
  void recordGraph();
  /// Doesn't wait: the device always has work, so that times don't include the
  /// host's.
  void enqueueAll();
  /// Must be called after waiting.
  void readTimes(double *milliseconds) const;

private:
  struct Span {
    Owned<driver::Event> begin, end;
  };

  static Owned<driver::Stream> createStream();
  static Owned<driver::Event> createEvent();
  void record(const Owned<driver::Event> &event) const;
  void launchAll() const;
  void enqueueOne() const;

  const nsacc_rt_measure_options &options;
  std::function<void(driver::Stream)> launch;
  FlushMemory flushMemory;
  Owned<driver::Stream> stream;
  Owned<driver::GraphExec> graph = {nullptr, nullptr};
  std::vector<Span> spans;
};

} // namespace

Owned<driver::Stream> Measurement::createStream() {
  const Driver &driver = Driver::get();
  driver::Stream created = nullptr;
  driver.check(driver.streamCreate(&created, driver::kNonBlocking),
               "creating a stream");
  return {created, driver.streamDestroy};
}

Owned<driver::Event> Measurement::createEvent() {
  const Driver &driver = Driver::get();
  driver::Event created = nullptr;
  driver.check(driver.eventCreate(&created, /*flags=*/0), "creating an event");
  return {created, driver.eventDestroy};
}

void Measurement::record(const Owned<driver::Event> &event) const {
  const Driver &driver = Driver::get();
  driver.check(driver.eventRecord(event.get(), stream.get()),
               "recording an event");
}

void Measurement::launchAll() const {
  for (uint32_t i = 0; i < options.launches; ++i)
    launchOnce();
}

void Measurement::recordGraph() {
  const Driver &driver = Driver::get();
  driver.check(
      driver.streamBeginCapture(stream.get(), driver::kCaptureModeRelaxed),
      "beginning a graph");
  driver::Graph made = nullptr;
  try {
    launchAll();
  } catch (...) {
    // A stream that is still captured can't be waited for.
    driver.streamEndCapture(stream.get(), &made);
    if (made)
      driver.graphDestroy(made);
    throw;
  }
  driver.check(driver.streamEndCapture(stream.get(), &made),
               "recording a graph");
  Owned<driver::Graph> recorded(made, driver.graphDestroy);
  driver::GraphExec instance = nullptr;
  driver.check(driver.graphInstantiate(&instance, made, /*flags=*/0),
               "instantiating a graph");
  graph = {instance, driver.graphExecDestroy};
}

/// Enqueues the work that one time covers.
void Measurement::enqueueOne() const {
  const Driver &driver = Driver::get();
  if (graph)
    driver.check(driver.graphLaunch(graph.get(), stream.get()),
                 "launching a graph");
  else
    launchAll();
}

void Measurement::enqueueAll() {
  spans.reserve(options.runs);
  for (uint32_t i = 0; i < options.runs; ++i)
    spans.push_back({createEvent(), createEvent()});
  // This run comes before the first time, so that it begins after other work,
  // as the other times do. It also uploads a graph.
  enqueueOne();
  for (const Span &span : spans) {
    flushMemory.write(stream.get());
    record(span.begin);
    enqueueOne();
    record(span.end);
  }
}

void Measurement::readTimes(double *milliseconds) const {
  const Driver &driver = Driver::get();
  for (const Span &span : spans) {
    float taken = 0;
    driver.check(
        driver.eventElapsedTime(&taken, span.begin.get(), span.end.get()),
        "reading a time");
    *milliseconds++ = static_cast<double>(taken) / options.launches;
  }
}

void Module::measure(const nsacc_rt_tensor *tensors, size_t count,
                     const nsacc_rt_measure_options &options,
                     double *milliseconds) {
  const Driver &driver = Driver::get();
  requireMeasuring(driver, options.graph != 0);
  ContextScope scope(context);
  RelaxedCapture relaxed;
  // A separate stream doesn't wait for copies to the tensors by itself.
  driver.check(driver.streamSynchronize(nullptr),
               "waiting for the default stream");
  // Not one of the module's states: it ends with the stream and the graph, and
  // its failures are reported here only.
  StreamState state(recordCodes.size(), options.graph != 0);
  Measurement measurement(options, [&](driver::Stream stream) {
    launch(tensors, count, stream, state);
  });
  auto finish = [&] {
    measurement.wait();
    if (state.hasFailed())
      throw Failure(NSACC_RT_FAILED, state.takeFailure(recordCodes));
  };
  measurement.launchOnce();
  finish();
  if (options.graph)
    measurement.recordGraph();
  measurement.enqueueAll();
  finish();
  measurement.readTimes(milliseconds);
}
