//===- WorkspaceTest.cpp - Workspaces share memory ------------------------===//

#include "RTTest.h"

using namespace nsacc::rt;

using WorkspaceTest = RTTest;

static const uint64_t kNoAddress = 0;

/// Addresses of the workspaces of @scale after a launch.
static std::pair<uint64_t, uint64_t> launch(Module &module, int64_t batches,
                                            int64_t tokens) {
  EXPECT_EQ(
      nsacc_rt_launch(module, Tensors(batches, tokens).tensors, 2, nullptr),
      NSACC_RT_OK)
      << nsacc_rt_message();
  for (const fakecuda::Launch &each : fakecuda::getLaunches())
    if (each.kernel == "scale")
      return {each.getWord(0), each.getWord(5)};
  return {kNoAddress, kNoAddress};
}

TEST_F(WorkspaceTest, LieApartWhileTheyLive) {
  Module module(makePackage());
  auto [first, second] = launch(module, 2, 100);
  EXPECT_EQ(first % 256, 0u);
  EXPECT_EQ(second - first, 1024u); // 800 bytes, aligned
  EXPECT_EQ(nsacc_rt_workspace_bytes(module), 1024 + 512);
}

TEST_F(WorkspaceTest, ShareMemoryOtherwise) {
  Package package = makePackage();
  TargetCode &code = package.variants[0].targets[0];
  code.plan.workspaces[0].last = 0;
  code.plan.workspaces.push_back({4, DType::F32, {0, 1}, 1, 1});
  code.plan.launches[1].arguments[0].index = 4;
  Module module(package);
  auto [third, second] = launch(module, 2, 100);
  EXPECT_EQ(fakecuda::getLaunches()[0].getWord(7), second);
  EXPECT_EQ(third - second, 512u);
  EXPECT_EQ(nsacc_rt_workspace_bytes(module), 512 + 1024);
}

TEST_F(WorkspaceTest, OfNothingHaveAnAddress) {
  Module module(makePackage());
  auto [first, second] = launch(module, 2, 0);
  EXPECT_TRUE(fakecuda::isDeviceAddress(first));
  EXPECT_NE(first, second);
}

TEST_F(WorkspaceTest, MayNotBeNegative) {
  Package package = makePackage();
  package.variants[0].targets[0].plan.steps[5].value = -1;
  package.variants[0].targets[0].plan.workspaces[1].sizes = {5};
  Module module(package);
  EXPECT_EQ(failLaunch(module, Tensors(1, 64)),
            "the launch plan asks for a buffer of size -1");
}

TEST_F(WorkspaceTest, MayBeTooLarge) {
  Package package = makePackage();
  package.variants[0].targets[0].plan.steps[5].value = INT64_MAX / 8;
  package.variants[0].targets[0].plan.workspaces[1].sizes = {5};
  Module module(package);
  EXPECT_EQ(failLaunch(module, Tensors(1, 64)),
            "these sizes are too large: the launch plan leaves 64 bits");
}
