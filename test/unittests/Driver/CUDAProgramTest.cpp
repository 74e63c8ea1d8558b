//===- CUDAProgramTest.cpp - Programs on a GPU, with a fake driver --------===//

#include "CUDAProgramTest.h"
#include "NSATile/IR/NSATileOps.h"
#include "nsacc-rt/nsacc_rt.h"
#include "nsacc/Support/CompilerErrors.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gmock/gmock.h>

using namespace nsacc;
using ::testing::AllOf;
using ::testing::HasSubstr;

static const char *const kRagged = R"(
kernel packed(q: f32[ragged T, HQ, D], k: f32[ragged S, H, D], v: f32[ragged S, H, DV])
    -> f32[ragged T, HQ, DV] {
  return attend(q, k, v) where j <= i;
})";

/// The result has a row for each 8 tokens of a row, and one for the rest.
static const char *const kRaggedPool = R"(
kernel pooled(k: f32[ragged S, H, D]) -> f32[ragged N, H, D] {
  return pool(k, 8);
})";

TEST_F(CUDAProgramTest, RunsOnHostTensors) {
  for (const char *target : {"cuda", "sm_90a"}) {
    compile(kFlash, target);
    RunStatistics statistics;
    std::vector<Tensor> inputs = makeInputs(makeSizes());
    auto results = program->run("", inputs, {}, &statistics);
    ASSERT_TRUE(static_cast<bool>(results)) << toString(results.takeError());
    EXPECT_EQ((*results)[0].getShape(),
              llvm::ArrayRef<int64_t>({2, 40, 4, 16}));
    EXPECT_GT(statistics.compileSeconds, 0);
    EXPECT_GT(statistics.launches, 0);
    ASSERT_EQ(int64_t(fakecuda::getLaunches().size()), statistics.launches);
    EXPECT_EQ(fakecuda::getLaunches().back().threads, 128u);
    // No code is compiled for sizes that code doesn't depend on.
    DimSizes longer = makeSizes();
    longer.sizes["T"] = 90;
    RunStatistics again;
    results = program->run("", makeInputs(longer), {}, &again);
    ASSERT_TRUE(static_cast<bool>(results)) << toString(results.takeError());
    EXPECT_EQ(again.compileSeconds, 0);
    EXPECT_EQ(fakecuda::countCalls("cuModuleLoadDataEx"), 1u);
    program.reset();
    fakecuda::reset();
  }
}

TEST_F(CUDAProgramTest, FatalErrorsOfLLVMAreErrors) {
  compile(
      kFlash, "sm_90a",
      [](mlir::ModuleOp, const cuda::Options &) -> llvm::Expected<rt::Package> {
        llvm::report_fatal_error("Cannot select: fsin");
      });
  std::string message = fail(makeInputs(makeSizes()));
  EXPECT_THAT(message, HasSubstr("internal error: LLVM can't compile kernel "
                                 "'flash': Cannot select: fsin"));
  llvm::StringRef path =
      llvm::StringRef(message).split("with the reproducer ").second;
  auto reproducer = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(static_cast<bool>(reproducer)) << message;
  EXPECT_THAT((*reproducer)->getBuffer().str(),
              AllOf(HasSubstr("nsa.kernel @flash"), HasSubstr("sm_90a")));
  llvm::sys::fs::remove(path);
}

namespace {

/// Kernels that hit an error of LLVM, reported while others are compiled.
class FatalCompilation : public cuda::Compilation {
public:
  explicit FatalCompilation(CompilerThreads &threads) : tasks(threads) {
    for (int i = 0; i < 4; ++i)
      tasks.add(i, []() -> llvm::Error {
        llvm::report_fatal_error("Cannot select: fcos");
      });
  }
  llvm::Expected<rt::Package> finish() override { return tasks.wait(); }

private:
  Tasks tasks;
};

} // namespace

TEST_F(CUDAProgramTest, FatalErrorsOfKernelsAreErrors) {
  compileWith(
      kFlash, "sm_90a",
      [](mlir::ModuleOp, const cuda::Options &, CompilerThreads &threads)
          -> llvm::Expected<std::unique_ptr<cuda::Compilation>> {
        return std::make_unique<FatalCompilation>(threads);
      });
  std::string message = fail(makeInputs(makeSizes()));
  EXPECT_THAT(message, HasSubstr("internal error: LLVM can't compile kernel "
                                 "'flash': Cannot select: fcos"));
  llvm::StringRef path =
      llvm::StringRef(message).split("with the reproducer ").second;
  EXPECT_TRUE(llvm::sys::fs::exists(path)) << message;
  llvm::sys::fs::remove(path);
}

