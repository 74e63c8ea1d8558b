//===- HostTest.cpp - Packages on the host's processor --------------------===//

#include "nsacc/RT/Host.h"
#include "ExamplePackage.h"
#include "nsacc-rt/nsacc_rt.h"
#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <numeric>
#include <set>

using namespace nsacc;
using namespace nsacc::rt;
using ::testing::HasSubstr;

//===----------------------------------------------------------------------===//
// Functions of the runtime
//===----------------------------------------------------------------------===//

using Unary = float (*)(float);

static Unary find(const char *name) {
  return reinterpret_cast<Unary>(findHostFunction(name));
}

template <typename To, typename From> static To cast(From value) {
  To result = {};
  std::memcpy(&result, &value, std::min(sizeof(To), sizeof(From)));
  return result;
}

/// Tries every f16, and the numbers halfway to the next one and next to that.
TEST(HostFunctionsTest, HalvesAreConverted) {
  Unary extend = find("__extendhfsf2"), truncate = find("__truncsfhf2");
  auto toHalf = [&](float value) {
    return static_cast<uint16_t>(cast<uint32_t>(truncate(value)));
  };
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto exact =
        static_cast<float>(cast<_Float16>(static_cast<uint16_t>(bits)));
    float extended = extend(cast<float>(bits));
    if (std::isnan(exact)) {
      EXPECT_TRUE(std::isnan(extended)) << bits;
      EXPECT_EQ(toHalf(extended) & 0x7e00, 0x7e00) << bits;
      continue;
    }
    ASSERT_EQ(cast<uint32_t>(extended), cast<uint32_t>(exact)) << bits;
    ASSERT_EQ(toHalf(exact), bits);
    auto next =
        static_cast<float>(cast<_Float16>(static_cast<uint16_t>(bits + 1)));
    float half = exact + (next - exact) / 2;
    for (float value :
         {half, std::nextafter(half, 0.0f), std::nextafter(half, 1e9f),
          std::nextafter(half, -1e9f)})
      if (!std::isnan(value))
        ASSERT_EQ(toHalf(value), cast<uint16_t>(static_cast<_Float16>(value)))
            << value;
  }
  for (float value : {65519.9f, 65520.0f, 1e30f, -1e30f, INFINITY, -INFINITY,
                      1e-8f, 2.9802322e-8f, 2.9802326e-8f, -1e-30f})
    EXPECT_EQ(toHalf(value), cast<uint16_t>(static_cast<_Float16>(value)))
        << value;
}

TEST(HostFunctionsTest, BrainFloatsAreRounded) {
  Unary truncate = find("__truncsfbf2");
  auto toBF16 = [&](uint32_t bits) {
    return static_cast<uint16_t>(cast<uint32_t>(truncate(cast<float>(bits))));
  };
  EXPECT_EQ(toBF16(0x3f800000), 0x3f80);
  EXPECT_EQ(toBF16(0x3f808000), 0x3f80) << "a tie goes to the even one";
  EXPECT_EQ(toBF16(0x3f818000), 0x3f82);
  EXPECT_EQ(toBF16(0x3f808001), 0x3f81);
  EXPECT_EQ(toBF16(0x7f7fffff), 0x7f80);
  EXPECT_EQ(toBF16(0x7f800001), 0x7fc0);
  EXPECT_EQ(toBF16(0xff800000), 0xff80);
  EXPECT_EQ(findHostFunction("system"), nullptr);
}

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

#if defined(__x86_64__)

namespace {

class HostTest : public ::testing::Test {
protected:
  ~HostTest() override { nsacc_rt_unload(module); }

  nsacc_rt_status load(const Package &package) {
    nsacc_rt_unload(module);
    std::string bytes = writePackage(package);
    return nsacc_rt_load(bytes.data(), bytes.size(), NSACC_RT_HOST, &module);
  }
  /// The error of loading a changed package.
  template <typename Change> std::string fail(Change change) {
    Package package = makeHostPackage();
    change(package, package.images[0].host, package.variants[0].targets[0]);
    return load(package) == NSACC_RT_OK ? "no error" : nsacc_rt_message();
  }
  nsacc_rt_status run(std::vector<int32_t> &out, int64_t count,
                      int64_t stride = 1,
                      const nsacc_rt_host_options *options = nullptr) {
    nsacc_rt_tensor tensor = {out.data(), NSACC_DTYPE_I32, 1, &count, &stride};
    return nsacc_rt_run_on_host(module, &tensor, 1, options);
  }

