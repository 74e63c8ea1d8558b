//===- CUDAVariantsTest.cpp - Runs and packages use the same code ---------===//

#include "CUDAProgramTest.h"
#include "nsacc-rt/nsacc_rt.h"
#include <gmock/gmock.h>

using namespace nsacc;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

class CUDAVariantsTest : public CUDAProgramTest {
protected:
  static DimSizes makeHeads(int64_t heads, int64_t channels) {
    DimSizes sizes;
    sizes.sizes = {{"HQ", heads}, {"H", 2}, {"D", channels}, {"DV", channels}};
    return sizes;
  }

  std::string write(llvm::ArrayRef<DimSizes> sizes) {
    auto bytes = program->package("flash", sizes);
    EXPECT_TRUE(static_cast<bool>(bytes)) << toString(bytes.takeError());
    return bytes ? *bytes : "";
  }

  rt::Package read(llvm::ArrayRef<DimSizes> sizes) {
    std::string bytes = write(sizes);
    return rt::readPackage(bytes.data(), bytes.size());
  }

  static std::vector<std::string> getGuards(const rt::Variant &variant) {
    std::vector<std::string> guards;
    for (const rt::Guard &guard : variant.guards)
      guards.push_back(guard.what);
    return guards;
  }

  /// The launches of a run of the program, or its error.
  std::string run(llvm::ArrayRef<Tensor> tensors);

  /// Inputs and results whose values don't matter.
  std::vector<Tensor> makeTensors(const DimSizes &sizes) {
    const Signature &signature = program->getSignatures()[0];
    std::vector<Tensor> tensors;
    for (const auto *arguments : {&signature.inputs, &signature.results})
      for (const Argument &argument : *arguments) {
        auto shape = llvm::cantFail(getShape(argument, sizes));
        std::vector<int64_t> strides(shape.size(), 1);
        for (size_t i = shape.size(); i-- > 1;)
          strides[i - 1] = strides[i] * std::max<int64_t>(shape[i], 1);
        tensors.push_back(
            Tensor::borrow(reinterpret_cast<void *>((tensors.size() + 1) << 40),
                           argument.dtype, shape, strides, nullptr));
      }
    return tensors;
  }
};

} // namespace

/// For f32, tiles are the same for any number of queries.
static const char *const kHalves = R"(
kernel flash(q: [B, T, HQ, D], k: [B, S, H, D], v: [B, S, H, DV])
    -> [B, T, HQ, DV] {
  return attend(q, k, v) where j <= i;
})";

/// The launches since the last call, with their parameters.
static std::string takeLaunches() {
  std::string text;
  for (const fakecuda::Launch &launch : fakecuda::getLaunches()) {
    text += launch.kernel + ":";
    for (unsigned size : launch.grid)
      text += " " + std::to_string(size);
    text += "\n";
  }
  fakecuda::reset();
  return text;
}

std::string CUDAVariantsTest::run(llvm::ArrayRef<Tensor> tensors) {
  RunOptions options;
  options.device = DeviceStream{0, nullptr};
  llvm::Error error =
      program->runInto("", tensors.drop_back(), tensors.take_back(), options);
  EXPECT_FALSE(error);
  return error ? toString(std::move(error)) : takeLaunches();
}

static std::string launch(nsacc_rt_module *module,
                          llvm::ArrayRef<Tensor> tensors) {
  std::vector<nsacc_rt_tensor> arguments;
  for (const Tensor &tensor : tensors)
    arguments.push_back({tensor.getData(),
                         static_cast<nsacc_dtype>(tensor.getDType()),
                         static_cast<int32_t>(tensor.getShape().size()),
                         tensor.getShape().data(), tensor.getStrides().data()});
  if (nsacc_rt_launch(module, arguments.data(), arguments.size(), nullptr))
    return nsacc_rt_message();
  return takeLaunches();
}

