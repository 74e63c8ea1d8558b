//===- ExamplePackage.cpp - A package for tests of the runtime ------------===//

#include "ExamplePackage.h"
#include <stdexcept>

using namespace nsacc::rt;

static const char *const kPTX = R"(
.version 9.0
.target sm_90a
.address_size 64
.visible .entry fill(
  .param .u64 o, .param .u64 o_0, .param .u64 o_1, .param .u64 o_2,
  .param .u64 o_3, .param .u64 o_4, .param .u64 o_5,
  .param .u64 w, .param .u64 w_0, .param .u64 w_1, .param .u64 w_2, .param .u64 w_3,
  .param .u64 T,
  .param .align 64 .b8 map[128]
) { ret; }
.visible .entry scale(
  .param .u64 w, .param .u64 w_0, .param .u64 w_1, .param .u64 w_2, .param .u64 w_3,
  .param .u64 v, .param .u64 v_0, .param .u64 v_1,
  .param .u32 n,
  .param .u64 counter, .param .u64 failures, .param .u64 raised
) { ret; }
)";

static TargetCode makeCode() {
  using Kind = Step::Kind;
  TargetCode code;
  code.architecture = "sm_90a";
  code.assertions = {{"no reason", 0},
                     {"table 'doc' is read at {1} in row {0}", 2}};
  code.plan.steps = {
      {Kind::Dim, 0, {0}},        // 0: B
      {Kind::Dim, 1, {0}},        // 1: T
      {Kind::Constant, 32, {}},   // 2
      {Kind::CeilDiv, 0, {1, 2}}, // 3
      {Kind::Constant, 1, {}},    // 4
      {Kind::Constant, 1000, {}}, // 5
      {Kind::Dim, 1, {1}},        // 6: T of o
  };
  code.plan.checks = {{6, 1, "size 1 of result 'o'"}};
  code.plan.workspaces = {{4, DType::F32, {0, 1}, 0, 1},
                          {4, DType::I32, {1}, 1, 1}};
  Launch fill = {"fill", {3, 0, 4}, 128, 1024, 1, 0, false, {}, {}};
  fill.arguments = {{true, 1}, {true, 2}, {false, 1, 8}};
  fill.extra = {
      {ExtraParameter::Kind::TensorMap, {0, {2, 1, 0}, {32, 32, 1}, 128}}};
  Launch scale = {"scale", {0, 4, 4}, 64, 65536, 1, 0, false, {}, {}};
  scale.arguments = {{true, 2}, {true, 3}, {false, 5, 4}};
  scale.extra = {{ExtraParameter::Kind::Counter},
                 {ExtraParameter::Kind::Failures},
                 {ExtraParameter::Kind::Raised}};
  code.plan.launches = {fill, scale};
  return code;
}

Package nsacc::rt::makePackage() {
  Package package;
  package.compiler = "0.1.0";
  package.kernel = "attend";
  std::vector<Size> sizes = {{{}, "B"}, {{}, ""}, {64, ""}};
  package.parameters = {
      {"q", DType::BF16, sizes, {{}, {}, 1}, {0, 1, 2}, false},
      {"o", DType::F32, sizes, {{}, {}, 1}, {0, 1, 2}, true},
  };
  package.images = {{kPTX, "", {}}};
  package.variants = {{{}, {}, {makeCode()}}};
  return package;
}

/// The code under other names in a separate image, with one more workspace.
static TargetCode makeOtherCode(std::vector<Image> &images) {
  TargetCode code = makeCode();
  std::string ptx = kPTX;
  for (Launch &launch : code.plan.launches) {
    ptx.replace(ptx.find(".entry " + launch.kernel), 7 + launch.kernel.size(),
                ".entry many_" + launch.kernel);
    launch.kernel = "many_" + launch.kernel;
    launch.image = images.size();
  }
  images.push_back({ptx, "", {}});
  code.plan.workspaces.push_back({4, DType::F32, {1}, 0, 1});
  code.assertions = {{"too many: {0}", 1}};
  return code;
}

Package nsacc::rt::makeVariants() {
  using Kind = Step::Kind;
  Package package = makePackage();
  Variant few = {{{Kind::Dim, 1, {0}},
                  {Kind::Constant, 64, {}},
                  {Kind::LessEqual, 0, {0, 1}}},
                 {{2, "T <= 64"}},
                 {makeCode()}};
  Variant many = {{{Kind::Constant, 64, {}},
                   {Kind::Dim, 1, {0}},
                   {Kind::Less, 0, {0, 1}},
                   {Kind::Constant, 1000, {}},
                   {Kind::LessEqual, 0, {1, 3}}},
                  {{2, "T > 64"}, {4, "T <= 1000"}},
                  {makeOtherCode(package.images)}};
  package.variants = {few, many};
  return package;
}

#if defined(__x86_64__)

static constexpr uint32_t kPage = 4096;

Package nsacc::rt::makeHostPackage() {
  Package package;
  package.compiler = "0.1.0";
  package.kernel = "count";
  package.parameters = {
      {"out", DType::I32, {{{}, "N"}}, {1}, {0}, true},
  };
  HostImage &image = package.images.emplace_back().host;
  image.writableBytes = kPage;
  image.bytes.assign(kPage, '\0');
  // mov rax, [rdi]; mov [rax + 4 * rsi], esi; ret
  image.bytes += std::string("\x48\x8b\x07\x89\x34\xb0\xc3", 7);
  image.kernels = {{"count_0", kPage}};
  image.functions = {"expf"};
  TargetCode code;
  code.architecture = "x86-64";
  code.plan.steps = {{Step::Kind::Dim, 0, {0}}, {Step::Kind::Constant, 1, {}}};
  Launch launch = {};
  launch.kernel = "count_0";
  launch.grid[0] = 0;
  launch.grid[1] = launch.grid[2] = 1;
  launch.arguments = {{true, 0}};
  code.plan.launches = {launch};
  package.variants = {{{}, {}, {code}}};
  return package;
}

#endif

std::string nsacc::rt::failRead(const std::string &bytes) {
  try {
    readPackage(bytes.data(), bytes.size());
  } catch (const std::runtime_error &error) {
    return error.what();
  }
  return "read";
}
