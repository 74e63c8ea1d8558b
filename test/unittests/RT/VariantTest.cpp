//===- VariantTest.cpp - Code for different sizes -------------------------===//

#include "RTTest.h"
#include "nsacc-rt/failures.h"
#include <thread>

using namespace nsacc::rt;
using ::testing::AllOf;
using ::testing::HasSubstr;

using VariantTest = RTTest;

static std::vector<std::string> getKernels() {
  std::vector<std::string> kernels;
  for (const fakecuda::Launch &launch : fakecuda::getLaunches())
    kernels.push_back(launch.kernel);
  return kernels;
}

TEST_F(VariantTest, AreForTheirSizes) {
  Module module(makeVariants());
  expectLaunch(module, Tensors(2, 64));
  EXPECT_THAT(getKernels(), ::testing::ElementsAre("fill", "scale"));
  EXPECT_EQ(nsacc_rt_workspace_bytes(module), 512 + 256);
  fakecuda::reset();
  expectLaunch(module, Tensors(2, 65));
  EXPECT_THAT(getKernels(), ::testing::ElementsAre("many_fill", "many_scale"));
  EXPECT_EQ(nsacc_rt_workspace_bytes(module), 768 + 2 * 512);
  EXPECT_EQ(nsacc_rt_launch_count(module), 2u);
}

TEST_F(VariantTest, TheFirstThatFitsRuns) {
  Package package = makeVariants();
  package.variants[1].guards.clear();
  Module module(package);
  expectLaunch(module, Tensors(1, 64));
  EXPECT_THAT(getKernels(), ::testing::ElementsAre("fill", "scale"));
  std::swap(package.variants[0], package.variants[1]);
  fakecuda::reset();
  Module swapped(package);
  expectLaunch(swapped, Tensors(1, 64));
  EXPECT_THAT(getKernels(), ::testing::ElementsAre("many_fill", "many_scale"));
}

TEST_F(VariantTest, AreCompiledWhenTheyAreNeeded) {
  Module module(makeVariants());
  EXPECT_EQ(fakecuda::countCalls("cuModuleLoadDataEx"), 0u);
  for (int64_t tokens : {1, 64})
    expectLaunch(module, Tensors(1, tokens));
  EXPECT_EQ(fakecuda::countCalls("cuModuleLoadDataEx"), 1u);
  Tensors many(1, 100);
  ASSERT_EQ(nsacc_rt_reserve(module, many.tensors, 2, nullptr), NSACC_RT_OK);
  EXPECT_EQ(fakecuda::countCalls("cuModuleLoadDataEx"), 2u);
  fakecuda::reset();
  expectLaunch(module, many);
  EXPECT_EQ(fakecuda::countCalls("cuModuleLoadDataEx"), 0u);
  EXPECT_EQ(fakecuda::countAllocationsAndWaits(), 0u);
}

// The code is known before any call.
TEST_F(VariantTest, WithoutGuardsAreCompiledAtOnce) {
  Package package = makeVariants();
  package.variants[0].guards.clear();
  Module module(package);
  EXPECT_EQ(fakecuda::countCalls("cuModuleLoadDataEx"), 1u);
}

TEST_F(VariantTest, AreUnloaded) {
  {
    Module module(makeVariants());
    expectLaunch(module, Tensors(1, 64));
    expectLaunch(module, Tensors(1, 65));
  }
  EXPECT_EQ(fakecuda::countCalls("cuModuleUnload"), 2u);
  fakecuda::reset();
  {
    Module module(makeVariants());
  }
  EXPECT_EQ(fakecuda::countCalls("cuModuleUnload"), 0u);
}

/// A variant for the sizes that a guard describes.
static Variant makeVariant(Step::Kind kind, bool isConstantFirst, int64_t value,
                           const Package &package) {
  uint32_t first = isConstantFirst ? 1 : 0;
  return {{{Step::Kind::Dim, 1, {0}},
           {Step::Kind::Constant, value, {}},
           {kind, 0, {first, 1 - first}}},
          {{2, "guard " + std::to_string(value)}},
          package.variants[0].targets};
}