TEST_F(CUDAVariantsTest, PackagesPickWhatRunsPick) {
  int times = 0;
  auto count = [&](mlir::ModuleOp module, const cuda::Options &options) {
    ++times;
    return compileStandIn(module, options);
  };
  compile(kHalves, "sm_90a", count);
  std::string bytes = write({makeHeads(4, 112), makeHeads(6, 112)});
  nsacc_rt_module *module = nullptr;
  ASSERT_EQ(nsacc_rt_load(bytes.data(), bytes.size(), 0, &module), NSACC_RT_OK)
      << nsacc_rt_message();
  fakecuda::reset();
  EXPECT_EQ(times, 17)
      << "for few, many and other queries of two sizes each, and short rows: "
         "of 6 kinds in pairs of heads, of 5 in threes, two with one code";
  for (int64_t heads : {4, 6})
    for (int64_t batch : {0, 1, 2, 3, 4, 5, 44, 45, 100})
      for (auto [tokens, keys] : std::vector<std::pair<int64_t, int64_t>>{
               {0, 70},      {0, 1024},     {1, 1023},    {1, 1024},
               {1, 1 << 17}, {32, 4096},    {1408, 4096}, {1409, 4096},
               {938, 4096},  {939, 4096},   {16383, 70},  {16384, 70},
               {16385, 70},  {21845, 70},   {21846, 70},  {8, 16},
               {9, 16},      {8, 17},       {8, 32},      {8, 33},
               {8, 64},      {8, 65},       {8, 257},     {5, 33},
               {5, 65},      {6, 65},       {32, 100},    {33, 100},
               {65, 512},    {96, 512},     {97, 512},    {200, 128},
               {200, 129},   {65536, 65536}}) {
        DimSizes sizes = makeHeads(heads, 112);
        sizes.sizes["B"] = batch;
        sizes.sizes["T"] = tokens;
        sizes.sizes["S"] = keys;
        std::vector<Tensor> tensors = makeTensors(sizes);
        std::string ran = run(tensors);
        EXPECT_EQ(launch(module, tensors), ran)
            << heads << ' ' << batch << ' ' << tokens << ' ' << keys;
      }
  nsacc_rt_unload(module);
  EXPECT_EQ(times, 17 + 16) << "runs had all of these, too";
}

TEST_F(CUDAVariantsTest, AreForFewAndManyQueries) {
  compile(kHalves, "sm_90a");
  rt::Package package = read(makeHeads(4, 112));
  ASSERT_EQ(package.variants.size(), 9u);
  EXPECT_THAT(getGuards(package.variants[0]),
              ElementsAre("S >= 1024", "T * B * HQ <= 5632", "B * H <= 88"));
  EXPECT_THAT(getGuards(package.variants[1]), ElementsAre("T <= 8", "S <= 16"));
  EXPECT_THAT(getGuards(package.variants[2]),
              ElementsAre("T <= 8", "S <= 64", "S >= 33"));
  EXPECT_THAT(getGuards(package.variants[3]),
              ElementsAre("T <= 8", "S <= 256"));
  EXPECT_THAT(getGuards(package.variants[4]), ElementsAre("T <= 32"));
  EXPECT_THAT(getGuards(package.variants[5]),
              ElementsAre("T <= 96", "T >= 65", "S <= 512"));
  EXPECT_THAT(getGuards(package.variants[6]),
              ElementsAre("T <= 512", "S <= 128"));
  EXPECT_THAT(getGuards(package.variants[7]),
              ElementsAre("T >= 16384", "T * B * HQ >= 262144"));
  EXPECT_TRUE(package.variants[8].guards.empty());
  // The stand-in's kernels are the same for many queries and for others.
  EXPECT_EQ(package.images.size(), 2u);
  EXPECT_TRUE(rt::findShadowed(package).empty());
}

// Channels for which the tiles for many queries are the same, and a device that
// has no other tiles.
TEST_F(CUDAVariantsTest, AreOneWhereCodeIsTheSame) {
  compile(kHalves, "sm_90a");
  EXPECT_EQ(read(makeHeads(4, 64)).variants.size(), 8u);
  EXPECT_EQ(read(makeHeads(4, 136)).variants.size(), 2u);
  int times = 0;
  auto count = [&](mlir::ModuleOp module, const cuda::Options &options) {
    ++times;
    return compileStandIn(module, options);
  };
  compile(kHalves, "sm_80", count);
  EXPECT_EQ(read(makeHeads(4, 112)).variants.size(), 7u);
  EXPECT_EQ(times, 8) << "few queries, six kinds of short rows, and any";
  times = 0;
  for (int64_t tokens : {1 << 10, 1 << 17}) {
    DimSizes sizes = makeHeads(4, 112);
    sizes.sizes["B"] = sizes.sizes["S"] = 1;
    sizes.sizes["T"] = tokens;
    std::vector<Tensor> tensors = makeTensors(sizes);
    llvm::ArrayRef<Tensor> all(tensors);
    RunOptions options;
    options.device = DeviceStream{1, nullptr}; // an sm_80
    llvm::Error error =
        program->runInto("", all.drop_back(), all.take_back(), options);
    EXPECT_FALSE(error) << toString(std::move(error));
  }
  EXPECT_EQ(times, 1) << "for any number over few keys";
  compile(kFlash, "sm_90a");
  EXPECT_EQ(read(makeHeads(4, 112)).variants.size(), 2u);
  // All tile sizes are given.
  compile(kHalves, "sm_90a", compileStandIn,
          "order=query_major,tokens=32,keys=32,warps=4,splits=1");
  EXPECT_EQ(read(makeHeads(4, 112)).variants.size(), 1u);
}

