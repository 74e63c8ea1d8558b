//===- DeviceTest.cpp - Code that a GPU runs ------------------------------===//

#include "nsacc/GPU/Device.h"
#include "nsacc/GPU/DeviceOption.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace nsacc::gpu;
using ::testing::HasSubstr;

TEST(Device, IsFoundByItsProduct) {
  auto find = [](llvm::StringRef name) {
    std::optional<Capability> found = findProduct(name);
    return found ? toString(*found) : "none";
  };
  EXPECT_EQ(find("H100"), "9.0");
  EXPECT_EQ(find("NVIDIA H100 80GB HBM3"), "9.0");
  EXPECT_EQ(find("a100"), "8.0");
  EXPECT_EQ(find("NVIDIA A100-SXM4-80GB"), "8.0");
  EXPECT_EQ(find("A10"), "8.6");
  EXPECT_EQ(find("L4"), "8.9");
  EXPECT_EQ(find("l40s"), "8.9");
  EXPECT_EQ(find("NVIDIA GeForce RTX 4090"), "8.9");
  EXPECT_EQ(find("B200"), "10.0");
  EXPECT_EQ(find("rtx-5090"), "12.0");
  EXPECT_EQ(find("V100"), "none");
  EXPECT_EQ(find("NVIDIA"), "none");
  EXPECT_EQ(find(""), "none");
}

TEST(DeviceTest, MemoryIsThatOfTheProduct) {
  auto get = [](llvm::StringRef name, Capability capability) {
    Device device = llvm::cantFail(
        makeDevice(name.str(), capability, findDevice("sm_80")->limits));
    return device.getProduct().str() + " " +
           std::to_string(
               static_cast<int64_t>(device.getMemoryBytesPerSecond() / 1e9));
  };
  EXPECT_EQ(get("NVIDIA H200", {9, 0}), "H200 4800");
  EXPECT_EQ(get("NVIDIA H100 80GB HBM3", {9, 0}), "H100 3350");
  EXPECT_EQ(get("NVIDIA H100 PCIe", {9, 0}), "H100 PCIe 2000");
  EXPECT_EQ(get("sm_90a", {9, 0}), "H100 3350");
  EXPECT_EQ(get("NVIDIA A100-SXM4-40GB", {8, 0}), "A100-SXM4-40GB 1555");
  EXPECT_EQ(get("NVIDIA A100-SXM4-80GB", {8, 0}), "A100 2039");
  // Names that contain no product.
  EXPECT_EQ(get("mine", {8, 9}), "L40S 864");
  EXPECT_EQ(get("mine", {8, 7}), "A40 696");
  EXPECT_EQ(get("mine", {12, 1}), "RTX 5090 1792");
  EXPECT_EQ(get("NVIDIA A100-SXM4-40GB", {9, 0}), "H100 3350");
  EXPECT_EQ(get("NVIDIA H20-3e", {9, 0}), "H20-3e 4800");
  for (const NamedDevice &each : getNamedDevices()) {
    EXPECT_TRUE(findProduct(each.product)) << each.product.str();
    EXPECT_TRUE(each.device.isOfKnownProduct()) << each.device.name;
  }
  Device device = *findDevice("sm_90a");
  for (const char *name : {"mine", "XH200", "NVIDIA A100"}) {
    device.name = name;
    EXPECT_FALSE(device.isOfKnownProduct()) << name;
  }
}

TEST(DeviceTest, NamesHaveTheNewestCodeThatRunsAndTheirOwnLimits) {
  struct {
    const char *name, *code;
    int64_t sharedKiB;
  } expected[] = {{"sm_80", "sm_80", 163},  {"sm_86", "sm_80", 99},
                  {"sm_89", "sm_80", 99},   {"sm_90a", "sm_90a", 227},
                  {"sm_100", "sm_80", 227}, {"sm_120", "sm_80", 99}};
  for (auto [name, code, sharedKiB] : expected) {
    const Device *device = findDevice(name);
    ASSERT_TRUE(device) << name;
    EXPECT_EQ(device->code.architecture, code) << name;
    EXPECT_EQ(device->limits.sharedBytesOfBlock, sharedKiB << 10) << name;
    EXPECT_EQ(device->getMachineArchitecture(), name);
    EXPECT_EQ(device->code.hasWarpgroupProducts,
              llvm::StringRef(name) == "sm_90a");
  }
  EXPECT_EQ(std::size(expected), getNamedDevices().size());
  EXPECT_EQ(findDevice("sm_90"), nullptr);
  EXPECT_EQ(findDevice(""), nullptr);
}

