//===- FailureTest.cpp - Failures that kernels report ---------------------===//

#include "RTTest.h"
#include "nsacc-rt/failures.h"

using namespace nsacc::rt;

using FailureTest = RTTest;

/// Writes a failure into a launch's record, as its kernel does.
static void fail(size_t launch, uint64_t assertion,
                 std::initializer_list<int64_t> values) {
  auto *record = reinterpret_cast<uint64_t *>(
      fakecuda::getLaunches().at(launch).parameters.size() == 12
          ? fakecuda::getLaunches()[launch].getWord(10)
          : 0);
  ASSERT_NE(record, nullptr);
  std::copy(values.begin(), values.end(), record + NSACC_RT_FAILURE_VALUES);
  record[NSACC_RT_FAILURE_ASSERTION] = assertion;
  record[NSACC_RT_FAILURE_COUNT] = values.size() + 1;
}

TEST_F(FailureTest, IsToldOnce) {
  Module module(makePackage());
  expectLaunch(module, Tensors(1, 64));
  EXPECT_EQ(nsacc_rt_check(module, nullptr), NSACC_RT_OK);
  fail(1, 1, {3, -7});
  EXPECT_EQ(nsacc_rt_check(module, nullptr), NSACC_RT_FAILED);
  EXPECT_STREQ(nsacc_rt_message(), "table 'doc' is read at -7 in row 3");
  EXPECT_EQ(nsacc_rt_check(module, nullptr), NSACC_RT_OK);
  EXPECT_STREQ(nsacc_rt_message(), "");
}

TEST_F(FailureTest, IsToldAtTheNextLaunchAtTheLatest) {
  Module module(makePackage());
  expectLaunch(module, Tensors(1, 64));
  fail(1, 0, {});
  EXPECT_EQ(failLaunch(module, Tensors(1, 64), NSACC_RT_FAILED), "no reason");
  EXPECT_EQ(fakecuda::countCalls("cuStreamSynchronize"), 1u);
  expectLaunch(module, Tensors(1, 64));
}

TEST_F(FailureTest, IsOfItsStream) {
  Module module(makePackage());
  driver::Stream stream = fakecuda::createStream(0);
  expectLaunch(module, Tensors(1, 64), stream);
  fail(1, 0, {});
  EXPECT_EQ(nsacc_rt_check(module, nullptr), NSACC_RT_OK);
  EXPECT_EQ(nsacc_rt_check(module, stream), NSACC_RT_FAILED);
  fakecuda::destroyStream(stream);
}

TEST_F(FailureTest, IsFoundInGraphs) {
  Module module(makePackage());
  driver::Stream stream = fakecuda::createStream(0);
  fakecuda::beginCapture(stream);
  expectLaunch(module, Tensors(1, 64), stream);
  fakecuda::endCapture(stream);
  fail(1, 0, {});
  EXPECT_EQ(nsacc_rt_check(module, nullptr), NSACC_RT_FAILED);
  fakecuda::destroyStream(stream);
  // Recorded objects aren't released.
  expectKept();
}

TEST_F(FailureTest, MayBeUnknown) {
  Module module(makePackage());
  expectLaunch(module, Tensors(1, 64));
  fail(1, 77, {});
  EXPECT_EQ(nsacc_rt_check(module, nullptr), NSACC_RT_FAILED);
  EXPECT_STREQ(
      nsacc_rt_message(),
      "a kernel failed for a reason that its package doesn't have: 77");
}
