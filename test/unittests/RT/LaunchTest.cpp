//===- LaunchTest.cpp - Launches of a plan --------------------------------===//

#include "RTTest.h"
#include <ctime>

using namespace nsacc::rt;
using ::testing::AllOf;
using ::testing::HasSubstr;

using LaunchTest = RTTest;

TEST_F(LaunchTest, GivesKernelsTheirParameters) {
  Module module(makePackage());
  expectLaunch(module, Tensors(3, 100));
  const auto &launches = fakecuda::getLaunches();
  ASSERT_EQ(launches.size(), 2u);
  const fakecuda::Launch &fill = launches[0];
  EXPECT_EQ(fill.kernel, "fill");
  EXPECT_THAT(fill.grid, ::testing::ElementsAre(4, 3, 1));
  EXPECT_EQ(fill.threads, 128u);
  EXPECT_EQ(fill.sharedBytes, 1024u);
  // o: address, sizes, strides.
  uint64_t words[] = {0x20000, 3, 100, 64, 6400, 64, 1};
  for (size_t i = 0; i < 7; ++i)
    EXPECT_EQ(fill.getWord(i), words[i]) << i;
  // The workspace: address, sizes, strides; and T.
  EXPECT_TRUE(fakecuda::isDeviceAddress(fill.getWord(7)));
  uint64_t workspace[] = {3, 100, 100, 1, 100};
  for (size_t i = 0; i < 5; ++i)
    EXPECT_EQ(fill.getWord(8 + i), workspace[i]) << i;
  const fakecuda::Launch &scale = launches[1];
  EXPECT_THAT(scale.grid, ::testing::ElementsAre(3, 1, 1));
  EXPECT_EQ(scale.getWord(0), fill.getWord(7));
  EXPECT_EQ(scale.getWord(8), 1000u);
  EXPECT_EQ(scale.parameters[8].size(), 4u);
  EXPECT_EQ(*reinterpret_cast<const uint32_t *>(scale.getWord(9)), 0u)
      << "the counter isn't zero";
  EXPECT_EQ(*reinterpret_cast<const uint32_t *>(scale.getWord(11)), 0u)
      << "the flag is up";
  EXPECT_NE(scale.getWord(9), scale.getWord(11));
  EXPECT_EQ(nsacc_rt_launch_count(module), 2u);
}

TEST_F(LaunchTest, NeitherAllocatesNorWaitsAgain) {
  Module module(makePackage());
  expectLaunch(module, Tensors(3, 100));
  fakecuda::reset();
  for (int64_t tokens : {100, 50, 1, 99})
    expectLaunch(module, Tensors(3, tokens));
  EXPECT_EQ(fakecuda::countAllocationsAndWaits(), 0u);
  expectLaunch(module, Tensors(3, 1000));
  EXPECT_EQ(fakecuda::countCalls("cuMemAlloc_v2"), 1u);
}

TEST_F(LaunchTest, ReservesBeforehand) {
  Module module(makePackage());
  Tensors tensors(3, 100);
  tensors.tensors[0].data = tensors.tensors[1].data = nullptr;
  ASSERT_EQ(nsacc_rt_reserve(module, tensors.tensors, 2, nullptr), NSACC_RT_OK)
      << nsacc_rt_message();
  EXPECT_EQ(fakecuda::getLaunches().size(), 0u);
  fakecuda::reset();
  expectLaunch(module, Tensors(3, 100));
  EXPECT_EQ(fakecuda::countAllocationsAndWaits(), 0u);
}

TEST_F(LaunchTest, EmptyGridsRunNothing) {
  Module module(makePackage());
  expectLaunch(module, Tensors(0, 100));
  EXPECT_EQ(fakecuda::getLaunches().size(), 0u);
  // T = 0: only the launch whose grid doesn't depend on T.
  expectLaunch(module, Tensors(2, 0));
  ASSERT_EQ(fakecuda::getLaunches().size(), 1u);
  EXPECT_EQ(fakecuda::getLaunches()[0].kernel, "scale");
}

