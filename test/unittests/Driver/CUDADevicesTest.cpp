//===- CUDADevicesTest.cpp - Programs on GPUs of every generation ---------===//

#include "CUDAProgramTest.h"
#include "NSATile/IR/NSATileOps.h"
#include "nsacc-rt/nsacc_rt.h"
#include "nsacc/Driver/Devices.h"
#include <gmock/gmock.h>

using namespace nsacc;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace {

class CUDADevicesTest : public CUDAProgramTest {
protected:
  /// Compiles, and records the devices.
  PackageCompiler noteDevices() {
    return [this](mlir::ModuleOp module, const cuda::Options &options) {
      const gpu::Device &device = options.device;
      made.push_back(device.name + ": " + device.code.architecture.str() +
                     " for " + device.getMachineArchitecture());
      sharedBytes = device.limits.sharedBytesOfBlock;
      return compileStandIn(module, options);
    };
  }

  /// Runs on tensors on a device.
  std::string runOn(int device) {
    std::vector<Tensor> tensors = makeInputs(makeSizes());
    tensors.push_back(Tensor::zeros(DType::F32, {2, 40, 4, 16}));
    moveTo(device, tensors);
    RunOptions options;
    options.device = DeviceStream{device, nullptr};
    llvm::ArrayRef<Tensor> all(tensors);
    llvm::Error error =
        program->runInto("", all.drop_back(), all.take_back(), options);
    for (const Tensor &tensor : tensors)
      nsacc_rt_free(device, tensor.getData());
    return error ? toString(std::move(error)) : "";
  }

  static std::string failTarget(const char *target) {
    CompileOptions options;
    llvm::Error error = resolveTarget(*findTarget(target), {}, options);
    return error ? toString(std::move(error)) : "no error";
  }

  std::vector<std::string> made;
  int64_t sharedBytes = 0;
};

} // namespace

TEST_F(CUDADevicesTest, EachGetsCodeForWhatItHas) {
  struct {
    const char *capability, *made;
    int64_t sharedKiB;
  } expected[] = {{"8.0", "Fake A100: sm_80 for sm_80", 163},
                  {"8.6", "Fake A40: sm_80 for sm_86", 99},
                  {"8.9", "Fake L40S: sm_80 for sm_89", 99},
                  {"9.0", "Fake H200: sm_90a for sm_90a", 227},
                  {"10.0", "Fake B200: sm_80 for sm_100", 227},
                  {"12.0", "Fake RTX 5090: sm_80 for sm_120", 99}};
  for (auto [capability, what, sharedKiB] : expected) {
    fakecuda::setDevices(capability);
    made.clear();
    compile(kFlash, "cuda", noteDevices());
    EXPECT_EQ(fail(makeInputs(makeSizes())), "no error");
    EXPECT_THAT(made, ElementsAre(what));
    EXPECT_EQ(sharedBytes, sharedKiB << 10);
    EXPECT_FALSE(fakecuda::getLaunches().empty());
    EXPECT_EQ(program->getTargetName(), "cuda");
    program.reset();
    fakecuda::reset();
  }
}

// The named devices have the limits that drivers report.
TEST_F(CUDADevicesTest, NamedDevicesAreTheDriversOnes) {
  for (const auto &[product, named] : gpu::getNamedDevices()) {
    fakecuda::setDevices(toString(named.capability));
    llvm::Expected<gpu::Device> device = queryDevice(0);
    ASSERT_TRUE(static_cast<bool>(device)) << toString(device.takeError());
    EXPECT_EQ(device->code.architecture, named.code.architecture);
    EXPECT_EQ(device->limits.sharedBytesOfBlock,
              named.limits.sharedBytesOfBlock);
    EXPECT_EQ(device->limits.sharedBytesOfMultiprocessor,
              named.limits.sharedBytesOfMultiprocessor);
    EXPECT_EQ(device->limits.registersOfMultiprocessor,
              named.limits.registersOfMultiprocessor);
  }
}

TEST_F(CUDADevicesTest, OldDevicesAreRefusedBeforeAnythingIsCompiled) {
  fakecuda::setDevices("7.5");
  EXPECT_EQ(failTarget("cuda"),
            "this machine has no GPU that nsacc compiles for: device 0, "
            "'Fake T4' has compute capability 7.5: nsacc compiles for 8.0 and "
            "later");
  fakecuda::setDevices("7.5,7.5");
  EXPECT_THAT(failTarget("cuda"), HasSubstr("; device 1, 'Fake T4' has"));
  EXPECT_EQ(failTarget("sm_90a"), "no error");
  fakecuda::failCall("cuDeviceGetCount", 999);
  EXPECT_THAT(failTarget("cuda"),
              AllOf(HasSubstr("target 'cuda' isn't there: counting devices"),
                    HasSubstr("'sm_90a'")));
}

TEST_F(CUDADevicesTest, TheFirstDeviceWithCodeRunsHostTensors) {
  fakecuda::setDevices("7.5,8.6");
  compile(kFlash, "cuda", noteDevices());
  EXPECT_EQ(fail(makeInputs(makeSizes())), "no error");
  EXPECT_THAT(made, ElementsAre("Fake A40: sm_80 for sm_86"));
  EXPECT_THAT(runOn(0), HasSubstr("'Fake T4' has compute capability 7.5"));
}

TEST_F(CUDADevicesTest, OtherDevicesOfTheMachineGetTheirOwnCode) {
  fakecuda::setDevices("8.6,9.0,8.6");
  compile(kFlash, "cuda", noteDevices());
  for (int round = 0; round < 2; ++round)
    for (int device : {0, 1, 2})
      EXPECT_EQ(runOn(device), "");
  // Equal devices share compiled code, and each loads it.
  EXPECT_THAT(made, ElementsAre("Fake A40: sm_80 for sm_86",
                                "Fake H200: sm_90a for sm_90a"));
  EXPECT_EQ(fakecuda::countCalls("cuModuleLoadDataEx"), 3u);
}

TEST_F(CUDADevicesTest, CodeForANamedDeviceRunsOnLaterOnes) {
  fakecuda::setDevices("8.0,8.6,9.0,12.0");
  compile(kFlash, "sm_86", noteDevices());
  EXPECT_EQ(runOn(1), "");
  EXPECT_EQ(runOn(2), "");
  EXPECT_EQ(runOn(3), "");
  EXPECT_THAT(runOn(0), HasSubstr("the package has code for sm_86; this device "
                                  "is sm_80: compile for it or for an older "
                                  "one"));
  EXPECT_THAT(made, ElementsAre("sm_86: sm_80 for sm_86"));
  compile(kFlash, "sm_90a");
  EXPECT_EQ(runOn(2), "");
  EXPECT_THAT(runOn(3), HasSubstr("has code for sm_90a; this device is "
                                  "sm_120"));
}

TEST_F(CUDADevicesTest, ProgramsForAGPUNeedADevice) {
  mlir::MLIRContext context;
  auto module = mlir::OwningOpRef<mlir::ModuleOp>(
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&context)));
  auto made = CompiledProgram::create(*module, {.target = Target::GPU});
  ASSERT_FALSE(static_cast<bool>(made));
  EXPECT_EQ(toString(made.takeError()),
            "a GPU's program needs the device to compile for");
}
