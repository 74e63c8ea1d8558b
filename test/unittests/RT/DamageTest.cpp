//===- DamageTest.cpp - Damaged packages ----------------------------------===//

#include "PackageFile.h"
#include "RTTest.h"
#include <nlohmann/json.hpp>
#include <random>

using namespace nsacc::rt;
using ::testing::HasSubstr;
using Json = nlohmann::json;

using DamageTest = RTTest;

static std::string failDamaged(const std::string &bytes) {
  nsacc_rt_module *module = nullptr;
  EXPECT_EQ(nsacc_rt_load(bytes.data(), bytes.size(), 0, &module),
            NSACC_RT_PACKAGE);
  EXPECT_EQ(module, nullptr);
  nsacc_rt_unload(module);
  return nsacc_rt_message();
}

/// The error message after a change in the body, with a right checksum.
static std::string failChanged(void (*change)(Json &)) {
  std::string file = writePackage(makePackage());
  std::string_view body = openBody(file);
  Json json = Json::from_msgpack(body.begin(), body.end());
  change(json);
  std::string bytes;
  Json::to_msgpack(json, nlohmann::detail::output_adapter<char>(bytes));
  return failDamaged(sealBody(bytes));
}

TEST_F(DamageTest, NoByteMayDiffer) {
  std::string bytes = writePackage(makePackage());
  for (size_t at = 0; at < bytes.size(); ++at)
    for (int bit : {0, 7}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      failDamaged(damaged);
    }
}

TEST_F(DamageTest, NoByteMayMiss) {
  std::string bytes = writePackage(makePackage());
  for (size_t size = 0; size < bytes.size(); ++size)
    failDamaged(bytes.substr(0, size));
  EXPECT_THAT(failDamaged(bytes + "x"), HasSubstr("expected"));
}

// A recursive parser would exceed the stack.
TEST_F(DamageTest, NestingIsBounded) {
  for (size_t depth : {kMaxNesting + 1, 100000u, 10000000u}) {
    std::string lists(depth, '\x91'), maps, mixed;
    for (size_t i = 0; i < depth; ++i)
      maps += "\x81\xa1x";
    for (size_t i = 0; i < depth; ++i)
      mixed += i % 2 ? "\xdd\xff\xff\xff\xff" : "\xdf\xff\xff\xff\xff\xa1x";
    for (const std::string &bomb : {lists, maps, mixed})
      EXPECT_THAT(failDamaged(sealBody(bomb)),
                  HasSubstr("nested more than 16"));
    EXPECT_THAT(failDamaged(sealBody(lists + '\xc0')),
                HasSubstr("nested more than 16"));
  }
}