TEST_F(CUDAVariantsTest, SizesAreGuards) {
  compile(kHalves, "sm_90a");
  rt::Package package = read({makeHeads(4, 64), makeHeads(6, 112)});
  ASSERT_EQ(package.variants.size(), 16u);
  EXPECT_EQ(package.parameters[0].sizes[2].name, "HQ");
  EXPECT_EQ(package.parameters[1].sizes[2].fixed, 2);
  EXPECT_THAT(getGuards(package.variants[14]),
              ElementsAre("HQ = 6", "D = 112", "DV = 112", "T >= 16384",
                          "T * B * HQ >= 262144"));
}

// Lengths of ragged rows are on the device: their average decides.
TEST_F(CUDAVariantsTest, RaggedRowsAreShortOnAverage) {
  compile(R"(
kernel packed(q: [ragged T, HQ, D], k: [ragged T, H, D], v: [ragged T, H, DV])
    -> [ragged T, HQ, DV] {
  return attend(q, k, v) where j <= i;
})",
          "sm_90a");
  auto bytes = program->package("packed", makeHeads(4, 64));
  ASSERT_TRUE(static_cast<bool>(bytes)) << toString(bytes.takeError());
  rt::Package package = rt::readPackage(bytes->data(), bytes->size());
  ASSERT_GE(package.variants.size(), 4u);
  std::vector<std::string> expected[] = {
      {"T <= 4 * rows of T", "T <= 16 * rows of T"},
      {"T <= 16 * rows of T", "T <= 64 * rows of T"},
      {"T <= 128 * rows of T", "T <= 512 * rows of T"}};
  size_t first = package.variants.size() - 4;
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(getGuards(package.variants[first + i]), expected[i]);
  nsacc_rt_module *module = nullptr;
  ASSERT_EQ(nsacc_rt_load(bytes->data(), bytes->size(), 0, &module),
            NSACC_RT_OK)
      << nsacc_rt_message();
  fakecuda::reset();
  for (int64_t rows : {1, 2, 7})
    for (int64_t tokens : {1, 4, 5, 8, 9, 28, 29, 32, 33, 256, 257, 2000}) {
      DimSizes sizes = makeHeads(4, 64);
      sizes.sizes["T"] = tokens;
      sizes.batchRows = rows;
      std::vector<Tensor> tensors = makeTensors(sizes);
      std::string ran = run(tensors);
      EXPECT_EQ(launch(module, tensors), ran) << rows << ' ' << tokens;
    }
  nsacc_rt_unload(module);
}

TEST_F(CUDAVariantsTest, CallsThatNoneFitsLearnWhatThereIs) {
  compile(kHalves, "sm_90a");
  std::string bytes = write({makeHeads(4, 64), makeHeads(6, 112)});
  nsacc_rt_module *module = nullptr;
  ASSERT_EQ(nsacc_rt_load(bytes.data(), bytes.size(), 0, &module), NSACC_RT_OK);
  DimSizes sizes = makeHeads(8, 112);
  sizes.sizes["B"] = sizes.sizes["T"] = sizes.sizes["S"] = 1;
  EXPECT_EQ(launch(module, makeTensors(sizes)),
            "the package of 'flash' has no code for these sizes: it is for HQ "
            "= 4 (found 8), D = 64 (found 112), DV = 64 (found 112); HQ = 6 "
            "(found 8), D = 112, DV = 112: compile it for them, too");
  nsacc_rt_unload(module);
}

TEST_F(CUDAVariantsTest, ArentWrittenTwice) {
  compile(kHalves, "sm_90a");
  DimSizes heads = makeHeads(4, 64), longer = heads;
  longer.sizes["T"] = 20000;
  auto bytes = program->package("flash", {heads, makeHeads(6, 112), longer});
  ASSERT_FALSE(static_cast<bool>(bytes));
  EXPECT_EQ(toString(bytes.takeError()),
            "two variants of the package would be the same, for HQ=4,D=64,H=2,"
            "DV=64: other sizes don't change the code of kernel 'flash'");
}

/// Fails for the given sizes of head.
static PackageCompiler failFor(std::vector<int64_t> &channels) {
  return [&](mlir::ModuleOp module,
             const cuda::Options &options) -> llvm::Expected<rt::Package> {
    auto package = compileStandIn(module, options);
    if (!package)
      return package.takeError();
    int64_t size = *package->parameters[0].sizes[3].fixed;
    if (llvm::is_contained(channels, size))
      return llvm::createStringError("no code for " + llvm::Twine(size));
    return package;
  };
}

TEST_F(CUDAVariantsTest, TellTheFirstError) {
  std::vector<int64_t> channels = {112, 64};
  compile(kHalves, "sm_80", failFor(channels));
  auto bytes = program->package(
      "flash", {makeHeads(4, 16), makeHeads(6, 112), makeHeads(6, 64)});
  ASSERT_FALSE(static_cast<bool>(bytes));
  EXPECT_THAT(toString(bytes.takeError()), HasSubstr("no code for 112"));
}