TEST_F(LaunchTest, KernelsWithACounterTakeTheirPoints) {
  Module module(makePackage());
  expectLaunch(module, Tensors(1000, 1));
  const auto &launches = fakecuda::getLaunches();
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_THAT(launches[0].grid, ::testing::ElementsAre(1, 1000, 1));
  EXPECT_THAT(launches[1].grid, ::testing::ElementsAre(132, 1, 1));
}

TEST_F(LaunchTest, CountersHaveAsManyBlocksAsTheDeviceRuns) {
  fakecuda::setResidentBlocks(2);
  Module module(makePackage());
  expectLaunch(module, Tensors(1000, 1));
  EXPECT_THAT(fakecuda::getLaunches().at(1).grid,
              ::testing::ElementsAre(264, 1, 1));
  fakecuda::setResidentBlocks(1);
}

TEST_F(LaunchTest, ResultsHaveMemoryOfTheirOwn) {
  Module module(makePackage());
  Tensors tensors(3, 100);
  int64_t dense[] = {6400, 64, 1};
  std::copy(std::begin(dense), std::end(dense), tensors.qStrides);
  // 38400 bytes of q, 76800 of o.
  for (uint64_t first : {0x20000 - 38384, 0x20000, 0x20000 + 76784}) {
    tensors.tensors[0].data = reinterpret_cast<void *>(first);
    EXPECT_EQ(failLaunch(module, tensors),
              "result 'o': its memory is in part that of input 'q', which is "
              "still needed when it's written");
  }
  for (uint64_t first : {0x20000 - 38400, 0x20000 + 76800}) {
    tensors.tensors[0].data = reinterpret_cast<void *>(first);
    expectLaunch(module, tensors);
  }
}

TEST_F(LaunchTest, LaunchesClusters) {
  Package package = makePackage();
  package.variants[0].targets[0].plan.launches[0].cluster = 2;
  Module module(package);
  expectLaunch(module, Tensors(1, 64));
  EXPECT_EQ(fakecuda::getLaunches()[0].cluster, 2u);
  EXPECT_THAT(failLaunch(module, Tensors(1, 96)),
              HasSubstr("a grid of 3 blocks that clusters of 2 don't divide"));
}

// A device takes at most 65535 blocks along the last axis.
TEST_F(LaunchTest, LaunchesMoreBlocksInParts) {
  Package package = makePackage();
  const std::string map = ".b8 map[128]";
  std::string &ptx = package.images[0].ptx;
  ptx.insert(ptx.find(map) + map.size(), ", .param .u32 first");
  Launch &fill = package.variants[0].targets[0].plan.launches[0];
  std::swap(fill.grid[1], fill.grid[2]);
  fill.extra.push_back({ExtraParameter::Kind::FirstZ});
  Module module(package);
  for (int64_t rows : {1, 65535, 65536, 131070, 131071}) {
    fakecuda::reset();
    expectLaunch(module, Tensors(rows, 1));
    int64_t first = 0;
    for (const fakecuda::Launch &launch : fakecuda::getLaunches()) {
      if (launch.kernel != "fill")
        continue;
      ASSERT_EQ(launch.parameters.back().size(), 4u);
      EXPECT_EQ(launch.getWord(launch.parameters.size() - 1),
                static_cast<uint64_t>(first));
      EXPECT_LE(launch.grid[2], 65535u);
      first += launch.grid[2];
    }
    EXPECT_EQ(first, rows);
  }
  Package other = makePackage();
  Launch &whole = other.variants[0].targets[0].plan.launches[0];
  std::swap(whole.grid[1], whole.grid[2]);
  Module notInParts(other);
  EXPECT_THAT(failLaunch(notInParts, Tensors(65536, 1)),
              HasSubstr("a grid of 65536 blocks along dimension 2"));
}