TEST_F(DamageTest, FieldsHaveTheirTypes) {
  EXPECT_THAT(failChanged([](Json &json) { json = 7; }),
              HasSubstr("damaged package"));
  EXPECT_THAT(failChanged([](Json &json) {
                json["variants"][0]["targets"][0]["steps"][0][1] = 1e300;
              }),
              HasSubstr("there is no parameter 1e+300"));
  EXPECT_THAT(failChanged([](Json &json) {
                json["variants"][0]["targets"][0]["steps"][0][1] = true;
              }),
              HasSubstr("there is no parameter true"));
  EXPECT_THAT(failChanged([](Json &json) {
                json["variants"][0]["targets"][0]["launches"][0]["threads"] =
                    UINT64_MAX;
              }),
              HasSubstr("expected threads from 1 to 1024"));
  EXPECT_THAT(failChanged([](Json &json) {
                json["variants"][0]["targets"][0]["launches"][0]["threads"] =
                    -1;
              }),
              HasSubstr("expected threads from 1 to 1024"));
  EXPECT_THAT(
      failChanged([](Json &json) { json["parameters"][0]["sizes"][0] = -1; }),
      HasSubstr("expected a size from 0"));
  EXPECT_THAT(
      failChanged([](Json &json) { json["parameters"][0]["strides"][2] = -1; }),
      HasSubstr("expected a stride from 0"));
  EXPECT_THAT(
      failChanged([](Json &json) { json["parameters"][0]["offsets"] = "T"; }),
      HasSubstr("can't be offsets"));
  EXPECT_THAT(
      failChanged([](Json &json) { json["parameters"][0].erase("offsets"); }),
      HasSubstr("offsets"));
  EXPECT_THAT(failChanged([](Json &json) {
                json["variants"][0]["targets"][0]["steps"][2][1] = 2.5;
              }),
              HasSubstr("expected a constant"));
  EXPECT_THAT(failChanged([](Json &json) {
                json["variants"][0]["targets"][0]["steps"][2].push_back(1);
              }),
              HasSubstr("has other than 1 operands"));
  EXPECT_THAT(
      failChanged([](Json &json) {
        json["variants"][0]["targets"][0]["launches"][0]["grid"].push_back(1);
      }),
      HasSubstr("'grid' has 4 elements, more than 3"));
  EXPECT_THAT(failChanged([](Json &json) {
                json["images"][0]["cubin"] = Json::binary({1, 2, 3});
              }),
              HasSubstr("no ELF file"));
  EXPECT_THAT(failChanged([](Json &json) {
                json["images"][0]["ptx"] = Json::binary({0x7f, 'E', 'L', 'F'});
              }),
              HasSubstr("PTX that begins with byte 127"));
  EXPECT_THAT(failChanged([](Json &json) {
                json["variants"][0]["targets"][0]["launches"][1]["image"] = 1;
              }),
              HasSubstr("there is no image 1"));
  EXPECT_THAT(failChanged([](Json &json) { json["images"] = Json::array(); }),
              HasSubstr("there is no image 0"));
  EXPECT_THAT(failChanged([](Json &json) { json.erase("kernel"); }),
              HasSubstr("kernel"));
  EXPECT_THAT(failChanged([](Json &json) {
                json["parameters"] =
                    std::vector<Json>(2000, json["parameters"][0]);
              }),
              HasSubstr("'parameters' has 2000 elements, more than 1024"));
}

static std::string failPackage(void (*change)(TargetCode &)) {
  Package package = makePackage();
  change(package.variants[0].targets[0]);
  return failDamaged(writePackage(package));
}

TEST_F(DamageTest, WorkspacesLiveWhereTheyAreUsed) {
  EXPECT_THAT(
      failPackage([](TargetCode &code) { code.plan.workspaces[0].last = 0; }),
      HasSubstr("launch 1 uses buffer 2, which lives from launch 0 to 0"));
  EXPECT_THAT(
      failPackage([](TargetCode &code) { code.plan.workspaces[0].first = 1; }),
      HasSubstr("launch 0 uses buffer 2, which lives from launch 1 to 1"));
  EXPECT_THAT(failPackage([](TargetCode &code) {
                code.plan.workspaces[1].first = 1;
                code.plan.workspaces[1].last = 0;
              }),
              HasSubstr("a workspace from launch 1 to 0"));
}

// {0, 0} of a matrix would reach twice as far as it has rows.
TEST_F(DamageTest, TensorMapsHaveEachDimensionOnce) {
  EXPECT_THAT(failPackage([](TargetCode &code) {
                code.plan.launches[0].extra[0].map.dims = {2, 1, 1};
              }),
              HasSubstr("a tensor map that has dimension 1 twice"));
}

TEST_F(DamageTest, CountersHaveNoClusters) {
  EXPECT_THAT(
      failPackage([](TargetCode &code) { code.plan.launches[1].cluster = 2; }),
      HasSubstr("kernel 'scale' counts the points of its grid in clusters"));
}

//===----------------------------------------------------------------------===//
// Parameters of launches and of their kernels
//===----------------------------------------------------------------------===//

static void dropAnArgument(TargetCode &code) {
  code.plan.launches[1].arguments.pop_back();
}
static void passAnother(TargetCode &code) {
  code.plan.launches[1].arguments.push_back({true, 0});
}
static void widenANumber(TargetCode &code) {
  code.plan.launches[1].arguments[2].bytes = 8;
}
static void dropTheMap(TargetCode &code) {
  code.plan.launches[0].extra.clear();
}
static void passAMapForACounter(TargetCode &code) {
  code.plan.launches[1].extra[0] = {ExtraParameter::Kind::TensorMap,
                                    {0, {0}, {8}, 0}};
}
static void passAVectorForAMatrix(TargetCode &code) {
  code.plan.launches[1].arguments[0].index = 3;
}

