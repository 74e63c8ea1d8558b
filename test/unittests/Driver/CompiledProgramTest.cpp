//===- CompiledProgramTest.cpp - Programs that run on a target ------------===//

#include "nsacc/Driver/CompiledProgram.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include "nsacc/Driver/CompileError.h"
#include "nsacc/Frontend/Frontend.h"
#include "nsacc/Tensor/Compare.h"
#include "nsacc/Tensor/RandomInputs.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>
#include <thread>

using namespace nsacc;

namespace {

const char *const flash = R"(
kernel flash(q: f32[B, T, HQ, D], k: f32[B, S, H, D], v: f32[B, S, H, DV])
    -> (o: f32[B, T, HQ, DV], l: f32[B, T, HQ]) {
  o = attend(q, k, v) where j <= i;
  return o, lse(o);
}
kernel twice(q: f32[B, T, HQ, D], k: f32[B, S, H, D]) -> f32[B, T, HQ, D] {
  return 2 * attend(q, k, k);
})";

/// Heads share by twos, which isn't possible in groups of three.
const char *const shared = R"(
kernel shared(q: f32[B, T, HQ, D], k: f32[B, S, H, D]) -> f32[B, T, HQ, D] {
  gist = attend(q, pool(k, 2));
  sel = topk(score(gist, heads=none), 1) share heads 2;
  return attend(q, k, k) in sel;
})";

class CompiledProgramTest : public testing::Test {
protected:
  CompiledProgramTest() : context(mlir::MLIRContext::Threading::DISABLED) {}

  std::unique_ptr<CompiledProgram> compile(llvm::StringRef text,
                                           CompileOptions options = {}) {
    auto module =
        frontend::compile(llvm::MemoryBufferRef(text, "test.nsa"), {}, context);
    if (!module || failed(runPhases(*module, Phase::NSA))) {
      ADD_FAILURE() << "the program doesn't compile";
      return nullptr;
    }
    auto program = CompiledProgram::create(*module, options);
    if (program)
      return std::move(*program);
    ADD_FAILURE() << toString(program.takeError());
    return nullptr;
  }

  /// Random inputs of the given sizes.
  static std::vector<Tensor> makeInputs(const CompiledProgram &program,
                                        llvm::StringRef kernel,
                                        llvm::StringMap<int64_t> sizes) {
    auto signature = program.getSignature(kernel);
    std::vector<Tensor> inputs;
    if (!signature) {
      ADD_FAILURE() << toString(signature.takeError());
      return inputs;
    }
    DimSizes known;
    known.sizes = std::move(sizes);
    for (const Argument &argument : signature->inputs)
      inputs.push_back(llvm::cantFail(makeRandomInput(argument, known, 0)));
    return inputs;
  }

  static std::string fail(const CompiledProgram &program,
                          llvm::StringRef kernel, llvm::ArrayRef<Tensor> inputs,
                          const RunOptions &options = {}) {
    auto results = program.run(kernel, inputs, options);
    return results ? "no error" : toString(results.takeError());
  }

  mlir::MLIRContext context;
};

llvm::StringMap<int64_t> getSizes(int64_t t, int64_t heads = 4) {
  return {{"B", 2}, {"T", t},  {"S", t + 3}, {"HQ", heads},
          {"H", 2}, {"D", 24}, {"DV", 40}};
}

TEST_F(CompiledProgramTest, CPUAgreesWithTheOracle) {
  auto cpu = compile(flash);
  auto oracle = compile(flash, {.target = Target::Oracle});
  ASSERT_TRUE(cpu && oracle);
  EXPECT_EQ(cpu->getTarget(), Target::CPU);
  for (llvm::StringRef kernel : {"flash", "twice"})
    for (int64_t t : {0, 1, 63, 130}) {
      std::vector<Tensor> inputs = makeInputs(*cpu, kernel, getSizes(t));
      auto found = cpu->run(kernel, inputs);
      ASSERT_TRUE(bool(found)) << toString(found.takeError());
      auto expected = oracle->run(kernel, inputs);
      ASSERT_TRUE(bool(expected)) << toString(expected.takeError());
      ASSERT_EQ(found->size(), expected->size());
      for (auto [left, right] : llvm::zip(*found, *expected)) {
        ASSERT_EQ(left.getShape(), right.getShape());
        Difference difference = compare(left, right);
        EXPECT_EQ(difference.nonFinite, 0);
        EXPECT_LT(difference.getRelativeRms(), 1e-6);
      }
    }
}

TEST_F(CompiledProgramTest, CompilesOncePerSpecialization) {
  auto program = compile(flash);
  ASSERT_TRUE(program);
  auto compiles = [&](llvm::StringMap<int64_t> sizes) {
    RunStatistics statistics;
    auto results = program->run("flash", makeInputs(*program, "flash", sizes),
                                {}, &statistics);
    EXPECT_TRUE(bool(results));
    llvm::consumeError(results.takeError());
    EXPECT_GT(statistics.launches, 0);
    return statistics.compileSeconds > 0;
  };
  EXPECT_TRUE(compiles(getSizes(5)));
  EXPECT_FALSE(compiles(getSizes(5)));
  EXPECT_FALSE(compiles(getSizes(70)));
  EXPECT_TRUE(compiles(getSizes(5, /*heads=*/6)));
  EXPECT_FALSE(compiles(getSizes(9)));
}