TEST_F(LaunchTest, DependentLaunchesFollowTheirOwn) {
  Package package = makePackage();
  package.variants[0].targets[0].plan.launches[1].isDependent = true;
  Module module(package);
  expectLaunch(module, Tensors(2, 64));
  // T = 0: the kernel before it belongs to another owner.
  expectLaunch(module, Tensors(2, 0));
  const auto &launches = fakecuda::getLaunches();
  ASSERT_EQ(launches.size(), 3u);
  EXPECT_FALSE(launches[0].isDependent);
  EXPECT_TRUE(launches[1].isDependent);
  EXPECT_EQ(launches[2].kernel, "scale");
  EXPECT_FALSE(launches[2].isDependent);
}

TEST_F(LaunchTest, DependentLaunchesOfClusters) {
  Package package = makePackage();
  TargetCode &code = package.variants[0].targets[0];
  std::swap(code.plan.launches[0], code.plan.launches[1]);
  code.plan.workspaces[1].first = 0;
  code.plan.launches[1].isDependent = true;
  code.plan.launches[1].cluster = 2;
  Module module(package);
  expectLaunch(module, Tensors(2, 64));
  EXPECT_TRUE(fakecuda::getLaunches()[1].isDependent);
  EXPECT_EQ(fakecuda::getLaunches()[1].cluster, 2u);
}

TEST_F(LaunchTest, UsesTheCallersStream) {
  Module module(makePackage());
  driver::Stream stream = fakecuda::createStream(0);
  expectLaunch(module, Tensors(1, 64));
  expectLaunch(module, Tensors(1, 64), stream);
  const auto &launches = fakecuda::getLaunches();
  ASSERT_EQ(launches.size(), 4u);
  EXPECT_EQ(launches[0].stream, nullptr);
  EXPECT_EQ(launches[2].stream, stream);
  EXPECT_NE(launches[0].getWord(7), launches[2].getWord(7))
      << "two streams share a workspace";
  EXPECT_NE(launches[1].getWord(9), launches[3].getWord(9))
      << "two streams share a counter";
  fakecuda::destroyStream(stream);
}

TEST_F(LaunchTest, RefusesWrongTensors) {
  Module module(makePackage());
  auto fail = [&](auto change) {
    Tensors tensors(2, 64);
    change(tensors);
    return failLaunch(module, tensors);
  };
  std::pair<nsacc_dtype, const char *> others[] = {
      {NSACC_DTYPE_BOOL, "bool"}, {NSACC_DTYPE_I32, "i32"},
      {NSACC_DTYPE_I64, "i64"},   {NSACC_DTYPE_F16, "f16"},
      {NSACC_DTYPE_F32, "f32"},   {NSACC_DTYPE_F64, "f64"}};
  for (auto [dtype, name] : others)
    EXPECT_EQ(fail([=](Tensors &t) { t.tensors[0].dtype = dtype; }),
              std::string("input 'q': expected elements of bf16, found ") +
                  name);
  for (nsacc_dtype none : {-1, 0, NSACC_DTYPE_F64 + 1, 99})
    EXPECT_EQ(fail([&](Tensors &t) { t.tensors[0].dtype = none; }),
              "input 'q': expected elements of bf16, found type " +
                  std::to_string(none));
  EXPECT_EQ(fail([](Tensors &t) { t.tensors[1].rank = 2; }),
            "result 'o': expected 3 dimensions, found 2");
  EXPECT_EQ(fail([](Tensors &t) { t.qShape[2] = 32; }),
            "input 'q': size 2 of [2, 64, 32] is 32; this package was compiled "
            "for 64");
  EXPECT_EQ(fail([](Tensors &t) { t.oShape[0] = 3; }),
            "result 'o': size 0 is 3; input 'q' has B = 2");
  EXPECT_EQ(fail([](Tensors &t) { t.oShape[1] = 65; }),
            "size 1 of result 'o' is 65, expected 64");
  EXPECT_THAT(fail([](Tensors &t) { t.qShape[1] = INT64_C(1) << 29; }),
              HasSubstr("sizes have to be from 0 to 2^29 - 1"));
  EXPECT_THAT(fail([](Tensors &t) { t.qShape[1] = -1; }),
              HasSubstr("size 1 is -1"));
  EXPECT_EQ(fail([](Tensors &t) { t.qStrides[2] = 2; }),
            "input 'q': dimension 2 has stride 2; this package was compiled "
            "for stride 1: pass a contiguous tensor");
  EXPECT_THAT(fail([](Tensors &t) {
                t.tensors[0].data = reinterpret_cast<void *>(0x10001);
              }),
              HasSubstr("isn't a multiple of an element's 2 bytes"));
  EXPECT_THAT(fail([](Tensors &t) { t.tensors[0].shape = nullptr; }),
              HasSubstr("expected a shape, found a null pointer"));
  EXPECT_EQ(nsacc_rt_launch(module, Tensors(2, 64).tensors, 1, nullptr),
            NSACC_RT_INVALID);
  EXPECT_STREQ(nsacc_rt_message(),
               "expected 2 tensors, inputs and then results, found 1");
  nsacc_rt_measure_options options = {};
  options.runs = options.launches = 1;
  double milliseconds;
  auto expectNull = [](nsacc_rt_status status) {
    EXPECT_EQ(status, NSACC_RT_INVALID);
    EXPECT_STREQ(nsacc_rt_message(), "tensors is a null pointer");
  };
  expectNull(nsacc_rt_launch(module, nullptr, 2, nullptr));
  expectNull(nsacc_rt_reserve(module, nullptr, 2, nullptr));
  expectNull(nsacc_rt_measure(module, nullptr, 2, &options, &milliseconds));
}