/// Tests code as PTX, and as machine code.
static std::string failPassing(void (*change)(TargetCode &)) {
  Package package = makePackage();
  TargetCode &code = package.variants[0].targets[0];
  change(code);
  std::string asPTX = failDamaged(writePackage(package));
  package.images[0].cubin = fakecuda::makeMachineCode(package.images[0].ptx);
  EXPECT_EQ(failDamaged(writePackage(package)), asPTX);
  return asPTX;
}

TEST_F(DamageTest, LaunchesPassWhatKernelsTake) {
  EXPECT_THAT(failPassing(dropAnArgument),
              HasSubstr("kernel 'scale' takes 12 parameters, its launch passes "
                        "11"));
  EXPECT_THAT(failPassing(passAnother),
              HasSubstr("kernel 'scale' takes 12 parameters, its launch passes "
                        "19"));
  EXPECT_THAT(failPassing(widenANumber),
              HasSubstr("kernel 'scale' takes 4 bytes as parameter 8, its "
                        "launch passes 8"));
  EXPECT_THAT(failPassing(dropTheMap),
              HasSubstr("kernel 'fill' takes 14 parameters, its launch passes "
                        "13"));
  EXPECT_THAT(failPassing(passAMapForACounter),
              HasSubstr("kernel 'scale' takes 8 bytes as parameter 9, its "
                        "launch passes 128"));
  EXPECT_THAT(failPassing(passAVectorForAMatrix),
              HasSubstr("kernel 'scale' takes 12 parameters, its launch passes "
                        "10"));
}

// With a driver before CUDA 12.4, the package's PTX declares the kernels'
// parameters.
TEST_F(DamageTest, PTXTellsWhatTheDriverDoesnt) {
  Package package = makePackage();
  fakecuda::failCall("cuFuncGetParamInfo", 801);
  EXPECT_THAT(failPackage(dropTheMap),
              HasSubstr("kernel 'fill' takes 14 parameters"));
  fakecuda::failCall("cuFuncGetParamInfo", 801);
  Module module(package);
  expectLaunch(module, Tensors(1, 64));
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

TEST_F(DamageTest, TensorsHaveMemory) {
  Module module(makePackage());
  Tensors tensors(2, 64);
  tensors.tensors[1].data = nullptr;
  EXPECT_EQ(failLaunch(module, tensors),
            "result 'o': its data is a null pointer");
  EXPECT_EQ(nsacc_rt_reserve(module, tensors.tensors, 2, nullptr), NSACC_RT_OK);
  Tensors none(2, 0);
  none.tensors[0].data = none.tensors[1].data = nullptr;
  expectLaunch(module, none);
}

TEST_F(DamageTest, StridesStayWithinMemory) {
  Module module(makePackage());
  for (int64_t stride : {INT64_MIN, INT64_MAX, INT64_MAX / 2, -INT64_MAX / 2}) {
    Tensors tensors(4, 64);
    tensors.qStrides[0] = stride;
    EXPECT_EQ(failLaunch(module, tensors),
              "input 'q': its strides reach farther than memory does");
  }
}

TEST_F(DamageTest, NullModulesHaveNothing) {
  EXPECT_STREQ(nsacc_rt_kernel(nullptr), "");
  EXPECT_STREQ(nsacc_rt_target(nullptr), "");
  EXPECT_EQ(nsacc_rt_module_device(nullptr), -1);
  EXPECT_EQ(nsacc_rt_parameter_count(nullptr), 0u);
  EXPECT_EQ(nsacc_rt_parameter_size(nullptr, 0, 0), -1);
  EXPECT_EQ(nsacc_rt_workspace_bytes(nullptr), 0);
  EXPECT_EQ(nsacc_rt_launch_count(nullptr), 0u);
  EXPECT_EQ(nsacc_rt_launch(nullptr, nullptr, 0, nullptr), NSACC_RT_INVALID);
  EXPECT_EQ(nsacc_rt_check(nullptr, nullptr), NSACC_RT_INVALID);
  nsacc_rt_unload(nullptr);
}

// For any content of the body, the result is a package or an exception.
TEST_F(DamageTest, BodiesMayHoldAnything) {
  std::string file = writePackage(makePackage());
  std::string body(openBody(file));
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = body;
    for (int k = 0; k < 3; ++k)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    std::string sealed = sealBody(damaged);
    try {
      readPackage(sealed.data(), sealed.size());
    } catch (const std::runtime_error &) {
      continue;
    }
  }
}