/// Fails because no program has room, `times` times.
static PackageCompiler refuse(int &times) {
  return [&times](mlir::ModuleOp module,
                  const cuda::Options &options) -> llvm::Expected<rt::Package> {
    if (times-- <= 0)
      return compileStandIn(module, options);
    module.emitError("tiles take too much");
    std::vector<std::string> names;
    for (auto program : module.getOps<nsatile::ProgramOp>())
      names.push_back(program.getSymName().str());
    return llvm::make_error<NoRoomError>("tiles take too much",
                                         std::move(names));
  };
}

TEST_F(CUDAProgramTest, TilesThatHaveNoRoomAreMadeSmaller) {
  int times = 3;
  compile(kFlash, "sm_90a", refuse(times));
  EXPECT_EQ(fail(makeInputs(makeSizes())), "no error");
  EXPECT_EQ(times, -1);
}

TEST_F(CUDAProgramTest, TilesThatAreGivenStayAndGetAdvice) {
  int times = 2;
  compile(kFlash, "sm_90a", refuse(times),
          "order=query_major,tokens=64,keys=64,warps=4");
  std::string message = fail(makeInputs(makeSizes()));
  EXPECT_THAT(message, HasSubstr("tiles take too much"));
  EXPECT_THAT(message,
              HasSubstr("'order=query_major, tokens=64, keys=64, warps=4; "
                        "attend.1: tokens=16, keys=32' fits"));
}

TEST_F(CUDAProgramTest, TilesThatAreGivenLeaveOthersToShrink) {
  int times = 2;
  compile(kFlash, "sm_90a", refuse(times),
          "order=query_major,tokens=64,warps=4");
  EXPECT_EQ(fail(makeInputs(makeSizes())), "no error");
}

TEST_F(CUDAProgramTest, OnlyOpsWithoutRoomAreMadeSmaller) {
  constexpr const char *selecting = R"(
kernel f(q: f32[B, T, HQ, D], k: f32[B, S, H, D]) -> f32[B, T, HQ, D] {
  gist = attend(q, pool(k, 16), pool(k, 16));
  sel = topk(score(gist), 2);
  return attend(q, k, k) in sel;
})";
  std::vector<std::string> found;
  auto compiler =
      [&](mlir::ModuleOp module,
          const cuda::Options &options) -> llvm::Expected<rt::Package> {
    std::string tokens;
    bool hasRoom = true;
    std::vector<std::string> names;
    for (auto program : module.getOps<nsatile::ProgramOp>()) {
      nsatile::ScheduleAttr schedule = program.getScheduleAttr();
      if (!schedule || !program.getSymName().contains("_select_")) {
        if (schedule && schedule.getExactTokens() > 0)
          tokens += " attend " + std::to_string(schedule.getTokens());
        continue;
      }
      tokens += "select " + std::to_string(schedule.getTokens()) + " " +
                std::to_string(schedule.getTileColumns());
      hasRoom = schedule.getTokens() <= 4;
      names.push_back(program.getSymName().str());
    }
    found.push_back(tokens);
    if (hasRoom)
      return compileStandIn(module, options);
    module.emitError("tiles take too much");
    return llvm::make_error<NoRoomError>("tiles take too much",
                                         std::move(names));
  };
  compile(selecting, "sm_90a", compiler);
  EXPECT_EQ(fail(makeInputs(makeSizes())), "no error");
  EXPECT_THAT(found, testing::ElementsAre("select 32 32 attend 32",
                                          "select 16 32 attend 32",
                                          "select 4 64 attend 32"));
}

TEST_F(CUDAProgramTest, WhereNoTilesHaveRoomIsSaid) {
  int times = 100;
  compile(kFlash, "sm_90a", refuse(times));
  std::string message = fail(makeInputs(makeSizes()));
  EXPECT_THAT(message, AllOf(HasSubstr("tiles take too much"),
                             HasSubstr("no smaller tiles fit")));
}

TEST_F(CUDAProgramTest, CompilesOnceMoreForManyQueries) {
  compile(kFlash, "sm_90a");
  auto prepare = [&](int64_t tokens, int64_t batch = 4, int64_t channels = 80) {
    DimSizes sizes = makeSizes();
    sizes.sizes["D"] = sizes.sizes["DV"] = channels;
    sizes.sizes["T"] = tokens;
    sizes.sizes["B"] = batch;
    RunStatistics statistics;
    EXPECT_FALSE(program->prepare("", makeInputs(sizes), &statistics));
    return statistics.compileSeconds;
  };
  EXPECT_GT(prepare(16383), 0);
  EXPECT_EQ(prepare(1), 0);
  EXPECT_EQ(prepare(16384, /*batch=*/3), 0);
  EXPECT_GT(prepare(16384), 0);
  EXPECT_EQ(prepare(20000), 0);
  EXPECT_EQ(prepare(5), 0);
  // Tiles are the same for fewer channels, and for more.
  for (int64_t channels : {64, 136}) {
    EXPECT_GT(prepare(5, /*batch=*/4, channels), 0);
    EXPECT_EQ(prepare(16384, /*batch=*/4, channels), 0);
  }
}

