//===- MeasureTest.cpp - Times of launches --------------------------------===//
//
// On the fake's clock a kernel takes 1 ms, so that a launch of makePackage's
// kernels takes 2 ms, and emptying the cache takes 100 ms.
//
//===----------------------------------------------------------------------===//

#include "Measure.h"
#include "RTTest.h"
#include "nsacc-rt/failures.h"

using namespace nsacc::rt;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

namespace {

struct Options {
  uint32_t runs = 1, launches = 1;
  size_t flushBytes = 0;
  int graph = 0;
  uint32_t threads = 0;

  nsacc_rt_measure_options get() const {
    return {runs, launches, flushBytes, graph, threads};
  }
};

class MeasureTest : public RTTest {
protected:
  static nsacc_rt_status measure(nsacc_rt_module *module,
                                 const Options &options,
                                 std::vector<double> &times) {
    times.assign(options.runs, -1);
    nsacc_rt_measure_options given = options.get();
    return nsacc_rt_measure(module, Tensors(1, 64).tensors, 2, &given,
                            times.data());
  }
  static std::vector<double> expectTimes(nsacc_rt_module *module,
                                         const Options &options) {
    std::vector<double> times;
    EXPECT_EQ(measure(module, options, times), NSACC_RT_OK)
        << nsacc_rt_message();
    return times;
  }
  /// The error message of measuring.
  static std::string fail(nsacc_rt_module *module, const Options &options,
                          nsacc_rt_status status = NSACC_RT_INVALID) {
    std::vector<double> times;
    EXPECT_EQ(measure(module, options, times), status);
    return nsacc_rt_message();
  }
};

} // namespace

static size_t countRuns() {
  size_t runs = 0;
  for (const fakecuda::Launch &launch : fakecuda::getLaunches())
    runs += !launch.isCaptured && launch.kernel == "fill";
  return runs;
}

TEST_F(MeasureTest, TimesEveryLaunch) {
  Module module(makePackage());
  EXPECT_THAT(expectTimes(module, {.runs = 5, .launches = 1}),
              AllOf(SizeIs(5), Each(2.0)));
  EXPECT_EQ(countRuns(), 1u + 1 + 5) << "two launches aren't timed";
}

TEST_F(MeasureTest, TimesAreOfOneLaunch) {
  Module module(makePackage());
  EXPECT_THAT(expectTimes(module, {.runs = 3, .launches = 10}),
              AllOf(SizeIs(3), Each(2.0)));
  EXPECT_EQ(countRuns(), 1u + 10 + 3 * 10);
}

TEST_F(MeasureTest, EmptyingTheCacheIsNotTimed) {
  Module module(makePackage());
  fakecuda::reset();
  EXPECT_THAT(
      expectTimes(module, {.runs = 3, .launches = 1, .flushBytes = 4096}),
      Each(2.0));
  // And one for the counter.
  EXPECT_EQ(fakecuda::countCalls("cuMemsetD32Async"), 3u + 1);
}

TEST_F(MeasureTest, GraphsAreReplayed) {
  Module module(makePackage());
  EXPECT_THAT(expectTimes(module, {.runs = 3, .launches = 4, .graph = 1}),
              AllOf(SizeIs(3), Each(2.0)));
  EXPECT_EQ(countRuns(), 1u + 4 + 3 * 4);
  EXPECT_EQ(fakecuda::countCalls("cuGraphLaunch"), 1u + 3);
  EXPECT_THAT(
      expectTimes(module,
                  {.runs = 3, .launches = 1, .flushBytes = 4096, .graph = 1}),
      Each(2.0));
}

TEST_F(MeasureTest, GraphsHaveDependentLaunches) {
  Package package = makePackage();
  package.variants[0].targets[0].plan.launches[1].isDependent = true;
  Module module(package);
  expectTimes(module, {.runs = 1, .launches = 1, .graph = 1});
  for (const fakecuda::Launch &launch : fakecuda::getLaunches())
    EXPECT_EQ(launch.isDependent, launch.kernel == "scale");
}