TEST(DeviceTest, AnyCapabilityHasCodeOrIsTooOld) {
  auto getCode = [](Capability capability) {
    auto device = makeDevice("X", capability, {});
    return device ? device->code.architecture.str()
                  : toString(device.takeError());
  };
  // Capabilities without a named device, and later generations.
  EXPECT_EQ(getCode({8, 7}), "sm_80");
  EXPECT_EQ(getCode({10, 3}), "sm_80");
  EXPECT_EQ(getCode({13, 0}), "sm_80");
  EXPECT_EQ(getCode({9, 0}), "sm_90a");
  EXPECT_EQ(getCode({7, 5}),
            "'X' has compute capability 7.5: nsacc compiles for 8.0 and later");
}

TEST(DeviceTest, ExplainsItsCode) {
  EXPECT_EQ(findDevice("sm_90a")->explainCode(), "code of its own");
  EXPECT_EQ(findDevice("sm_120")->explainCode(),
            "code for sm_80, the newest that runs on it");
}

TEST(DeviceTest, ReadsNames) {
  EXPECT_EQ(parseArchitecture("sm_90a"), (Capability{9, 0}));
  EXPECT_EQ(parseArchitecture("sm_121"), (Capability{12, 1}));
  EXPECT_EQ(parseCapability("10.3"), (Capability{10, 3}));
  for (const char *text : {"sm_", "sm_a", "sm_8x", "90", "", "sm_9"})
    EXPECT_FALSE(parseArchitecture(text)) << text;
  for (const char *text : {"", "8", "8.", ".6", "8.10", "x.0", "8.x", "+8.0",
                           "0.0", "99999999999.0", "8.0 "})
    EXPECT_FALSE(parseCapability(text)) << text;
}

TEST(DeviceTest, KeysTellDevicesApart) {
  Device device = *findDevice("sm_86"), other = device;
  other.name = "NVIDIA A40";
  EXPECT_EQ(other.getKey(), device.getKey());
  other.limits.multiprocessors = 10;
  EXPECT_NE(other.getKey(), device.getKey());
  EXPECT_NE(findDevice("sm_89")->getKey(), device.getKey());
}

//===-- Options of passes -------------------------------------------------===//

namespace {

class DeviceOptionTest : public ::testing::Test {
protected:
  static std::string print(const DeviceOption &device) {
    std::string text;
    llvm::raw_string_ostream(text) << device;
    return text;
  }

  /// The option that a pass gets from a pipeline's text, without its braces.
  DeviceOption parse(llvm::StringRef text) {
    DeviceOption device;
    EXPECT_FALSE(parser.parse(option, "device", text, device)) << text.str();
    return device;
  }

  bool isRefused(llvm::StringRef text) {
    DeviceOption device;
    return parser.parse(option, "device", text, device);
  }

  static llvm::cl::opt<DeviceOption> option;
  llvm::cl::parser<DeviceOption> parser{option};
};

} // namespace

llvm::cl::opt<DeviceOption> DeviceOptionTest::option{"test-device"};

TEST_F(DeviceOptionTest, IsANameWhereThatSaysAll) {
  EXPECT_EQ(print(DeviceOption(*findDevice("sm_86"))), "sm_86");
  EXPECT_EQ(parse("sm_86")->getKey(), findDevice("sm_86")->getKey());
  EXPECT_EQ(print({}), "");
  EXPECT_FALSE(parse("").has_value());
}

TEST_F(DeviceOptionTest, HasLimitsOfItsOwn) {
  Device device = *findDevice("sm_86");
  device.limits.sharedBytesOfBlock = 64 << 10;
  device.name = "a {fast} \"one\"";
  std::string kept = print(DeviceOption(device));
  EXPECT_THAT(kept, HasSubstr("\"a _fast_ _one_\""));
  for (llvm::StringRef each :
       {llvm::StringRef(kept),
        llvm::StringRef(kept).drop_front().drop_back()}) {
    DeviceOption read = parse(each);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->getKey(), device.getKey());
  }
}

TEST_F(DeviceOptionTest, RefusesOtherTexts) {
  EXPECT_TRUE(isRefused("sm_75"));
  EXPECT_TRUE(isRefused("\"name\": 3"));
}
