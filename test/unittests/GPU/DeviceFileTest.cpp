//===- DeviceFileTest.cpp - Devices as JSON -------------------------------===//

#include "nsacc/GPU/DeviceFile.h"
#include "nsacc/GPU/Codes.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace nsacc::gpu;
using ::testing::AllOf;
using ::testing::HasSubstr;

static llvm::json::Object makeObject() {
  return llvm::json::Object{{"name", "NVIDIA H200"},
                            {"compute_capability", "9.0"},
                            {"shared_bytes_per_block", 232448},
                            {"shared_bytes_per_multiprocessor", 233472},
                            {"registers_per_multiprocessor", 65536},
                            {"multiprocessors", 132},
                            {"l2_bytes", 62914560}};
}

static std::string spell(llvm::json::Object object) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(object));
  return text;
}

static std::string fail(llvm::StringRef text) {
  auto device = parseDevice(text, "'x.json'");
  return device ? "no error" : toString(device.takeError());
}

/// The error message for the device with another value at a key.
static std::string failWith(llvm::StringRef key, llvm::json::Value value) {
  llvm::json::Object object = makeObject();
  object[key] = std::move(value);
  return fail(spell(std::move(object)));
}

TEST(DeviceFileTest, ReadsEveryKey) {
  auto device = parseDevice(spell(makeObject()), "text");
  ASSERT_TRUE(static_cast<bool>(device)) << toString(device.takeError());
  EXPECT_EQ(device->name, "NVIDIA H200");
  EXPECT_EQ(device->capability, (Capability{9, 0}));
  EXPECT_EQ(device->limits, (Limits{232448, 233472, 65536, 132, 62914560}));
  EXPECT_EQ(device->code.architecture, "sm_90a");
}

TEST(DeviceFileTest, ReadsWhatItWrites) {
  for (const NamedDevice &named : getNamedDevices()) {
    std::string text;
    llvm::raw_string_ostream os(text);
    llvm::json::OStream json(os);
    writeDevice(json, named.device);
    auto device = parseDevice(text, "text");
    ASSERT_TRUE(static_cast<bool>(device)) << toString(device.takeError());
    EXPECT_EQ(device->getKey(), named.device.getKey());
    EXPECT_EQ(device->name, named.device.name);
  }
}

TEST(DeviceFileTest, MayNameItsCode) {
  llvm::json::Object object = makeObject();
  object["compute_capability"] = "12.0";
  object["code"] = "sm_90";
  auto device = parseDevice(spell(std::move(object)), "text");
  ASSERT_TRUE(static_cast<bool>(device)) << toString(device.takeError());
  EXPECT_TRUE(device->code.hasBulkCopies);
  EXPECT_FALSE(device->code.hasWarpgroupProducts);
  EXPECT_FALSE(canMoveRegisters(device->code));
  EXPECT_EQ(device->getMachineArchitecture(), "sm_120");
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os);
  writeDevice(json, *device);
  auto again = parseDevice(text, "text");
  ASSERT_TRUE(static_cast<bool>(again)) << toString(again.takeError());
  EXPECT_EQ(again->getKey(), device->getKey());
  EXPECT_EQ(failWith("code", "sm_100"),
            "'x.json': key 'code' is \"sm_100\", expected code that it can "
            "run: \"sm_90a\" or \"sm_80\" or \"sm_90\"");
}

TEST(DeviceFileTest, NamesFileAndKeyOfWhatIsWrong) {
  for (const auto &[key, value] : makeObject()) {
    llvm::json::Object object = makeObject();
    object.erase(key);
    EXPECT_THAT(
        fail(spell(std::move(object))),
        HasSubstr("'x.json': key '" + key.str() + "' is missing: expected "));
    for (llvm::json::Value wrong :
         {llvm::json::Value(nullptr), llvm::json::Value(""),
          llvm::json::Value(-1), llvm::json::Value(1.5),
          llvm::json::Value(llvm::json::Array())})
      EXPECT_THAT(failWith(key, wrong),
                  HasSubstr("'x.json': key '" + key.str() + "' is "));
  }
  EXPECT_THAT(failWith("multiprocessors", "many"),
              HasSubstr("key 'multiprocessors' is \"many\", expected an "
                        "integer from 1 to 65536"));
  EXPECT_THAT(failWith("compute_capability", 9.0),
              HasSubstr("expected a string such as \"9.0\""));
  EXPECT_THAT(failWith("compute_capability", "9"), HasSubstr("is \"9\""));
  EXPECT_THAT(failWith("shared_bytes_per_block", 1024),
              HasSubstr("expected an integer from 49152 to 16777216"));
  EXPECT_THAT(failWith("shared_bytes_per_block", 233473),
              HasSubstr("expected at most shared_bytes_per_multiprocessor, "
                        "233472"));
  EXPECT_THAT(failWith("registers_per_multiprocessor", 32768),
              HasSubstr("expected an integer from 65536 to 1048576"));
}

TEST(DeviceFileTest, RefusesDevicesThatAreTooOld) {
  EXPECT_EQ(failWith("compute_capability", "7.5"),
            "'x.json': 'NVIDIA H200' has compute capability 7.5: nsacc "
            "compiles for 8.0 and later");
}

TEST(DeviceFileTest, RefusesUnknownKeys) {
  EXPECT_THAT(failWith("l2bytes", 1),
              AllOf(HasSubstr("nothing reads key 'l2bytes': expected name, "
                              "compute_capability, shared_bytes_per_block"),
                    HasSubstr("l2_bytes")));
}

TEST(DeviceFileTest, RefusesOtherTexts) {
  EXPECT_THAT(fail(""), HasSubstr("'x.json' isn't JSON: "));
  EXPECT_THAT(fail("{\"name\":"), HasSubstr("'x.json' isn't JSON: "));
  EXPECT_EQ(fail("[]"), "'x.json': expected an object that describes a device");
  EXPECT_EQ(fail("3"), "'x.json': expected an object that describes a device");
}

// The parser would silently keep the last one.
TEST(DeviceFileTest, RefusesKeysThatStandTwice) {
  std::string text = spell(makeObject());
  text.insert(1, "\"multiprocessors\": 1, ");
  EXPECT_THAT(fail(text), HasSubstr("key 'multiprocessors' stands twice"));
}

// The name is printed in messages and on terminals.
TEST(DeviceFileTest, NamesArePrintable) {
  for (const std::string &name :
       {std::string("H\x1b[2J"), std::string("H\n200"), std::string(129, 'H')})
    EXPECT_THAT(failWith("name", name),
                HasSubstr("expected a line of at most 128 bytes without "
                          "control characters"));
}

TEST(DeviceFileTest, NestingIsBounded) {
  std::string text;
  for (int i = 0; i < 100000; ++i)
    text += "{\"name\":";
  EXPECT_THAT(fail(text), HasSubstr("it nests more than 64 deep"));
}

TEST(DeviceFileTest, TellsOfFilesThatAreNotThere) {
  auto device = readDeviceFile("/nowhere/h200.json");
  ASSERT_FALSE(static_cast<bool>(device));
  EXPECT_THAT(toString(device.takeError()),
              HasSubstr("can't read the device's file '/nowhere/h200.json': "));
}
