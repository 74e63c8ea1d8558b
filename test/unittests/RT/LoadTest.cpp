//===- LoadTest.cpp - Devices and modules ---------------------------------===//

#include "RTTest.h"

using namespace nsacc::rt;
using ::testing::AllOf;
using ::testing::HasSubstr;

using LoadTest = RTTest;

static std::string failLoad(const Package &package, nsacc_rt_status status,
                            int device = 0) {
  std::string bytes = writePackage(package);
  nsacc_rt_module *module = nullptr;
  EXPECT_EQ(nsacc_rt_load(bytes.data(), bytes.size(), device, &module), status);
  EXPECT_EQ(module, nullptr);
  return nsacc_rt_message();
}

/// Exits with 0 if the driver is refused at first and accepted when it is
/// newer.
[[noreturn]] static void openOldDriver() {
  int count = 0;
  fakecuda::setVersion(11080);
  nsacc_rt_status status = nsacc_rt_device_count(&count);
  fprintf(stderr, "%s\n", nsacc_rt_message());
  fakecuda::setVersion(13000);
  exit(status == NSACC_RT_UNAVAILABLE &&
               nsacc_rt_device_count(&count) == NSACC_RT_OK && count == 2
           ? 0
           : 1);
}

// In a separate process, which hasn't opened the driver yet.
TEST_F(LoadTest, ADriverCanBeTooOld) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(openOldDriver(), ::testing::ExitedWithCode(0),
              "CUDA 11.8: update it to one for CUDA 12.0 or newer");
}

TEST_F(LoadTest, TellsOfDevices) {
  nsacc_rt_device_info info;
  ASSERT_EQ(nsacc_rt_device(0, &info), NSACC_RT_OK);
  EXPECT_STREQ(info.name, "Fake H200");
  EXPECT_EQ(info.major, 9);
  EXPECT_EQ(info.multiprocessors, 132);
  EXPECT_EQ(info.shared_bytes, 227 << 10);
  EXPECT_EQ(info.shared_bytes_of_multiprocessor, 228 << 10);
  EXPECT_EQ(info.registers_of_multiprocessor, 64 << 10);
  EXPECT_EQ(info.l2_bytes, 60 << 20);
  EXPECT_EQ(info.driver_version, 13000);
  EXPECT_EQ(nsacc_rt_device(2, &info), NSACC_RT_INVALID);
  EXPECT_STREQ(nsacc_rt_message(),
               "there is no device 2: this machine has 2, counted from 0");
}

TEST_F(LoadTest, TellsOfParameters) {
  Module module(makePackage());
  EXPECT_STREQ(nsacc_rt_kernel(module), "attend");
  EXPECT_STREQ(nsacc_rt_target(module), "sm_90a");
  ASSERT_EQ(nsacc_rt_parameter_count(module), 2u);
  nsacc_rt_parameter parameter;
  ASSERT_EQ(nsacc_rt_get_parameter(module, 1, &parameter), NSACC_RT_OK);
  EXPECT_STREQ(parameter.name, "o");
  EXPECT_EQ(parameter.dtype, NSACC_DTYPE_F32);
  EXPECT_EQ(parameter.rank, 3);
  EXPECT_TRUE(parameter.is_result);
  EXPECT_EQ(nsacc_rt_parameter_size(module, 0, 2), 64);
  EXPECT_EQ(nsacc_rt_parameter_size(module, 0, 1), -1);
  EXPECT_EQ(nsacc_rt_get_parameter(module, 2, &parameter), NSACC_RT_INVALID);
}

TEST_F(LoadTest, ChoosesTheCodeForTheDevice) {
  Package package = makePackage();
  TargetCode older = package.variants[0].targets[0];
  older.architecture = "sm_80";
  Image image = package.images[0];
  image.ptx.replace(image.ptx.find("sm_90a"), 6, "sm_80 ");
  package.images.push_back(image);
  for (Launch &launch : older.plan.launches)
    launch.image = 1;
  package.variants[0].targets.insert(package.variants[0].targets.begin(),
                                     older);
  Module hopper(package, 0), ampere(package, 1);
  EXPECT_STREQ(nsacc_rt_target(hopper), "sm_90a");
  EXPECT_STREQ(nsacc_rt_target(ampere), "sm_80");
  EXPECT_EQ(nsacc_rt_module_device(ampere), 1);
  // PTX runs on later devices, machine code doesn't.
  package.variants[0].targets.pop_back();
  package.images[1].cubin = fakecuda::makeMachineCode(package.images[1].ptx);
  fakecuda::reset();
  Module later(package, 0);
  EXPECT_STREQ(nsacc_rt_target(later), "sm_80");
  EXPECT_EQ(fakecuda::countCalls("cuModuleLoadDataEx"), 1u);
  expectLaunch(later, Tensors(1, 32));
  EXPECT_EQ(fakecuda::getLaunches()[0].parameters.size(), 14u)
      << "PTX's parameters are known";
}