TEST_F(VariantTest, TellWhyNoneIsForTheSizes) {
  Package package = makeVariants();
  Module module(package);
  EXPECT_EQ(failLaunch(module, Tensors(1, 2000)),
            "the package of 'attend' has no code for these sizes: it is for T "
            "<= 64 (found 2000); T > 64, T <= 1000 (found 2000): compile it "
            "for them, too");
  for (int64_t value : {3000, 3001, 3002, 3001})
    package.variants.push_back(
        makeVariant(Step::Kind::Equal, false, value, package));
  Module more(package);
  EXPECT_THAT(failLaunch(more, Tensors(1, 2000)),
              HasSubstr("; guard 3000 (found 2000); guard 3001 (found 2000); "
                        "and 1 more: compile it"));
  // A variant for fewer calls than an earlier one changes nothing.
  Package within = makeVariants();
  within.variants.insert(within.variants.begin(), within.variants[0]);
  within.variants[0].steps.push_back({Step::Kind::Equal, 0, {0, 1}});
  within.variants[0].guards.push_back({3, "T = 64"});
  Module few(within);
  EXPECT_THAT(failLaunch(few, Tensors(1, 2000)),
              HasSubstr("it is for T <= 64 (found 2000); T > 64"));
  Package two = makePackage();
  two.variants[0].steps = {{Step::Kind::Dim, 0, {0}},
                           {Step::Kind::Dim, 1, {0}},
                           {Step::Kind::Less, 0, {0, 1}}};
  two.variants[0].guards = {{2, "B < T"}};
  Module pair(two);
  EXPECT_THAT(failLaunch(pair, Tensors(3, 2)),
              HasSubstr("it is for B < T (found 3 < 2): compile"));
  Package none = makePackage();
  none.variants.clear();
  std::string bytes = writePackage(none);
  nsacc_rt_module *loaded = nullptr;
  EXPECT_EQ(nsacc_rt_load(bytes.data(), bytes.size(), 0, &loaded),
            NSACC_RT_PACKAGE);
  EXPECT_THAT(nsacc_rt_message(),
              HasSubstr("the package has code for nothing; this device"));
}

TEST_F(VariantTest, GuardsMayLeave64Bits) {
  Package package = makeVariants();
  package.variants[0].steps[2].kind = Step::Kind::CeilDiv;
  package.variants[0].steps.push_back({Step::Kind::Equal, 0, {0, 1}});
  package.variants[0].guards[0].number = 3;
  package.variants[0].steps[1].value = 0;
  Module module(package);
  EXPECT_EQ(failLaunch(module, Tensors(1, 64)),
            "the launch plan divides by zero");
}

TEST_F(VariantTest, TellWhatIsWrongWhenTheyAreNeeded) {
  Package package = makeVariants();
  package.images[1].ptx = "nonsense";
  Module module(package);
  expectLaunch(module, Tensors(1, 64));
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(failLaunch(module, Tensors(1, 65), NSACC_RT_DRIVER),
                AllOf(HasSubstr("the code of 'attend' for sm_90a"),
                      HasSubstr("ptxas fatal: no version")));
  expectLaunch(module, Tensors(1, 64));
  package = makeVariants();
  package.variants[1].targets[0].plan.launches[1].arguments.pop_back();
  Module passing(package);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(failLaunch(passing, Tensors(1, 65), NSACC_RT_PACKAGE),
              "damaged package: kernel 'many_scale' takes 12 parameters, its "
              "launch passes 11");
}

// Code for another device is ignored.
TEST_F(VariantTest, AreOfTheDevice) {
  Package package = makeVariants();
  package.variants[0].targets[0].architecture = "sm_100a";
  Module module(package);
  expectLaunch(module, Tensors(1, 100));
  EXPECT_EQ(failLaunch(module, Tensors(1, 64)),
            "the package of 'attend' has no code for these sizes: it is for T "
            "> 64 (found 64), T <= 1000: compile it for them, too");
  package.variants[1].targets[0].architecture = "sm_100a";
  std::string bytes = writePackage(package);
  nsacc_rt_module *loaded = nullptr;
  EXPECT_EQ(nsacc_rt_load(bytes.data(), bytes.size(), 0, &loaded),
            NSACC_RT_PACKAGE);
  EXPECT_THAT(nsacc_rt_message(),
              HasSubstr("has code for sm_100a; this device is sm_90"));
}

// Shared images are compiled once.
TEST_F(VariantTest, ShareImages) {
  Package package = makeVariants();
  package.variants[1].targets = package.variants[0].targets;
  Module module(package);
  expectLaunch(module, Tensors(1, 64));
  expectLaunch(module, Tensors(1, 65));
  EXPECT_EQ(fakecuda::countCalls("cuModuleLoadDataEx"), 1u);
  EXPECT_THAT(getKernels(),
              ::testing::ElementsAre("fill", "scale", "fill", "scale"));
  // Both launches of a kernel have enough shared memory, in either order.
  package.variants[1].targets[0].plan.launches[1].sharedBytes = 1024;
  Module both(package);
  expectLaunch(both, Tensors(1, 64));
  expectLaunch(both, Tensors(1, 65));
  expectLaunch(both, Tensors(1, 64));
}

