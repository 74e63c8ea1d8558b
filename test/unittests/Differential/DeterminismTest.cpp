//===- DeterminismTest.cpp - Runs that give the same bits -----------------===//
//
// Each test checks a sentence of docs/Determinism.md.
//
//===----------------------------------------------------------------------===//

#include "Compiled.h"
#include "Inputs.h"
#include "mlir/IR/MLIRContext.h"
#include "nsacc/Tensor/Compare.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <thread>

using namespace nsacc;
using namespace nsacc::differential;

namespace {

/// An example compiled with an order.
class DeterminismTest : public testing::TestWithParam<std::string> {
protected:
  DeterminismTest() : context(mlir::MLIRContext::Threading::DISABLED) {}

  /// Loads NSA for dense batches, HSTU for ragged ones.
  void load(bool ragged);
  std::unique_ptr<CompiledProgram> compile();
  std::vector<Tensor> makeInputs(const differential::Run &run);
  std::vector<Tensor> run(const CompiledProgram &program,
                          llvm::ArrayRef<Tensor> inputs, unsigned threads = 1);

  Case testCase;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace

void DeterminismTest::load(bool ragged) {
  std::string path = NSACC_EXAMPLES "/";
  path += ragged ? "hstu_bsa.nsa" : "nsa.nsa";
  testCase.program = llvm::MemoryBuffer::getFile(path).get()->getBuffer().str();
  if (ragged)
    testCase.params = {{"block", "16"}, {"top", "3"}};
  else
    testCase.params = {{"block", "16"},
                       {"top", "4"},
                       {"len", "8"},
                       {"stride", "4"},
                       {"window", "20"}};
  testCase.dtype = ragged ? "f32" : "bf16";
  testCase.sizes = {{"HQ", 6}, {"H", 2}, {"D", 24}, {"DV", 40}};
  testCase.schedule = Schedule{.order = GetParam(), .tokens = 8, .keys = 32};
  if (GetParam() == "key_major")
    testCase.schedule->splits = 3;
  auto imported = importProgram(testCase, context);
  ASSERT_TRUE(bool(imported)) << llvm::toString(imported.takeError());
  module = std::move(*imported);
}

std::unique_ptr<CompiledProgram> DeterminismTest::compile() {
  return llvm::cantFail(differential::compile(testCase, *module));
}

std::vector<Tensor> DeterminismTest::makeInputs(const differential::Run &run) {
  Signature signature = llvm::cantFail(compile()->getSignature(""));
  return llvm::cantFail(differential::makeInputs(testCase, run, signature));
}

std::vector<Tensor> DeterminismTest::run(const CompiledProgram &program,
                                         llvm::ArrayRef<Tensor> inputs,
                                         unsigned threads) {
  RunOptions options;
  options.threads = threads;
  return llvm::cantFail(program.run("", inputs, options));
}

static Run makeDense(int64_t batch) {
  Run run;
  run.sizes = {{"B", batch}, {"T", 70}, {"S", 101}};
  run.seed = 7;
  return run;
}

/// Rows [begin, end) of the first dimension.
static Tensor slice(const Tensor &tensor, int64_t begin, int64_t end) {
  llvm::SmallVector<int64_t> shape(tensor.getShape());
  shape[0] = end - begin;
  int64_t bytes = begin * tensor.getStrides()[0] * getSize(tensor.getDType());
  return Tensor::borrow(static_cast<char *>(tensor.getData()) + bytes,
                        tensor.getDType(), shape, tensor.getStrides(),
                        std::make_shared<Tensor>(tensor));
}

static void expectSameBits(llvm::ArrayRef<Tensor> found,
                           llvm::ArrayRef<Tensor> expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t n = 0; n < found.size(); ++n)
    EXPECT_TRUE(haveSameBits(found[n], expected[n])) << "result " << n;
}

TEST_P(DeterminismTest, RunsRepeat) {
  load(/*ragged=*/false);
  std::vector<Tensor> inputs = makeInputs(makeDense(2));
  auto program = compile();
  std::vector<Tensor> first = run(*program, inputs);
  expectSameBits(run(*program, inputs), first);
  expectSameBits(run(*compile(), inputs), first);
}

TEST_P(DeterminismTest, ThreadsDontMatter) {
  load(/*ragged=*/false);
  std::vector<Tensor> inputs = makeInputs(makeDense(2));
  auto program = compile();
  std::vector<Tensor> alone = run(*program, inputs, 1);
  for (unsigned threads : {2, 3, 7})
    expectSameBits(run(*program, inputs, threads), alone);
}

TEST_P(DeterminismTest, RunsAtTheSameTimeDontMatter) {
  load(/*ragged=*/false);
  std::vector<Tensor> inputs = makeInputs(makeDense(2));
  auto program = compile();
  std::vector<Tensor> alone = run(*program, inputs);
  std::vector<std::vector<Tensor>> found(4);
  std::vector<std::thread> threads;
  for (std::vector<Tensor> &each : found)
    threads.emplace_back([&] { each = run(*program, inputs, 2); });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::vector<Tensor> &each : found)
    expectSameBits(each, alone);
}

TEST_P(DeterminismTest, NeighboursInTheBatchDontMatter) {
  load(/*ragged=*/false);
  std::vector<Tensor> inputs = makeInputs(makeDense(3));
  auto program = compile();
  Tensor together = run(*program, inputs).front();
  for (int64_t b = 0; b < 3; ++b) {
    std::vector<Tensor> own;
    for (const Tensor &input : inputs)
      own.push_back(slice(input, b, b + 1));
    EXPECT_TRUE(
        haveSameBits(run(*program, own).front(), slice(together, b, b + 1)))
        << "row " << b;
  }
}

TEST_P(DeterminismTest, NeighboursInARaggedBatchDontMatter) {
  load(/*ragged=*/true);
  differential::Run batch;
  batch.rows["T"] = {40, 0, 17, 65};
  batch.seed = 7;
  std::vector<Tensor> inputs = makeInputs(batch);
  auto program = compile();
  Tensor together = run(*program, inputs).front();
  int64_t begin = 0;
  for (int64_t length : batch.rows["T"]) {
    std::vector<Tensor> own;
    for (const Tensor &input : llvm::ArrayRef(inputs).drop_back())
      own.push_back(slice(input, begin, begin + length));
    own.push_back(Tensor::zeros(DType::I32, {2}));
    own.back().setIntegers({0, length});
    EXPECT_TRUE(haveSameBits(run(*program, own).front(),
                             slice(together, begin, begin + length)))
        << "row of length " << length;
    begin += length;
  }
}

TEST_P(DeterminismTest, LayoutsDontMatter) {
  load(/*ragged=*/false);
  auto program = compile();
  std::vector<Tensor> plain = run(*program, makeInputs(makeDense(2)));
  for (Layout layout : {Layout::Padded, Layout::Misaligned, Layout::Transposed,
                        Layout::Spread, Layout::Reversed}) {
    differential::Run other = makeDense(2);
    other.layout = layout;
    expectSameBits(run(*program, makeInputs(other)), plain);
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, DeterminismTest,
                         testing::Values("query_major", "union", "key_major"),
                         [](const testing::TestParamInfo<std::string> &info) {
                           return info.param;
                         });