// Users' streams and graphs keep their memory until the module is unloaded, or
// longer; a measurement's don't.
TEST_F(MeasureTest, NothingStays) {
  Module module(makePackage());
  expectLaunch(module, Tensors(1, 64));
  size_t bytes = fakecuda::getAllocatedBytes();
  size_t handles = fakecuda::countHandles();
  for (int graph : {0, 1})
    expectTimes(module,
                {.runs = 2, .launches = 1, .flushBytes = 64, .graph = graph});
  EXPECT_EQ(fakecuda::getAllocatedBytes(), bytes);
  EXPECT_EQ(fakecuda::countHandles(), handles);
}

TEST_F(MeasureTest, HasAStreamOfItsOwn) {
  Module module(makePackage());
  expectLaunch(module, Tensors(1, 64));
  fakecuda::reset();
  expectTimes(module, {.runs = 1, .launches = 1});
  EXPECT_EQ(fakecuda::countCalls("cuStreamSynchronize"), 4u)
      << "the default stream, and its own: for one launch, all, and the end";
  for (const fakecuda::Launch &launch : fakecuda::getLaunches())
    EXPECT_NE(launch.stream, nullptr);
}

TEST_F(MeasureTest, WorksBesideACapture) {
  Module module(makePackage());
  driver::Stream stream = fakecuda::createStream(0);
  fakecuda::beginCapture(stream);
  expectTimes(module, {.runs = 2, .launches = 2, .graph = 1});
  EXPECT_TRUE(fakecuda::endCapture(stream));
  fakecuda::destroyStream(stream);
}

