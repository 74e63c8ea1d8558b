//===- RTTest.h - Modules and tensors for tests of the runtime -*- C++ -*-==//

#ifndef NSACC_TEST_UNITTESTS_RT_RTTEST_H
#define NSACC_TEST_UNITTESTS_RT_RTTEST_H

#include "ExamplePackage.h"
#include "FakeCUDA.h"
#include "nsacc-rt/nsacc_rt.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nsacc::rt {

/// A module of a package; fails the test if it can't be loaded.
class Module {
public:
  explicit Module(const Package &package, int device = 0);
  ~Module() { nsacc_rt_unload(module); }
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;
  operator nsacc_rt_module *() const { return module; }

private:
  nsacc_rt_module *module = nullptr;
};

/// Inputs and results of makePackage's kernel. Addresses are made up.
struct Tensors {
  Tensors(int64_t batches, int64_t tokens);
  Tensors(const Tensors &) = delete;

  int64_t qShape[3], oShape[3];
  int64_t qStrides[3];
  nsacc_rt_tensor tensors[2];
};

class RTTest : public ::testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;
  /// Memory that is allocated now may stay until the process ends.
  void expectKept();

  static void expectLaunch(nsacc_rt_module *module, const Tensors &tensors,
                           nsacc_rt_stream stream = nullptr);
  /// The error message of the launch.
  static std::string failLaunch(nsacc_rt_module *module, const Tensors &tensors,
                                nsacc_rt_status status = NSACC_RT_INVALID);

private:
  size_t keptBytes = 0, keptHandles = 0;
  unsigned keptContexts = 0;
};

} // namespace nsacc::rt

#endif // NSACC_TEST_UNITTESTS_RT_RTTEST_H
