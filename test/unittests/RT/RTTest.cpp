//===- RTTest.cpp - Modules and tensors for tests of the runtime ----------===//

#include "RTTest.h"

using namespace nsacc::rt;

Module::Module(const Package &package, int device) {
  std::string bytes = writePackage(package);
  EXPECT_EQ(nsacc_rt_load(bytes.data(), bytes.size(), device, &module),
            NSACC_RT_OK)
      << nsacc_rt_message();
}

Tensors::Tensors(int64_t batches, int64_t tokens)
    : qShape{batches, tokens, 64}, oShape{batches, tokens, 64},
      qStrides{tokens * 64, 64, 1} {
  tensors[0] = {reinterpret_cast<void *>(UINT64_C(1) << 40), NSACC_DTYPE_BF16,
                3, qShape, qStrides};
  tensors[1] = {reinterpret_cast<void *>(0x20000), NSACC_DTYPE_F32, 3, oShape,
                nullptr};
}

void RTTest::SetUp() {
  fakecuda::setCurrent(-1);
  fakecuda::reset();
  expectKept();
}

void RTTest::expectKept() {
  keptBytes = fakecuda::getAllocatedBytes();
  keptHandles = fakecuda::countHandles();
  keptContexts = fakecuda::getRetained();
}

void RTTest::TearDown() {
  EXPECT_EQ(fakecuda::getMisuse(), "");
  EXPECT_EQ(fakecuda::getAllocatedBytes(), keptBytes) << "memory leaked";
  EXPECT_EQ(fakecuda::countHandles(), keptHandles)
      << "streams, events or graphs leaked";
  EXPECT_EQ(fakecuda::getRetained(), keptContexts) << "contexts leaked";
}

void RTTest::expectLaunch(nsacc_rt_module *module, const Tensors &tensors,
                          nsacc_rt_stream stream) {
  EXPECT_EQ(nsacc_rt_launch(module, tensors.tensors, 2, stream), NSACC_RT_OK)
      << nsacc_rt_message();
}

std::string RTTest::failLaunch(nsacc_rt_module *module, const Tensors &tensors,
                               nsacc_rt_status status) {
  size_t before = fakecuda::getLaunches().size();
  EXPECT_EQ(nsacc_rt_launch(module, tensors.tensors, 2, nullptr), status);
  EXPECT_EQ(fakecuda::getLaunches().size(), before) << "something was launched";
  return nsacc_rt_message();
}