// An image that fails doesn't affect others.
TEST_F(VariantTest, KeepTheImagesThatLoad) {
  Package package = makePackage();
  package.images.push_back({"nonsense", "", {}});
  package.variants.push_back(package.variants[0]);
  package.variants[0].steps = makeVariants().variants[0].steps;
  package.variants[0].guards = makeVariants().variants[0].guards;
  package.variants[0].targets[0].plan.launches[1].image = 1;
  {
    Module module(package);
    EXPECT_THAT(failLaunch(module, Tensors(1, 64), NSACC_RT_DRIVER),
                HasSubstr("ptxas fatal: no version"));
    fakecuda::reset();
    expectLaunch(module, Tensors(1, 65));
    EXPECT_EQ(fakecuda::countCalls("cuModuleLoadDataEx"), 0u);
  }
  EXPECT_EQ(fakecuda::countCalls("cuModuleUnload"), 1u);
  // Without guards, errors occur when the package is loaded; then there is no
  // module.
  package.variants.pop_back();
  package.variants[0].guards.clear();
  fakecuda::reset();
  std::string bytes = writePackage(package);
  nsacc_rt_module *loaded = nullptr;
  EXPECT_EQ(nsacc_rt_load(bytes.data(), bytes.size(), 0, &loaded),
            NSACC_RT_DRIVER);
  EXPECT_EQ(fakecuda::countCalls("cuModuleLoadDataEx"), 2u);
  EXPECT_EQ(fakecuda::countCalls("cuModuleUnload"), 1u);
}

TEST_F(VariantTest, MayCoverEachOther) {
  using Kind = Step::Kind;
  Package package = makePackage();
  auto make = [&](Kind kind, bool isConstantFirst, int64_t value) {
    return makeVariant(kind, isConstantFirst, value, package);
  };
  Variant any = package.variants[0],
          atMost64 = make(Kind::LessEqual, false, 64),
          below65 = make(Kind::Less, false, 65),
          below64 = make(Kind::Less, false, 64),
          is64 = make(Kind::Equal, false, 64),
          above63 = make(Kind::Less, true, 63),
          atLeast64 = make(Kind::LessEqual, true, 64),
          isnt64 = make(Kind::NotEqual, false, 64),
          none = make(Kind::Less, true, INT64_MAX);
  for (const Variant *each : {&atMost64, &below65, &is64, &isnt64, &none}) {
    EXPECT_TRUE(covers(any, *each));
    EXPECT_FALSE(covers(*each, any));
    EXPECT_TRUE(covers(*each, *each));
  }
  EXPECT_TRUE(covers(atMost64, below65));
  EXPECT_TRUE(covers(below65, atMost64));
  EXPECT_TRUE(covers(atMost64, below64));
  EXPECT_FALSE(covers(below64, atMost64));
  EXPECT_TRUE(covers(atMost64, is64));
  EXPECT_TRUE(covers(above63, atLeast64));
  EXPECT_TRUE(covers(atLeast64, above63));
  EXPECT_FALSE(covers(atLeast64, atMost64));
  EXPECT_FALSE(covers(isnt64, below64)) << "is seen by equal guards alone";
  EXPECT_TRUE(covers(atMost64, none)) << "no call fits it";
  // Numbers are equal even if different steps compute them.
  Package variants = makeVariants();
  EXPECT_FALSE(covers(variants.variants[0], variants.variants[1]));
  Variant both = variants.variants[1];
  both.guards.push_back({2, ""});
  both.guards.erase(both.guards.begin());
  EXPECT_TRUE(covers(variants.variants[1], both));
  EXPECT_TRUE(covers(both, variants.variants[1]));
}

TEST_F(VariantTest, AreShadowed) {
  using Pairs = std::vector<std::pair<size_t, size_t>>;
  Package package = makeVariants();
  EXPECT_EQ(findShadowed(package), Pairs());
  package.variants.push_back(package.variants[0]);
  EXPECT_EQ(findShadowed(package), (Pairs{{2, 0}}));
  // On other devices, that variant runs.
  package.variants[2].targets[0].architecture = "sm_80";
  EXPECT_EQ(findShadowed(package), Pairs());
  // Machine code alone may not run on all devices that run PTX.
  package.variants[2].targets[0].architecture = "sm_90a";
  package.images.push_back({"", "machine code", {}});
  package.variants[0].targets[0].plan.launches[0].image = 2;
  EXPECT_EQ(findShadowed(package), Pairs());
  package.variants[2].targets[0].architecture = "sm_80";
  package.variants.insert(package.variants.begin(), makePackage().variants[0]);
  EXPECT_EQ(findShadowed(package), (Pairs{{1, 0}, {2, 0}}));
}