TEST_F(LoadTest, RefusesOtherDevices) {
  EXPECT_THAT(failLoad(makePackage(), NSACC_RT_PACKAGE, 1),
              HasSubstr("has code for sm_90a; this device is sm_80"));
  EXPECT_THAT(failLoad(makePackage(), NSACC_RT_INVALID, 5),
              HasSubstr("there is no device 5"));
  EXPECT_THAT(failLoad(makePackage(), NSACC_RT_INVALID, -3),
              HasSubstr("there is no device -3"));
}

TEST_F(LoadTest, LivesInTheCurrentContext) {
  fakecuda::setCurrent(0);
  Module module(makePackage(), -1);
  EXPECT_EQ(fakecuda::countCalls("cuDevicePrimaryCtxRetain"), 0u);
  fakecuda::setCurrent(1);
  expectLaunch(module, Tensors(1, 32));
  EXPECT_EQ(fakecuda::getLaunches().size(), 2u);
}

TEST_F(LoadTest, TellsWhatTheCompilerSaid) {
  Package package = makePackage();
  package.images[0].ptx = "nonsense";
  EXPECT_THAT(failLoad(package, NSACC_RT_DRIVER),
              AllOf(HasSubstr("the code of 'attend' for sm_90a"),
                    HasSubstr("ptxas fatal: no version")));
  package.images[0].ptx = ".version 9.0\n.entry other() {}";
  EXPECT_THAT(failLoad(package, NSACC_RT_DRIVER),
              HasSubstr("finding kernel 'fill'"));
}

TEST_F(LoadTest, FallsBackToPTX) {
  Package package = makePackage();
  package.images[0].cubin = fakecuda::makeMachineCode(package.images[0].ptx);
  fakecuda::failCall("cuModuleLoadDataEx", 209);
  Module module(package);
  EXPECT_EQ(fakecuda::countCalls("cuModuleLoadDataEx"), 2u);
}

TEST_F(LoadTest, RefusesTooMuchSharedMemory) {
  Package package = makePackage();
  package.variants[0].targets[0].plan.launches[1].sharedBytes = 300000;
  EXPECT_THAT(failLoad(package, NSACC_RT_PACKAGE),
              HasSubstr("kernel 'scale' needs 300000 bytes of shared memory; a "
                        "block of this device has 232448"));
}

TEST_F(LoadTest, RefusesDamagedPackages) {
  nsacc_rt_module *module = nullptr;
  EXPECT_EQ(nsacc_rt_load("x", 1, 0, &module), NSACC_RT_PACKAGE);
  EXPECT_EQ(nsacc_rt_load(nullptr, 0, 0, &module), NSACC_RT_INVALID);
}

TEST_F(LoadTest, HandlesMemory) {
  void *data = nullptr;
  int numbers[4] = {1, 2, 3, 4}, back[4] = {};
  ASSERT_EQ(nsacc_rt_allocate(1, sizeof(numbers), &data), NSACC_RT_OK);
  EXPECT_EQ(nsacc_rt_to_device(1, data, numbers, sizeof(numbers)), NSACC_RT_OK);
  EXPECT_EQ(nsacc_rt_to_host(1, back, data, sizeof(numbers)), NSACC_RT_OK);
  EXPECT_EQ(back[3], 4);
  EXPECT_EQ(nsacc_rt_synchronize(1, nullptr), NSACC_RT_OK);
  nsacc_rt_free(1, data);
  EXPECT_EQ(nsacc_rt_allocate(0, size_t(1) << 50, &data), NSACC_RT_MEMORY);
  EXPECT_EQ(data, nullptr);
}