TEST_F(CompiledProgramTest, ThreadsShareAProgram) {
  auto program = compile(flash);
  ASSERT_TRUE(program);
  std::vector<Tensor> inputs = makeInputs(*program, "flash", getSizes(40));
  std::vector<Tensor> results(6);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < results.size(); ++i)
    threads.emplace_back([&, i] {
      auto own = program->run("flash", inputs, {.threads = 1 + i % 3});
      if (own)
        results[i] = own->front();
      llvm::consumeError(own.takeError());
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const Tensor &result : results)
    EXPECT_TRUE(haveSameBits(result, results.front()));
}

TEST_F(CompiledProgramTest, WritesIntoStridedResults) {
  auto program = compile(flash);
  ASSERT_TRUE(program);
  std::vector<Tensor> inputs = makeInputs(*program, "twice", getSizes(7));
  auto expected = program->run("twice", inputs);
  ASSERT_TRUE(bool(expected)) << toString(expected.takeError());
  llvm::ArrayRef<int64_t> shape = expected->front().getShape();
  Tensor wide =
      Tensor::zeros(DType::F32, {shape[0], shape[1], shape[2], 2 * shape[3]});
  llvm::SmallVector<int64_t> strides(wide.getStrides());
  strides[3] = 2;
  Tensor result =
      Tensor::borrow(wide.getData(), DType::F32, shape, strides, nullptr);
  ASSERT_FALSE(program->runInto("twice", inputs, {result}));
  EXPECT_TRUE(haveSameBits(result, expected->front()));
}

TEST_F(CompiledProgramTest, SchedulesChangeTheTiles) {
  std::string schedules;
  for (const char *schedule : {"", "tokens=3", "tokens=8,keys=16"}) {
    CompileOptions options;
    options.schedule = schedule;
    options.preparePasses = [&](mlir::PassManager &manager, mlir::ModuleOp,
                                llvm::StringRef phase) {
      if (phase == "tile")
        schedules += std::to_string(manager.size()) + " ";
    };
    auto program = compile(flash, options);
    ASSERT_TRUE(program);
    auto inputs = makeInputs(*program, "flash", getSizes(33));
    EXPECT_EQ(fail(*program, "flash", inputs), "no error");
  }
  EXPECT_EQ(schedules, "6 6 6 ");
}

TEST_F(CompiledProgramTest, ErrorsNameWhatIsWrong) {
  auto program = compile(flash);
  ASSERT_TRUE(program);
  std::vector<Tensor> inputs = makeInputs(*program, "flash", getSizes(5));
  EXPECT_EQ(fail(*program, "", inputs),
            "the program has 2 kernels: name one of 'flash', 'twice'");
  EXPECT_EQ(fail(*program, "moba", inputs),
            "the program has no kernel 'moba': it has 'flash', 'twice'");
  EXPECT_EQ(fail(*program, "twice", inputs),
            "kernel 'twice' takes 2 inputs (q, k), found 3");
  EXPECT_EQ(fail(*program, "flash", inputs, {.keepF64 = true}),
            "target 'cpu' has no results in f64 and no choice of rounding: "
            "both are of target 'oracle'");
  llvm::StringMap<int64_t> sizes = getSizes(5);
  sizes["D"] = 0;
  EXPECT_EQ(fail(*program, "flash", makeInputs(*program, "flash", sizes)),
            "kernel 'flash' isn't compiled for D = 0: use target 'oracle', "
            "which takes every size");
}

TEST_F(CompiledProgramTest, CompileErrorsHaveAPlace) {
  auto program = compile(shared);
  ASSERT_TRUE(program);
  llvm::StringMap<int64_t> sizes = getSizes(5);
  sizes["HQ"] = 6;
  sizes["H"] = 2;
  auto results =
      program->run("shared", makeInputs(*program, "shared", std::move(sizes)));
  ASSERT_FALSE(bool(results));
  bool isHandled = false;
  llvm::handleAllErrors(results.takeError(), [&](const CompileError &error) {
    isHandled = true;
    ASSERT_EQ(error.getDiagnostics().size(), 1u);
    const frontend::DiagnosticData &diagnostic = error.getDiagnostics()[0];
    EXPECT_EQ(diagnostic.file, "test.nsa");
    EXPECT_EQ(diagnostic.line, 4u);
    EXPECT_EQ(diagnostic.notes.back().message,
              "target 'oracle' runs every program, slowly");
  });
  EXPECT_TRUE(isHandled);
  CompileOptions options;
  options.target = Target::Oracle;
  options.schedule = "tokens=4";
  auto module =
      frontend::compile(llvm::MemoryBufferRef(flash, "test.nsa"), {}, context);
  auto oracle = CompiledProgram::create(*module, options);
  EXPECT_EQ(toString(oracle.takeError()),
            "target 'oracle' has no schedule: it interprets the program");
}

TEST_F(CompiledProgramTest, RunsCanBeInterrupted) {
  auto program = compile(flash);
  ASSERT_TRUE(program);
  std::vector<Tensor> inputs = makeInputs(*program, "flash", getSizes(4000));
  RunOptions options;
  options.threads = 1;
  options.isInterrupted = [] { return true; };
  EXPECT_EQ(fail(*program, "flash", inputs, options),
            "the run was interrupted");
  options.isInterrupted = [] { return false; };
  EXPECT_EQ(fail(*program, "flash", inputs, options), "no error");
}

} // namespace
