//===- CaptureTest.cpp - Launches into CUDA graphs ------------------------===//

#include "RTTest.h"

using namespace nsacc::rt;
using ::testing::HasSubstr;

namespace {

class CaptureTest : public RTTest {
protected:
  void SetUp() override {
    RTTest::SetUp();
    stream = fakecuda::createStream(0);
  }
  void TearDown() override {
    fakecuda::destroyStream(stream);
    // Recorded objects aren't released.
    expectKept();
    RTTest::TearDown();
  }

  driver::Stream stream;
};

} // namespace

// Captures a new stream, as torch.cuda.graph does.
TEST_F(CaptureTest, CapturesOnANewStream) {
  Module module(makePackage());
  for (int mode : {0, 1, 2}) {
    fakecuda::beginCapture(stream, mode);
    expectLaunch(module, Tensors(1, 64), stream);
    EXPECT_TRUE(fakecuda::endCapture(stream)) << "mode " << mode;
  }
  ASSERT_EQ(fakecuda::getLaunches().size(), 6u);
  EXPECT_TRUE(fakecuda::getLaunches()[0].isCaptured);
  EXPECT_EQ(fakecuda::countCalls("cuStreamSynchronize"), 0u);
}

TEST_F(CaptureTest, CapturesDependentLaunches) {
  Package package = makePackage();
  package.variants[0].targets[0].plan.launches[1].isDependent = true;
  Module module(package);
  fakecuda::beginCapture(stream);
  expectLaunch(module, Tensors(1, 64), stream);
  expectLaunch(module, Tensors(1, 64), stream);
  EXPECT_TRUE(fakecuda::endCapture(stream));
  const auto &launches = fakecuda::getLaunches();
  ASSERT_EQ(launches.size(), 4u);
  EXPECT_TRUE(launches[1].isDependent);
  EXPECT_TRUE(launches[3].isDependent);
  // The older function fails if edges have data.
  EXPECT_EQ(fakecuda::countCalls("cuStreamGetCaptureInfo_v2"), 0u);
}

TEST_F(CaptureTest, GraphsShareNothing) {
  Module module(makePackage());
  expectLaunch(module, Tensors(1, 64), stream);
  for (int i = 0; i < 2; ++i) {
    fakecuda::beginCapture(stream);
    expectLaunch(module, Tensors(1, 64), stream);
    fakecuda::endCapture(stream);
  }
  const auto &launches = fakecuda::getLaunches();
  for (size_t word : {7}) {
    EXPECT_NE(launches[0].getWord(word), launches[2].getWord(word));
    EXPECT_NE(launches[2].getWord(word), launches[4].getWord(word));
  }
}

// Memory that a recorded launch uses isn't freed when a later one needs more.
TEST_F(CaptureTest, KeepsWhatWasRecorded) {
  Module module(makePackage());
  fakecuda::beginCapture(stream);
  expectLaunch(module, Tensors(1, 64), stream);
  expectLaunch(module, Tensors(10, 6400), stream);
  fakecuda::endCapture(stream);
  EXPECT_TRUE(fakecuda::isDeviceAddress(fakecuda::getLaunches()[0].getWord(7)));
  EXPECT_EQ(fakecuda::countCalls("cuMemFree_v2"), 0u);
}

// Its graphs may run after the module is unloaded.
TEST_F(CaptureTest, KeepsModulesThatWereRecorded) {
  {
    Module module(makePackage());
    fakecuda::beginCapture(stream);
    expectLaunch(module, Tensors(1, 64), stream);
    fakecuda::endCapture(stream);
  }
  EXPECT_EQ(fakecuda::countCalls("cuModuleUnload"), 0u);
  EXPECT_EQ(fakecuda::countCalls("cuMemFree_v2"), 0u);
  {
    Module module(makePackage());
    expectLaunch(module, Tensors(1, 64));
  }
  EXPECT_EQ(fakecuda::countCalls("cuModuleUnload"), 1u);
}

TEST_F(CaptureTest, LetsOtherStreamsGrow) {
  Module module(makePackage());
  fakecuda::beginCapture(stream);
  expectLaunch(module, Tensors(1, 64), stream);
  expectLaunch(module, Tensors(4, 64));
  expectLaunch(module, Tensors(4, 6400));
  EXPECT_TRUE(fakecuda::endCapture(stream));
}

TEST_F(CaptureTest, ModulesCanBeLoadedMeanwhile) {
  fakecuda::beginCapture(stream);
  {
    Module module(makePackage());
  }
  EXPECT_TRUE(fakecuda::endCapture(stream));
}

TEST_F(CaptureTest, TellsOfCapturesThatFailed) {
  Module module(makePackage());
  fakecuda::beginCapture(stream);
  void *data = nullptr;
  EXPECT_EQ(nsacc_rt_allocate(0, 16, &data), NSACC_RT_DRIVER);
  EXPECT_EQ(nsacc_rt_launch(module, Tensors(1, 64).tensors, 2, stream),
            NSACC_RT_DRIVER);
  EXPECT_THAT(nsacc_rt_message(), HasSubstr("a capture has failed"));
  EXPECT_FALSE(fakecuda::endCapture(stream));
  EXPECT_THAT(fakecuda::getMisuse(), HasSubstr("during a capture"));
  fakecuda::reset();
}