TEST_F(CUDAProgramTest, RunsWhereTheTensorsAre) {
  compile(kFlash, "cuda");
  // Device 1 is an sm_80.
  std::vector<Tensor> tensors = makeInputs(makeSizes());
  tensors.push_back(Tensor::zeros(DType::F32, {2, 40, 4, 16}));
  moveTo(1, tensors);
  fakecuda::driver::Stream stream = fakecuda::createStream(1);
  RunOptions options;
  options.device = DeviceStream{1, stream};
  llvm::ArrayRef<Tensor> all(tensors);
  fakecuda::reset();
  for (int i = 0; i < 2; ++i) {
    llvm::Error error =
        program->runInto("", all.drop_back(), all.take_back(), options);
    EXPECT_FALSE(static_cast<bool>(error)) << toString(std::move(error));
  }
  EXPECT_EQ(fakecuda::countCalls("cuStreamSynchronize"), 0u);
  ASSERT_FALSE(fakecuda::getLaunches().empty());
  EXPECT_EQ(fakecuda::getLaunches()[0].stream, stream);
  for (const Tensor &tensor : tensors)
    nsacc_rt_free(1, tensor.getData());
  program.reset();
  fakecuda::destroyStream(stream);
}

// Lengths of packed rows are not waited for if no shape depends on them.
TEST_F(CUDAProgramTest, BindsRaggedInputsWithoutReadingOffsets) {
  compile(kRagged, "cuda");
  const Signature &signature = program->getSignatures()[0];
  std::vector<Tensor> tensors;
  DimSizes sizes = makeSizes();
  for (const Argument &argument : signature.inputs) {
    std::vector<int64_t> shape;
    for (const Dim &dim : argument.dims)
      shape.push_back(dim.kind == Dim::Kind::Offsets ? 4
                                                     : sizes.sizes[dim.name]);
    // Memory that can't be read.
    std::vector<int64_t> strides(shape.size(), 1);
    tensors.push_back(
        Tensor::borrow(nullptr, argument.dtype, shape, strides, nullptr));
  }
  RunOptions options;
  options.device = DeviceStream{};
  auto bound = bindRunDimensions(signature, tensors, options);
  ASSERT_TRUE(static_cast<bool>(bound)) << toString(bound.takeError());
  EXPECT_EQ(bound->batchRows, 3);
  EXPECT_EQ(bound->sizes["T"], 40);
}

// If a result's shape depends on lengths, there is one wait, not one for each
// use.
TEST_F(CUDAProgramTest, WaitsForLengthsOnce) {
  compile(kRaggedPool, "cuda");
  const Signature &signature = program->getSignatures()[0];
  std::vector<Tensor> tensors = {Tensor::zeros(DType::F32, {20, 2, 16}),
                                 Tensor::zeros(DType::I32, {4}),
                                 Tensor::zeros(DType::F32, {4, 2, 16})};
  if (signature.inputs[0].isOffsets())
    std::swap(tensors[0], tensors[1]);
  auto *offsets = static_cast<int32_t *>(
      tensors[signature.inputs[0].isOffsets() ? 0 : 1].getData());
  llvm::copy(llvm::ArrayRef<int32_t>({0, 9, 9, 20}), offsets);
  moveTo(0, tensors);
  RunOptions options;
  options.device = DeviceStream{};
  llvm::ArrayRef<Tensor> inputs = llvm::ArrayRef(tensors).take_front(2);
  llvm::ArrayRef<Tensor> results = llvm::ArrayRef(tensors).drop_front(2);
  fakecuda::reset();
  auto sizes = bindRunDimensions(signature, inputs, options);
  ASSERT_TRUE(static_cast<bool>(sizes)) << toString(sizes.takeError());
  EXPECT_EQ(fakecuda::countCalls("cuStreamSynchronize"), 1u);
  llvm::Error error = program->runInto("", *sizes, inputs, results, options);
  EXPECT_FALSE(static_cast<bool>(error)) << toString(std::move(error));
  EXPECT_EQ(fakecuda::countCalls("cuStreamSynchronize"), 1u);
  EXPECT_FALSE(fakecuda::getLaunches().empty());
  error = program->runInto("", inputs, results, options);
  EXPECT_FALSE(static_cast<bool>(error)) << toString(std::move(error));
  EXPECT_EQ(fakecuda::countCalls("cuStreamSynchronize"), 2u);
  for (const Tensor &tensor : tensors)
    nsacc_rt_free(0, tensor.getData());
}