TEST_F(LaunchTest, RefusesGridsThatAreTooLarge) {
  Module module(makePackage());
  EXPECT_THAT(failLaunch(module, Tensors(70000, 1)),
              AllOf(HasSubstr("kernel 'fill'"),
                    HasSubstr("70000 blocks along dimension 1")));
}

TEST_F(LaunchTest, RefusesNumbersThatMakeNoSense) {
  Package package = makePackage();
  package.variants[0].targets[0].plan.steps[2].value = 0;
  Module zero(package);
  EXPECT_THAT(failLaunch(zero, Tensors(1, 1)), HasSubstr("divides by zero"));
  package.variants[0].targets[0].plan.steps[3].kind = Step::Kind::Mul;
  package.variants[0].targets[0].plan.steps[2].value = INT64_MAX;
  Module large(package);
  EXPECT_THAT(failLaunch(large, Tensors(1, 2)), HasSubstr("too large"));
}

TEST_F(LaunchTest, TellsWhatTheDriverSays) {
  Module module(makePackage());
  fakecuda::failCall("cuLaunchKernelEx", 1);
  EXPECT_EQ(failLaunch(module, Tensors(1, 32), NSACC_RT_DRIVER),
            "launching kernel 'fill': CUDA_ERROR_INVALID_VALUE (of the fake "
            "driver)");
  expectLaunch(module, Tensors(1, 1000));
  // One and a half times the size doesn't fit, but the needed size does.
  fakecuda::failCall("cuMemAlloc_v2", driver::results::outOfMemory);
  expectLaunch(module, Tensors(1, 1100));
  fakecuda::failCall("cuMemAlloc_v2", 999);
  EXPECT_THAT(failLaunch(module, Tensors(200, 320), NSACC_RT_DRIVER),
              HasSubstr("CUDA error 999"));
}

/// Processor time of this thread.
static double getSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

// A kernel's share of a launch costs at most 5 µs on the host, including the
// fake driver's recording.
TEST_F(LaunchTest, IsCheap) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "sanitizers take their time";
#endif
#endif
  Module module(makePackage());
  Tensors tensors(4, 128);
  expectLaunch(module, tensors);
  double best = 1;
  for (int round = 0; round < 50; ++round) {
    fakecuda::reset();
    double start = getSeconds();
    for (int i = 0; i < 100; ++i)
      nsacc_rt_launch(module, tensors.tensors, 2, nullptr);
    best = std::min(best, (getSeconds() - start) / 200);
  }
  RecordProperty("nanoseconds_per_kernel", static_cast<int>(best * 1e9));
  printf("%.0f ns for a kernel\n", best * 1e9);
  EXPECT_LT(best, 5e-6);
}