TEST_F(MeasureTest, VariantsAreCompiledBeforehand) {
  Module module(makeVariants());
  EXPECT_THAT(expectTimes(module, {.runs = 2, .launches = 1, .graph = 1}),
              Each(2.0));
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST_F(MeasureTest, OptionsHaveToBeValid) {
  Module module(makePackage());
  EXPECT_EQ(fail(module, {.runs = 0, .launches = 1}),
            "options.runs is 0, expected at least 1");
  EXPECT_EQ(fail(module, {.runs = 1, .launches = 0}),
            "options.launches is 0, expected at least 1");
  EXPECT_EQ(fail(module, {.runs = 1, .launches = 1, .flushBytes = 6}),
            "options.flush_bytes is 6, expected a multiple of 4");
  EXPECT_EQ(fail(module, {.runs = 1, .launches = 3, .flushBytes = 64}),
            "options.flush_bytes is 64, but options.launches is 3, expected 1: "
            "the cache is empty for the first launch of a time only");
  EXPECT_EQ(fail(module, {.runs = 1, .launches = 1, .threads = 2}),
            "options.threads is 2, but the module is on a device, expected 0: "
            "threads are for runs on the host");
  EXPECT_EQ(fakecuda::getLaunches().size(), 0u);
}

TEST_F(MeasureTest, NullPointersAreErrors) {
  Module module(makePackage());
  Tensors tensors(1, 64);
  nsacc_rt_measure_options options = Options().get();
  double time;
  EXPECT_EQ(nsacc_rt_measure(nullptr, tensors.tensors, 2, &options, &time),
            NSACC_RT_INVALID);
  EXPECT_STREQ(nsacc_rt_message(), "module is a null pointer");
  EXPECT_EQ(nsacc_rt_measure(module, tensors.tensors, 2, nullptr, &time),
            NSACC_RT_INVALID);
  EXPECT_STREQ(nsacc_rt_message(), "options is a null pointer");
  EXPECT_EQ(nsacc_rt_measure(module, tensors.tensors, 2, &options, nullptr),
            NSACC_RT_INVALID);
  EXPECT_STREQ(nsacc_rt_message(), "milliseconds is a null pointer");
  EXPECT_EQ(nsacc_rt_measure(module, nullptr, 2, &options, &time),
            NSACC_RT_INVALID);
  EXPECT_STREQ(nsacc_rt_message(), "tensors is a null pointer");
}

TEST_F(MeasureTest, TensorsHaveToFit) {
  Module module(makePackage());
  Tensors tensors(1, 64);
  tensors.qShape[1] = 32;
  nsacc_rt_measure_options options = Options{.graph = 1}.get();
  double time;
  EXPECT_EQ(nsacc_rt_measure(module, tensors.tensors, 2, &options, &time),
            NSACC_RT_INVALID);
  EXPECT_THAT(nsacc_rt_message(), HasSubstr("size 1 of result 'o'"));
}

TEST_F(MeasureTest, TheCacheCanTakeTooMuchMemory) {
  Module module(makePackage());
  size_t bytes = size_t(1) << 41;
  EXPECT_THAT(fail(module, {.runs = 1, .launches = 1, .flushBytes = bytes},
                   NSACC_RT_MEMORY),
              HasSubstr("allocating 2199023255552 bytes to empty the cache"));
}

/// Reports a failure, as a kernel does: @scale's parameter is its record.
static void failKernel(const fakecuda::Launch &launch) {
  if (launch.kernel != "scale")
    return;
  auto *record = reinterpret_cast<uint64_t *>(launch.getWord(10));
  record[NSACC_RT_FAILURE_ASSERTION] = 0;
  record[NSACC_RT_FAILURE_COUNT] = 1;
}

TEST_F(MeasureTest, ErrorsOfTheProgramAreTold) {
  Module module(makePackage());
  fakecuda::setKernelBody(failKernel);
  for (int graph : {0, 1})
    EXPECT_EQ(fail(module, {.runs = 2, .launches = 2, .graph = graph},
                   NSACC_RT_FAILED),
              "no reason");
  EXPECT_EQ(countRuns(), 2u) << "nothing is timed then";
  EXPECT_EQ(nsacc_rt_check(module, nullptr), NSACC_RT_OK) << "told once";
}

// An example is a result that is an input, too.
TEST_F(MeasureTest, LaterErrorsOfTheProgramAreTold) {
  Module module(makePackage());
  for (unsigned first : {2, 3, 4, 5, 6})
    for (int graph : {0, 1}) {
      unsigned launches = 0;
      fakecuda::setKernelBody([&](const fakecuda::Launch &launch) {
        if (launch.kernel == "scale" && ++launches >= first)
          failKernel(launch);
      });
      EXPECT_EQ(fail(module, {.runs = 5, .launches = 1, .graph = graph},
                     NSACC_RT_FAILED),
                "no reason");
    }
}

TEST_F(MeasureTest, FailuresOfOtherStreamsStay) {
  Module module(makePackage());
  fakecuda::setKernelBody(failKernel);
  expectLaunch(module, Tensors(1, 64));
  fakecuda::setKernelBody(nullptr);
  expectTimes(module, {.runs = 1, .launches = 1});
  EXPECT_EQ(nsacc_rt_check(module, nullptr), NSACC_RT_FAILED);
}

TEST_F(MeasureTest, OldDriversLackFunctions) {
  Driver driver = Driver::get();
  driver.graphLaunch = nullptr;
  EXPECT_NO_THROW(requireMeasuring(driver, /*hasGraph=*/false));
  auto explain = [&](bool hasGraph) -> std::string {
    try {
      requireMeasuring(driver, hasGraph);
    } catch (const Failure &failure) {
      EXPECT_EQ(failure.status, NSACC_RT_UNAVAILABLE);
      return failure.what();
    }
    return "nothing is missing";
  };
  EXPECT_EQ(explain(true), "the CUDA driver has no cuGraphLaunch, which "
                           "nsacc_rt_measure needs: update it");
  driver.eventRecord = nullptr;
  EXPECT_EQ(explain(false), "the CUDA driver has no cuEventRecord, which "
                            "nsacc_rt_measure needs: update it");
}

/// Any error at any time is reported, and everything is released.
TEST_F(MeasureTest, ErrorsOfTheDriverLeakNothing) {
  constexpr driver::Result launchFailed = 719;
  Options options = {.runs = 2, .launches = 1, .flushBytes = 64, .graph = 1};
  Module module(makePackage());
  for (const char *symbol :
       {"cuMemAlloc_v2", "cuMemHostAlloc", "cuMemHostGetDevicePointer_v2",
        "cuMemsetD32Async", "cuLaunchKernelEx", "cuStreamCreate",
        "cuEventCreate", "cuEventRecord", "cuEventElapsedTime",
        "cuStreamBeginCapture_v2", "cuStreamEndCapture",
        "cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuCtxPushCurrent_v2",
        "cuStreamSynchronize"}) {
    fakecuda::reset();
    expectTimes(module, options);
    unsigned calls = fakecuda::countCalls(symbol);
    // The last wait is for work that an error left on the stream.
    calls -= symbol == std::string("cuStreamSynchronize");
    EXPECT_GT(calls, 0u) << symbol;
    for (unsigned after = 0; after < calls; ++after) {
      size_t bytes = fakecuda::getAllocatedBytes();
      size_t handles = fakecuda::countHandles();
      fakecuda::failCall(symbol, launchFailed, after);
      fail(module, options, NSACC_RT_DRIVER);
      EXPECT_EQ(fakecuda::getAllocatedBytes(), bytes) << symbol << after;
      EXPECT_EQ(fakecuda::countHandles(), handles) << symbol << after;
    }
    EXPECT_EQ(fakecuda::getMisuse(), "");
  }
}

//===----------------------------------------------------------------------===//
// On the host
//===----------------------------------------------------------------------===//

#if defined(__x86_64__)

namespace {

class MeasureOnHostTest : public ::testing::Test {
protected:
  static constexpr int64_t kSize = 1000;

  nsacc_rt_status measure(const Options &options) {
    times.assign(options.runs, -1);
    nsacc_rt_tensor tensor = {out.data(), NSACC_DTYPE_I32, 1, &kSize, nullptr};
    nsacc_rt_measure_options given = options.get();
    return nsacc_rt_measure(module, &tensor, 1, &given, times.data());
  }
  std::string fail(const Options &options) {
    EXPECT_EQ(measure(options), NSACC_RT_INVALID);
    EXPECT_EQ(out.back(), -1) << "something ran";
    return nsacc_rt_message();
  }

  Module module{makeHostPackage(), NSACC_RT_HOST};
  std::vector<int32_t> out = std::vector<int32_t>(kSize, -1);
  std::vector<double> times;
};

} // namespace

TEST_F(MeasureOnHostTest, TimesRuns) {
  for (uint32_t threads : {0, 1, 2}) {
    ASSERT_EQ(measure({.runs = 4, .launches = 3, .threads = threads}),
              NSACC_RT_OK)
        << nsacc_rt_message();
    EXPECT_THAT(times, Each(::testing::Gt(0.0)));
  }
  EXPECT_EQ(out.back(), kSize - 1);
}

TEST_F(MeasureOnHostTest, HasNothingOfADevice) {
  EXPECT_EQ(fail({.runs = 1, .launches = 1, .flushBytes = 64}),
            "options.flush_bytes is 64, but the module is the host's, expected "
            "0: each core has caches of its own, which writing memory doesn't "
            "empty");
  EXPECT_EQ(fail({.runs = 1, .launches = 1, .graph = 7}),
            "options.graph is 7, but the module is the host's, expected 0: "
            "there are CUDA graphs on devices only");
  EXPECT_EQ(fail({.runs = 0, .launches = 1}),
            "options.runs is 0, expected at least 1");
  EXPECT_EQ(fail({.runs = 1, .launches = 0}),
            "options.launches is 0, expected at least 1");
}

TEST_F(MeasureOnHostTest, TensorsHaveToFit) {
  out.clear();
  out.shrink_to_fit();
  EXPECT_EQ(measure({.runs = 1, .launches = 1}), NSACC_RT_INVALID);
  EXPECT_STREQ(nsacc_rt_message(), "result 'out': its data is a null pointer");
}

#endif