TEST_F(CUDAProgramTest, WritesPackages) {
  compile(kFlash, "sm_80");
  DimSizes heads;
  heads.sizes = {{"HQ", 4}, {"H", 2}, {"D", 16}, {"DV", 16}};
  auto bytes = program->package("flash", heads);
  ASSERT_TRUE(static_cast<bool>(bytes)) << toString(bytes.takeError());
  rt::Package package = rt::readPackage(bytes->data(), bytes->size());
  EXPECT_EQ(package.kernel, "flash");
  EXPECT_EQ(package.variants[0].targets[0].architecture, "sm_80");
  EXPECT_EQ(package.parameters[0].name, "q");
  EXPECT_EQ(package.parameters[0].sizes[0].name, "B");
  EXPECT_EQ(package.parameters[0].sizes[2].fixed, 4);
  EXPECT_TRUE(package.parameters[3].isResult);
  // Sizes that the code wasn't compiled for are refused.
  nsacc_rt_module *module = nullptr;
  ASSERT_EQ(nsacc_rt_load(bytes->data(), bytes->size(), 1, &module),
            NSACC_RT_OK)
      << nsacc_rt_message();
  EXPECT_EQ(nsacc_rt_parameter_size(module, 0, 2), 4);
  nsacc_rt_unload(module);
}

// Packages take tensors in the program's order of dimensions.
TEST_F(CUDAProgramTest, PackagesHaveTheDeclaredOrder) {
  compile("kernel f(q: f32[B, heads HQ, T, D], k: f32[B, heads H, S, D], "
          "v: f32[B, S, H, DV]) -> (o: f32[B, HQ, T, DV], l: f32[B, HQ, T]) { "
          "a = attend(q, k, v); return a, lse(a); }",
          "sm_80");
  DimSizes sizes = makeSizes();
  auto bytes = program->package("f", sizes);
  ASSERT_TRUE(static_cast<bool>(bytes)) << toString(bytes.takeError());
  rt::Package package = rt::readPackage(bytes->data(), bytes->size());
  using Order = std::vector<uint32_t>;
  EXPECT_EQ(package.parameters[0].order, (Order{0, 2, 1, 3}));
  EXPECT_EQ(package.parameters[2].order, (Order{0, 1, 2, 3}));
  EXPECT_EQ(package.parameters[0].sizes[1].fixed, 4);
  EXPECT_EQ(package.parameters[0].sizes[2].name, "T");
  EXPECT_EQ(package.parameters[0].strides[3], 1);
  // A result without channels has the caller's order, too.
  EXPECT_EQ(package.parameters[4].order, (Order{0, 2, 1}));
  EXPECT_EQ(package.parameters[4].strides[2], 1);
  EXPECT_FALSE(package.parameters[4].strides[1].has_value());
  std::vector<Tensor> inputs = makeInputs(sizes);
  auto results = program->run("", inputs);
  ASSERT_TRUE(static_cast<bool>(results)) << toString(results.takeError());
  EXPECT_EQ((*results)[0].getShape().vec(),
            (std::vector<int64_t>{2, 4, 40, 16}));
  inputs[1] = Tensor::zeros(DType::F32, {2, 2, 71, 16});
  EXPECT_THAT(fail(inputs), HasSubstr("S is 71 in 'k' but 70 in 'v'"));
}

TEST_F(CUDAProgramTest, TellsWhatTheDriverSays) {
  compile(kFlash, "sm_90a");
  std::vector<Tensor> inputs = makeInputs(makeSizes());
  fakecuda::failCall("cuLaunchKernelEx", 700);
  EXPECT_THAT(fail(inputs), HasSubstr("CUDA error 700"));
  fakecuda::failCall("cuMemAlloc_v2", fakecuda::driver::results::outOfMemory);
  EXPECT_THAT(fail(inputs), HasSubstr("OUT_OF_MEMORY"));
}

TEST_F(CUDAProgramTest, RefusesWhatIsOfOtherTargets) {
  compile(kFlash, "sm_90a");
  RunOptions options;
  options.keepF64 = true;
  std::vector<Tensor> inputs = makeInputs(makeSizes());
  auto results = program->run("", inputs, options);
  ASSERT_FALSE(static_cast<bool>(results));
  EXPECT_THAT(toString(results.takeError()),
              HasSubstr("target 'sm_90a' has no results in f64"));
}
