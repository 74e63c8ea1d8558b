//===- PackageTest.cpp - Packages as bytes --------------------------------===//

#include "PackageFile.h"
#include "RTTest.h"
#include <algorithm>
#include <ctime>
#include <random>

using namespace nsacc::rt;
using ::testing::HasSubstr;

TEST(PackageTest, ReadsWhatWasWritten) {
  Package package = makePackage();
  package.images[0].cubin = fakecuda::makeMachineCode(package.images[0].ptx);
  std::string bytes = writePackage(package);
  Package read = readPackage(bytes.data(), bytes.size());
  EXPECT_EQ(writePackage(read), bytes);
  EXPECT_EQ(describePackage(read), describePackage(package));
  EXPECT_EQ(read.images[0].cubin, package.images[0].cubin);
  EXPECT_EQ(read.variants[0].targets[0].plan.workspaces[0].elementBytes, 4);
}

TEST(PackageTest, RefusesWhatIsNoPackage) {
  EXPECT_THAT(failRead(""), HasSubstr("not a package"));
  EXPECT_THAT(failRead("nonsense"), HasSubstr("not a package"));
  std::string bytes = writePackage(makePackage());
  EXPECT_THAT(failRead(bytes.substr(0, bytes.size() / 2)),
              HasSubstr("cut short"));
}

// The message has both versions, and advice: docs/Package.md.
TEST(PackageTest, RefusesOtherVersions) {
  auto failVersion = [](char version) {
    std::string bytes = writePackage(makePackage());
    bytes[16] = version;
    return failRead(bytes);
  };
  for (char older : {1, 8})
    EXPECT_EQ(failVersion(older),
              "a package of version " + std::to_string(older) +
                  "; this runtime reads version 12: compile it again with the "
                  "nsacc of this runtime");
  for (char newer : {13, 127})
    EXPECT_EQ(failVersion(newer),
              "a package of version " + std::to_string(newer) +
                  "; this runtime reads version 12: use the runtime of the "
                  "nsacc that compiled it, or compile it again with the nsacc "
                  "of this runtime");
}

TEST(PackageTest, RefusesIndicesOfNothing) {
  auto fail = [](auto change) {
    Package package = makePackage();
    change(package, package.variants[0].targets[0]);
    return failRead(writePackage(package));
  };
  EXPECT_THAT(fail([](Package &, TargetCode &code) {
                code.plan.steps[3].operands[1] = 3;
              }),
              HasSubstr("there is no number 3"));
  EXPECT_THAT(
      fail([](Package &, TargetCode &code) { code.plan.steps[0].value = 3; }),
      HasSubstr("there is no dimension 3"));
  EXPECT_THAT(fail([](Package &, TargetCode &code) {
                code.plan.launches[0].grid[2] = 99;
              }),
              HasSubstr("there is no number 99"));
  EXPECT_THAT(fail([](Package &, TargetCode &code) {
                code.plan.launches[0].arguments[0].index = 4;
              }),
              HasSubstr("there is no buffer 4"));
  EXPECT_THAT(fail([](Package &, TargetCode &code) {
                code.plan.launches[0].extra[0].map.argument = 2;
              }),
              HasSubstr("a tensor map of a number"));
  EXPECT_THAT(fail([](Package &, TargetCode &code) {
                code.plan.launches[0].extra[0].map.dims[1] = 7;
              }),
              HasSubstr("there is no dimension 7"));
  EXPECT_THAT(fail([](Package &, TargetCode &code) {
                code.plan.launches[0].extra[0].map.swizzle = 96;
              }),
              HasSubstr("a swizzle of 96 bytes"));
  EXPECT_THAT(fail([](Package &, TargetCode &code) {
                code.plan.launches[0].extra[0].map.steps = {1, 9, 1};
              }),
              HasSubstr("steps of a box"));
  EXPECT_THAT(fail([](Package &, TargetCode &code) {
                code.plan.launches[0].extra[0].map.steps = {1, 4};
              }),
              HasSubstr("of 3 dimensions with 2 steps"));
  EXPECT_THAT(fail([](Package &, TargetCode &code) {
                code.plan.launches[0].extra[0].map.box = {32, 65, 1};
                code.plan.launches[0].extra[0].map.steps = {1, 4, 1};
              }),
              HasSubstr("a box of 65 elements every 4"));
  EXPECT_THAT(fail([](Package &, TargetCode &code) {
                code.plan.workspaces[0].last = 2;
              }),
              HasSubstr("there is no launch 2"));
  EXPECT_THAT(fail([](Package &, TargetCode &code) {
                code.plan.launches[0].threads = 2048;
              }),
              HasSubstr("expected threads from 1 to 1024, found 2048"));
  EXPECT_THAT(fail([](Package &package, TargetCode &) {
                package.parameters[0].strides.pop_back();
              }),
              HasSubstr("'q' has not as many strides as sizes"));
  EXPECT_THAT(fail([](Package &package, TargetCode &) {
                package.parameters[0].order = {0, 2, 2};
              }),
              HasSubstr("'q' has dimension 2 twice"));
  EXPECT_THAT(fail([](Package &package, TargetCode &) {
                package.parameters[0].order = {1, 0};
              }),
              HasSubstr("'q' has not all dimensions in its order"));
  EXPECT_THAT(fail([](Package &package, TargetCode &) {
                package.parameters[0].order = {0, 1, 3};
              }),
              HasSubstr("there is no dimension 3"));
}

#if defined(__x86_64__)
/// A package with a GPU's image that no launch of the host uses.
static Package makeHostPackageWith(std::string ptx) {
  Package package = makeHostPackage();
  package.images.emplace_back().ptx = std::move(ptx);
  return package;
}

TEST(PackageTest, TheHostTakesNoCodeOfGPUs) {
  Package package = makeHostPackageWith("text");
  std::string bytes = writePackage(package);
  Package read = readPackage(bytes.data(), bytes.size(), CodeFor::Host);
  EXPECT_EQ(read.images[1].ptx, "");
  EXPECT_EQ(read.images[0].host.bytes, package.images[0].host.bytes);
  // The image is checked all the same.
  for (const std::string &wrong :
       {std::string("a\0b", 3), std::string("\xff")}) {
    bytes = writePackage(makeHostPackageWith(wrong));
    EXPECT_THROW(readPackage(bytes.data(), bytes.size(), CodeFor::Host),
                 std::runtime_error);
  }
}

// Unused code of GPUs costs little more than its checksum: reading it byte by
// byte took a second here.
TEST(PackageTest, TheHostLoadsQuickly) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "sanitizers take their time";
#endif
#endif
  std::string bytes =
      writePackage(makeHostPackageWith(std::string(64 << 20, 'x')));
  double best = 10;
  for (int round = 0; round < 5; ++round) {
    clock_t start = clock();
    nsacc_rt_module *module = nullptr;
    ASSERT_EQ(nsacc_rt_load(bytes.data(), bytes.size(), NSACC_RT_HOST, &module),
              NSACC_RT_OK);
    nsacc_rt_unload(module);
    best = std::min(best, double(clock() - start) / CLOCKS_PER_SEC);
  }
  printf("%.1f ms for 64 MiB\n", best * 1e3);
  EXPECT_LT(best, 0.2);
}
#endif