  nsacc_rt_module *module = nullptr;
};

} // namespace

TEST_F(HostTest, RunsEveryPoint) {
  ASSERT_EQ(load(makeHostPackage()), NSACC_RT_OK) << nsacc_rt_message();
  EXPECT_EQ(nsacc_rt_module_device(module), NSACC_RT_HOST);
  EXPECT_STREQ(nsacc_rt_target(module), "x86-64");
  EXPECT_EQ(nsacc_rt_launch_count(module), 1u);
  for (int64_t count : {0, 1, 2, 97, 100'000})
    for (uint32_t threads : {0, 1, 3}) {
      std::vector<int32_t> out(count + 1, -1), expected(count + 1);
      std::iota(expected.begin(), expected.end(), 0);
      expected.back() = -1;
      nsacc_rt_host_options options = {threads, nullptr, nullptr};
      ASSERT_EQ(run(out, count, 1, &options), NSACC_RT_OK)
          << nsacc_rt_message();
      EXPECT_EQ(out, expected);
    }
}

/// Writes every second element; the others keep their values.
TEST_F(HostTest, TensorsOfOtherStridesAreCopied) {
  ASSERT_EQ(load(makeHostPackage()), NSACC_RT_OK);
  std::vector<int32_t> out(14, -1);
  ASSERT_EQ(run(out, 7, 2), NSACC_RT_OK) << nsacc_rt_message();
  EXPECT_THAT(out, ::testing::ElementsAre(0, -1, 1, -1, 2, -1, 3, -1, 4, -1, 5,
                                          -1, 6, -1));
}

TEST_F(HostTest, ResultsShareNoMemory) {
  ASSERT_EQ(load(makeHostPackage()), NSACC_RT_OK);
  std::vector<int32_t> out(7, -1);
  EXPECT_EQ(run(out, 7, 0), NSACC_RT_INVALID);
  EXPECT_STREQ(nsacc_rt_message(),
               "result 'out': dimension 0 has stride 0: its "
               "elements share memory");
  EXPECT_EQ(run(out, 1, 0), NSACC_RT_OK);
}

/// Compares layouts of a result of three dimensions with a list of its
/// elements' offsets.
TEST_F(HostTest, ElementsOfAResultShareNoMemory) {
  Package package = makeHostPackage();
  Parameter &out = package.parameters[0];
  out.sizes.resize(3);
  out.sizes[1].name = "M";
  out.sizes[2].name = "K";
  out.strides.resize(3);
  out.order = {0, 1, 2};
  ASSERT_EQ(load(package), NSACC_RT_OK) << nsacc_rt_message();
  std::vector<int32_t> data(200);
  int64_t shared = 0;
  auto check = [&](std::array<int64_t, 3> sizes,
                   std::array<int64_t, 3> strides) {
    std::set<int64_t> places;
    for (int64_t i = 0; i < sizes[0]; ++i)
      for (int64_t j = 0; j < sizes[1]; ++j)
        for (int64_t k = 0; k < sizes[2]; ++k)
          places.insert(i * strides[0] + j * strides[1] + k * strides[2]);
    auto count = static_cast<int64_t>(places.size());
    bool areApart = count == sizes[0] * sizes[1] * sizes[2];
    shared += !areApart;
    nsacc_rt_tensor tensor = {data.data() + 100, NSACC_DTYPE_I32, 3,
                              sizes.data(), strides.data()};
    EXPECT_EQ(nsacc_rt_run_on_host(module, &tensor, 1, nullptr),
              areApart ? NSACC_RT_OK : NSACC_RT_INVALID)
        << ::testing::PrintToString(sizes) << ::testing::PrintToString(strides);
  };
  for (int64_t sizes = 0; sizes < 64; ++sizes)
    for (int64_t strides = 0; strides < 12 * 12 * 12; ++strides)
      check({sizes % 4, sizes / 4 % 4, sizes / 16},
            {strides % 12 - 5, strides / 12 % 12 - 5, strides / 144 - 5});
  EXPECT_GT(shared, 1000);
  int64_t shape[] = {2, 3, 4}, strides[] = {11, 4, 1};
  nsacc_rt_tensor tensor = {data.data(), NSACC_DTYPE_I32, 3, shape, strides};
  EXPECT_EQ(nsacc_rt_run_on_host(module, &tensor, 1, nullptr),
            NSACC_RT_INVALID);
  EXPECT_STREQ(nsacc_rt_message(),
               "result 'out': its elements share memory: strides [11, 4, 1] of "
               "shape [2, 3, 4]");
}

/// If there is nothing to compute, inputs aren't copied.
TEST_F(HostTest, ResultsWithoutElementsTakeNothing) {
  Package package = makeHostPackage();
  Parameter input = package.parameters[0];
  input.name = "x";
  input.isResult = false;
  input.sizes[0].name = "K";
  input.strides[0] = 1;
  package.parameters.insert(package.parameters.begin(), input);
  Plan &plan = package.variants[0].targets[0].plan;
  plan.steps[0].operands[0] = 1;
  plan.launches[0].arguments = {{true, 1}};
  ASSERT_EQ(load(package), NSACC_RT_OK) << nsacc_rt_message();
  int32_t data[3] = {-1, -1, -1};
  int64_t many = int64_t(1) << 60, none = 0, one = 1, same = 0;
  auto run = [&](const int64_t *count) {
    nsacc_rt_tensor tensors[] = {{data, NSACC_DTYPE_I32, 1, &many, &same},
                                 {data + 1, NSACC_DTYPE_I32, 1, count, &one}};
    return nsacc_rt_run_on_host(module, tensors, 2, nullptr);
  };
  EXPECT_EQ(run(&none), NSACC_RT_OK) << nsacc_rt_message();
  EXPECT_EQ(nsacc_rt_workspace_bytes(module), 0);
  EXPECT_THAT(data, ::testing::Each(-1));
}

/// Two results and an input; the code writes one of them.
TEST_F(HostTest, ResultsAreApart) {
  Package package = makeHostPackage();
  Parameter more = package.parameters[0], input = more;
  more.name = "more";
  more.sizes[0].name = "M";
  input.name = "x";
  input.sizes[0].name = "K";
  input.isResult = false;
  package.parameters = {input, package.parameters[0], more};
  Plan &plan = package.variants[0].targets[0].plan;
  plan.steps[0].operands[0] = 1;
  plan.launches[0].arguments = {{true, 1}};
  ASSERT_EQ(load(package), NSACC_RT_OK) << nsacc_rt_message();
  std::vector<int32_t> data(20, -1);
  auto at = [&](int64_t first, const int64_t *count, const int64_t *stride) {
    return nsacc_rt_tensor{data.data() + first, NSACC_DTYPE_I32, 1, count,
                           stride};
  };
  int64_t five = 5, none = 0, one = 1, two = 2, back = -1;
  auto run = [&](nsacc_rt_tensor x, nsacc_rt_tensor out, nsacc_rt_tensor more) {
    nsacc_rt_tensor tensors[] = {x, out, more};
    return nsacc_rt_run_on_host(module, tensors, 3, nullptr);
  };
  nsacc_rt_tensor x = at(15, &five, &one), empty = at(2, &none, &one);
  for (nsacc_rt_tensor more :
       {at(3, &five, &one), at(4, &five, &one), at(6, &five, &back)}) {
    EXPECT_EQ(run(x, at(0, &five, &one), more), NSACC_RT_INVALID);
    EXPECT_STREQ(nsacc_rt_message(),
                 "result 'more': its memory is in part that of result 'out', "
                 "which is still needed when it's written");
  }
  EXPECT_EQ(data, std::vector<int32_t>(20, -1));
  EXPECT_EQ(run(x, at(0, &five, &one), at(5, &five, &one)), NSACC_RT_OK);
  EXPECT_EQ(run(x, at(0, &five, &one), empty), NSACC_RT_OK);
  // They lie in each other's gaps.
  EXPECT_EQ(run(x, at(0, &five, &two), at(1, &five, &two)), NSACC_RT_OK);
  // On the host, a result over an input is computed beside it.
  EXPECT_EQ(run(at(12, &five, &one), at(10, &five, &one), at(0, &five, &one)),
            NSACC_RT_OK)
      << nsacc_rt_message();
  EXPECT_THAT(std::vector<int32_t>(data.begin() + 10, data.begin() + 15),
              ::testing::ElementsAre(0, 1, 2, 3, 4));
}

/// The host's memory is allocated like a device's.
TEST_F(HostTest, MemoryIsTheProcesss) {
  void *data = nullptr;
  ASSERT_EQ(nsacc_rt_allocate(NSACC_RT_HOST, 0, &data), NSACC_RT_OK);
  nsacc_rt_free(NSACC_RT_HOST, data);
  ASSERT_EQ(nsacc_rt_allocate(NSACC_RT_HOST, 100, &data), NSACC_RT_OK);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
  char text[100] = "text", back[100];
  EXPECT_EQ(nsacc_rt_to_device(NSACC_RT_HOST, data, text, 100), NSACC_RT_OK);
  EXPECT_EQ(nsacc_rt_to_host(NSACC_RT_HOST, back, data, 100), NSACC_RT_OK);
  EXPECT_STREQ(back, "text");
  EXPECT_EQ(nsacc_rt_to_host(NSACC_RT_HOST, back, nullptr, 1),
            NSACC_RT_INVALID);
  EXPECT_EQ(nsacc_rt_synchronize(NSACC_RT_HOST, nullptr), NSACC_RT_OK);
  EXPECT_EQ(nsacc_rt_synchronize(NSACC_RT_HOST, data), NSACC_RT_INVALID);
  nsacc_rt_free(NSACC_RT_HOST, data);
  EXPECT_EQ(nsacc_rt_allocate(NSACC_RT_HOST, SIZE_MAX, &data), NSACC_RT_MEMORY);
  nsacc_rt_device_info info;
  EXPECT_EQ(nsacc_rt_device(NSACC_RT_HOST, &info), NSACC_RT_INVALID);
}

TEST_F(HostTest, RunsCanBeInterrupted) {
  ASSERT_EQ(load(makeHostPackage()), NSACC_RT_OK);
  std::vector<int32_t> out(100'000'000);
  nsacc_rt_host_options options = {1, [](void *) { return 1; }, nullptr};
  // A run may end before it asks.
  nsacc_rt_status status = run(out, 100'000'000, 1, &options);
  EXPECT_TRUE(status == NSACC_RT_INTERRUPTED || status == NSACC_RT_OK);
}

TEST_F(HostTest, MistakesAreErrors) {
  ASSERT_EQ(load(makeHostPackage()), NSACC_RT_OK);
  std::vector<int32_t> out(4);
  int64_t size = 4;
  nsacc_rt_tensor tensor = {nullptr, NSACC_DTYPE_I32, 1, &size, nullptr};
  EXPECT_EQ(nsacc_rt_launch(module, &tensor, 1, nullptr), NSACC_RT_INVALID);
  EXPECT_STREQ(nsacc_rt_message(), "result 'out': its data is a null pointer");
  tensor.data = out.data();
  EXPECT_EQ(nsacc_rt_launch(module, &tensor, 1, &size), NSACC_RT_INVALID);
  EXPECT_STREQ(nsacc_rt_message(),
               "the module is the host's, which has no stream but NULL");
  EXPECT_EQ(nsacc_rt_launch(module, &tensor, 1, nullptr), NSACC_RT_OK);
  tensor.dtype = NSACC_DTYPE_F32;
  EXPECT_EQ(nsacc_rt_launch(module, &tensor, 1, nullptr), NSACC_RT_INVALID);
  EXPECT_STREQ(nsacc_rt_message(),
               "result 'out': expected elements of i32, found f32");
  EXPECT_EQ(nsacc_rt_reserve(module, &tensor, 1, nullptr), NSACC_RT_OK);
  EXPECT_EQ(nsacc_rt_check(module, nullptr), NSACC_RT_OK);
  EXPECT_EQ(nsacc_rt_run_on_host(nullptr, &tensor, 1, nullptr),
            NSACC_RT_INVALID);
  for (int64_t large : {INT64_MAX, INT64_MIN}) {
    size = large;
    tensor.dtype = NSACC_DTYPE_I32;
    EXPECT_EQ(nsacc_rt_launch(module, &tensor, 1, nullptr), NSACC_RT_INVALID);
    EXPECT_EQ(nsacc_rt_message(), "result 'out': size 0 is " +
                                      std::to_string(large) +
                                      "; sizes have to be from 0 to 2^63 - 2");
  }
}

TEST_F(HostTest, NullTensorsAreErrors) {
  ASSERT_EQ(load(makeHostPackage()), NSACC_RT_OK);
  EXPECT_EQ(nsacc_rt_launch(module, nullptr, 8, nullptr), NSACC_RT_INVALID);
  EXPECT_STREQ(nsacc_rt_message(), "tensors is a null pointer");
  EXPECT_EQ(nsacc_rt_run_on_host(module, nullptr, 1, nullptr),
            NSACC_RT_INVALID);
  EXPECT_STREQ(nsacc_rt_message(), "tensors is a null pointer");
  EXPECT_EQ(nsacc_rt_launch(module, nullptr, 0, nullptr), NSACC_RT_INVALID);
  EXPECT_STREQ(nsacc_rt_message(),
               "expected 1 tensors, inputs and then results, found 0: in "
               "functions of a header by nsacc, sizes is a null pointer");
}

/// With wrong offsets, rows outside of tensors would be read and written.
TEST_F(HostTest, OffsetsDivideTheTokens) {
  for (DType dtype : {DType::I32, DType::I64}) {
    Package package = makeHostPackage();
    package.parameters[0].sizes[0].name = "ragged N";
    package.parameters.push_back(
        {"rows", dtype, {{{}, "offsets"}}, {std::nullopt}, {0}, false, "N"});
    ASSERT_EQ(load(package), NSACC_RT_OK) << nsacc_rt_message();
    auto fail = [&](int64_t tokens, std::vector<int64_t> offsets,
                    int64_t stride = 1) -> std::string {
      std::vector<int32_t> out(10);
      std::vector<int32_t> narrow(offsets.begin(), offsets.end());
      auto count = static_cast<int64_t>(offsets.size()) / stride;
      bool isWide = dtype == DType::I64;
      nsacc_rt_tensor tensors[] = {
          {out.data(), NSACC_DTYPE_I32, 1, &tokens, nullptr},
          {isWide ? static_cast<void *>(offsets.data()) : narrow.data(),
           isWide ? NSACC_DTYPE_I64 : NSACC_DTYPE_I32, 1, &count, &stride}};
      return nsacc_rt_launch(module, tensors, 2, nullptr) == NSACC_RT_OK
                 ? "no error"
                 : nsacc_rt_message();
    };
    EXPECT_EQ(fail(10, {0, 3, 3, 10}), "no error");
    EXPECT_EQ(fail(10, {0, -7, 3, -7, 10, -7}, 2), "no error");
    EXPECT_EQ(fail(0, {0}), "no error");
    EXPECT_EQ(fail(0, {}), "input 'rows': it's empty: offsets of B rows are "
                           "B + 1 numbers, the first of them 0");
    EXPECT_EQ(fail(10, {1, 10}), "input 'rows': offsets start with 0, found 1");
    EXPECT_EQ(fail(10, {0, 7, 5, 10}),
              "input 'rows': offsets don't decrease: entry 2 is 5 after 7");
    EXPECT_EQ(fail(10, {0, 7, 9}),
              "input 'rows': offsets end with the number of tokens: the last "
              "is 9, and dimension N is 10");
    EXPECT_EQ(fail(0, {0, 7}),
              "input 'rows': offsets end with the number of tokens: the last "
              "is 7, and dimension N is 0");
  }
}

TEST_F(HostTest, CodeThatDoesNotRunHereIsRefused) {
  EXPECT_THAT(
      fail([](auto &, auto &, auto &code) { code.architecture = "aarch64"; }),
      HasSubstr("the package has code for aarch64; this processor is "
                "x86-64-v"));
  EXPECT_THAT(fail([](auto &, auto &, auto &code) {
                code.architecture = "sm_90a";
                code.plan.launches[0].threads = 128;
              }),
              HasSubstr("the package has code for sm_90a"));
  EXPECT_THAT(fail([](auto &, auto &, auto &code) {
                code.architecture = kThisProcessor;
              }),
              HasSubstr("the processor that compiled it"));
  EXPECT_THAT(fail([](auto &, auto &, auto &code) {
                code.stackBytes = INT64_C(1) << 39;
              }),
              HasSubstr("bytes of a stack of"));
  EXPECT_THAT(fail([](auto &, HostImage &image, auto &) {
                image.functions = {"expf", "launch_missiles"};
              }),
              HasSubstr("it calls 'launch_missiles', which this runtime "
                        "hasn't"));
  EXPECT_THAT(fail([](auto &, HostImage &image, auto &) {
                image.kernels[0].name = "other";
              }),
              HasSubstr("it has no kernel 'count_0'"));
  EXPECT_THAT(
      fail([](auto &, HostImage &image, auto &) { image.writableBytes = 64; }),
      HasSubstr("no whole pages"));
}

/// Pointers of an image to places outside of it are refused.
TEST_F(HostTest, ImagesStayWithinTheirBytes) {
  auto size =
      static_cast<uint32_t>(makeHostPackage().images[0].host.bytes.size());
  EXPECT_THAT(fail([&](auto &, HostImage &image, auto &) {
                image.kernels[0].offset = size;
              }),
              HasSubstr("there is no byte"));
  for (uint32_t offset : {size - 7, size, UINT32_MAX})
    EXPECT_THAT(fail([&](auto &, HostImage &image, auto &) {
                  image.pointers = {0, offset};
                }),
                HasSubstr("byte"))
        << offset;
  EXPECT_EQ(fail([&](auto &, HostImage &image, auto &) {
              image.pointers = {8, 4088};
            }),
            "no error");
  EXPECT_THAT(fail([&](auto &, HostImage &image, auto &) {
                image.writableBytes = size + 1;
              }),
              HasSubstr("expected bytes from 0 to"));
  EXPECT_THAT(fail([&](auto &, HostImage &image, auto &) {
                image.functions.assign(513, "expf");
              }),
              HasSubstr("a table of 513 functions in 4096 bytes"));
  EXPECT_THAT(
      fail([&](auto &, HostImage &image, auto &) { image = HostImage(); }),
      HasSubstr("in an image without its code"));
  EXPECT_THAT(fail([&](auto &, auto &, TargetCode &code) {
                code.plan.launches[0].extra.push_back(
                    {ExtraParameter::Kind::Counter, {}});
              }),
              HasSubstr("takes parameters of a GPU"));
  EXPECT_THAT(fail([&](auto &, auto &, TargetCode &code) {
                code.plan.launches[0].threads = 32;
              }),
              HasSubstr("expected threads from 0 to 0"));
}

#endif

// In whichever order C computes the arguments of a call, the message is the
// last one's.
TEST(MessageTest, MessagesStandInOnePlace) {
  const char *before = nsacc_rt_message();
  nsacc_rt_module *module = nullptr;
  EXPECT_EQ(nsacc_rt_load("x", 1, NSACC_RT_HOST, &module), NSACC_RT_PACKAGE);
  EXPECT_THAT(before, HasSubstr("not a package"));
  std::string path(3000, 'x');
  EXPECT_EQ(nsacc_rt_load_file(path.c_str(), NSACC_RT_HOST, &module),
            NSACC_RT_INVALID);
  EXPECT_THAT(before, HasSubstr(path));
  EXPECT_EQ(nsacc_rt_message(), before);
  int count;
  nsacc_rt_device_count(&count);
  EXPECT_EQ(nsacc_rt_message(), before);
}

// Messages are cut at the beginning of a character.
TEST(MessageTest, MessagesAreBounded) {
  nsacc_rt_module *module = nullptr;
  for (size_t shift = 0; shift < 4; ++shift) {
    std::string path(shift, 'x');
    while (path.size() < 5000)
      path += "\xe2\x82\xac";
    nsacc_rt_load_file(path.c_str(), NSACC_RT_HOST, &module);
    std::string message = nsacc_rt_message();
    EXPECT_GT(message.size(), 4000u);
    EXPECT_LT(message.size(), 4096u);
    EXPECT_EQ(message.substr(message.size() - 6), "\xe2\x82\xac...");
  }
}