// Assertions count from 0 in each variant.
TEST_F(VariantTest, HaveFailuresOfTheirOwn) {
  Module module(makeVariants());
  expectLaunch(module, Tensors(1, 64));
  expectLaunch(module, Tensors(1, 65));
  const auto &launches = fakecuda::getLaunches();
  ASSERT_EQ(launches.size(), 4u);
  EXPECT_NE(launches[1].getWord(10), launches[3].getWord(10));
  auto *record = reinterpret_cast<uint64_t *>(launches[3].getWord(10));
  record[NSACC_RT_FAILURE_VALUES] = 65;
  record[NSACC_RT_FAILURE_ASSERTION] = 0;
  record[NSACC_RT_FAILURE_COUNT] = 2;
  EXPECT_EQ(nsacc_rt_check(module, nullptr), NSACC_RT_FAILED);
  EXPECT_STREQ(nsacc_rt_message(), "too many: 65");
  EXPECT_EQ(nsacc_rt_check(module, nullptr), NSACC_RT_OK);
}

TEST_F(VariantTest, MayBeNeededFirstInACapture) {
  driver::Stream stream = fakecuda::createStream(0);
  {
    Module module(makeVariants());
    fakecuda::beginCapture(stream);
    expectLaunch(module, Tensors(1, 64), stream);
    expectLaunch(module, Tensors(1, 65), stream);
    EXPECT_TRUE(fakecuda::endCapture(stream));
  }
  // Graphs may still run these kernels.
  EXPECT_EQ(fakecuda::countCalls("cuModuleUnload"), 0u);
  fakecuda::destroyStream(stream);
  expectKept();
}

TEST_F(VariantTest, AreCompiledOnceForAllThreads) {
  Module module(makeVariants());
  std::vector<driver::Stream> streams;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    streams.push_back(fakecuda::createStream(0));
  for (unsigned i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      for (int64_t round = 0; round < 50; ++round)
        expectLaunch(module, Tensors(1, 1 + (i + round) % 2 * 100), streams[i]);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(fakecuda::countCalls("cuModuleLoadDataEx"), 2u);
  EXPECT_EQ(fakecuda::getLaunches().size(), 8u * 50 * 2);
  for (driver::Stream stream : streams)
    fakecuda::destroyStream(stream);
}

TEST_F(VariantTest, StandInPackages) {
  Package package = makeVariants();
  std::string bytes = writePackage(package);
  Package read = readPackage(bytes.data(), bytes.size());
  EXPECT_EQ(writePackage(read), bytes);
  ASSERT_EQ(read.variants.size(), 2u);
  EXPECT_EQ(read.variants[1].guards[1].what, "T <= 1000");
  std::string text = describePackage(read);
  EXPECT_THAT(text, HasSubstr(R"({"what":"T > 64","number":2})"));
  EXPECT_THAT(text, HasSubstr(R"(["less",0,1])"));
  EXPECT_THAT(text, HasSubstr(R"({"message":"too many: {0}","values":1})"));
}

static std::string failRead(void (*change)(Package &)) {
  Package package = makeVariants();
  change(package);
  return nsacc::rt::failRead(writePackage(package));
}

TEST_F(VariantTest, AreCheckedWhenTheyAreRead) {
  EXPECT_EQ(failRead([](Package &) {}), "read");
  EXPECT_EQ(failRead([](Package &package) {
              package.variants[0].guards[0].number = 3;
            }),
            "damaged package: there is no number 3");
  EXPECT_EQ(failRead([](Package &package) {
              package.variants[0].guards[0].number = 1;
            }),
            "damaged package: guard 'T <= 64' is no comparison");
  EXPECT_EQ(failRead([](Package &package) {
              package.variants[0].steps[2].operands[1] = 2;
            }),
            "damaged package: there is no number 2");
  EXPECT_EQ(failRead([](Package &package) {
              package.variants[1].steps[1].value = 3;
            }),
            "damaged package: there is no dimension 3");
  EXPECT_EQ(failRead([](Package &package) {
              package.variants.resize(65, package.variants[0]);
            }),
            "damaged package: 'variants' has 65 elements, more than 64");
  EXPECT_EQ(failRead([](Package &package) {
              package.variants[0].steps.resize(1025,
                                               package.variants[0].steps[1]);
            }),
            "damaged package: 'steps' has 1025 elements, more than 1024");
}
