//===- ThreadTest.cpp - Many threads, two devices -------------------------===//

#include "RTTest.h"
#include <thread>

using namespace nsacc::rt;

using ThreadTest = RTTest;

template <typename Body> static void runThreads(unsigned count, Body body) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i)
    threads.emplace_back([&, i] { body(i); });
  for (std::thread &thread : threads)
    thread.join();
}

// The kernels of one run stay together on a stream.
TEST_F(ThreadTest, ShareAStream) {
  Module module(makePackage());
  runThreads(8, [&](unsigned index) {
    for (int64_t i = 0; i < 200; ++i)
      expectLaunch(module, Tensors(1 + index, 32 + i));
  });
  const auto &launches = fakecuda::getLaunches();
  ASSERT_EQ(launches.size(), 8u * 200 * 2);
  for (size_t i = 0; i < launches.size(); i += 2) {
    EXPECT_EQ(launches[i].kernel, "fill");
    EXPECT_EQ(launches[i + 1].kernel, "scale");
    EXPECT_EQ(launches[i].grid[1], launches[i + 1].grid[0]);
  }
}

TEST_F(ThreadTest, HaveStreams) {
  Module module(makePackage());
  std::vector<driver::Stream> streams;
  for (int i = 0; i < 8; ++i)
    streams.push_back(fakecuda::createStream(0));
  runThreads(8, [&](unsigned index) {
    for (int64_t i = 0; i < 200; ++i)
      expectLaunch(module, Tensors(1, 32 + i), streams[index]);
  });
  EXPECT_EQ(fakecuda::getLaunches().size(), 8u * 200 * 2);
  for (driver::Stream stream : streams)
    fakecuda::destroyStream(stream);
}

TEST_F(ThreadTest, HaveDevices) {
  Package package = makePackage();
  TargetCode &code = package.variants[0].targets[0];
  code.architecture = "sm_80";
  std::string &ptx = package.images[0].ptx;
  ptx.replace(ptx.find("sm_90a"), 6, "sm_80 ");
  Module first(package, 0), second(package, 1);
  runThreads(4, [&](unsigned index) {
    for (int i = 0; i < 100; ++i)
      expectLaunch(index % 2 ? second : first, Tensors(1, 64));
  });
  unsigned onSecond = 0;
  for (const fakecuda::Launch &launch : fakecuda::getLaunches())
    onSecond += launch.context != fakecuda::getLaunches()[0].context;
  EXPECT_EQ(onSecond, 400u);
}

TEST_F(ThreadTest, LoadAndUnload) {
  runThreads(4, [&](unsigned) {
    for (int i = 0; i < 20; ++i) {
      Module module(makePackage());
      expectLaunch(module, Tensors(1, 64));
    }
  });
}
